// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// The contexts (node.hpp) of the CPU's loops: element i of a run, dense or strided.
#ifdef __clang__
#define QUARRY_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define QUARRY_UNROLLED
// Not every loop can be vectorized, and some are in the library; clang would warn of that in the
// user's build.
#define QUARRY_LOOPS_BEGIN                                                               \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"") \
      _Pragma("clang diagnostic ignored \"-Wundefined-var-template\"")
#define QUARRY_LOOPS_END _Pragma("clang diagnostic pop")
#else
#define QUARRY_IVDEP _Pragma("GCC ivdep")
#define QUARRY_UNROLLED _Pragma("GCC unroll 16")
#define QUARRY_LOOPS_BEGIN
#define QUARRY_LOOPS_END
#endif
// Copies of a loop for processors with longer vectors; the library chooses one when it runs. All
// give the same bits: AVX2 without FMA has no fused multiply-add, and GCC is told not to use those
// of AVX-512. (clang does not know that attribute.) A file that is compiled for AVX2 anyway has one
// copy only.
#if defined(__x86_64__) && !defined(__AVX2__)
#define QUARRY_AVX2 __attribute__((target("avx2")))
#ifndef __clang__
#define QUARRY_AVX512                                                                  \
  __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512"), \
                 optimize("fp-contract=off")))
#endif
#endif
#ifndef QUARRY_AVX2
#define QUARRY_AVX2
#endif
namespace quarry::kernels {

/// `pointer` and `stride` are those of the inputs.
struct dense_context {
  char* const* pointer;
  const u64* scalars;
  i64 i, first;
  template <class T, int K>
  T input() const {
    return load<T>(reinterpret_cast<const T*>(pointer[K]) + i);
  }
  template <class T, int K>
  T input_at(i64 offset) const {
    return load<T>(pointer[K] + i * static_cast<i64>(sizeof(T)) + offset);
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
    return load<T>(pointer[K] + i * stride[K]);
  }
  template <class T, int K>
  T input_at(i64 offset) const {
    return load<T>(pointer[K] + i * stride[K] + offset);
  }
  template <class T, int S>
  T scalar() const {
    return *reinterpret_cast<const T*>(scalars + 2 * S);
  }
  i64 index() const { return first + i; }
};

/// Whether `count` operands are dense: their strides are the sizes of their elements.
inline bool is_dense(const i64* stride, const u32* size, int count) {
  bool all = true;
  for (int k = 0; k < count; ++k) all &= stride[k] == static_cast<i64>(size[k]);
  return all;
}

}  // namespace quarry::kernels
