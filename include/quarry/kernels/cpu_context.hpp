// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>

/// What one iteration of a loop of the CPU device reads.
#ifdef __clang__
#define QUARRY_IVDEP _Pragma("clang loop vectorize(assume_safety)")
// Some loops no compiler turns into vector instructions; clang would say so in the user's build.
#define QUARRY_LOOPS_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define QUARRY_LOOPS_END _Pragma("clang diagnostic pop")
#else
#define QUARRY_IVDEP _Pragma("GCC ivdep")
#define QUARRY_LOOPS_BEGIN
#define QUARRY_LOOPS_END
#endif
namespace quarry::kernels {

struct dense_context {
  char* const* pointer;
  const u64* scalars;
  i64 i, first;
  template <class T, int K>
  T input() const {
    return load<T>(reinterpret_cast<const T*>(pointer[K + 1]) + i);
  }
  template <class T, int S>
  T scalar() const {
    return *reinterpret_cast<const T*>(scalars + 2 * S);
  }
  i64 index() const { return first + i; }
};

struct run_context {
  char* const* pointer;
  const i64* stride;
  const u64* scalars;
  i64 i, first;
  template <class T, int K>
  T input() const {
    return load<T>(pointer[K + 1] + i * stride[K + 1]);
  }
  template <class T, int S>
  T scalar() const {
    return *reinterpret_cast<const T*>(scalars + 2 * S);
  }
  i64 index() const { return first + i; }
};

/// Whether operand after operand of these types is dense: their strides are their sizes.
template <class... T>
bool is_dense(const i64* stride) {
  bool all = true;
  ((all &= *stride++ == static_cast<i64>(sizeof(T))), ...);
  return all;
}

}  // namespace quarry::kernels
