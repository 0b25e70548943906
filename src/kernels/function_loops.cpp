// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/function_loops.hpp>
#include <quarry/kernels/map.hpp>

#include "kernels/vector_math.hpp"

namespace quarry::kernels {
namespace {

constexpr i64 block = map_loops::block;

/// The usual arguments of a function F, and the function itself.
template <class F, class T>
struct usual_of;
#define QUARRY_USUAL(function) \
  template <class T>           \
  struct usual_of<function##_op, T> : vector_math::function##_of<T> {};
QUARRY_VECTOR_FUNCTIONS(QUARRY_USUAL)
#undef QUARRY_USUAL

template <class Usual, class T>
QUARRY_INLINED bool is_usual(T x) {
  if constexpr (Usual::lowest == -Usual::highest)
    return vector_math::magnitude(x) <= Usual::highest;
  else
    return (x >= Usual::lowest) & (x <= Usual::highest);
}
template <class F, class T>
QUARRY_INLINED bool are_usual(const T* x) {
  using Usual = usual_of<F, T>;
  vector_math::word<T> others = 0;
  if constexpr (Usual::has_rare) {
    for (i64 j = 0; j < block; ++j) others |= is_usual<Usual>(x[j]) ? 0 : 1;
  }
  return others == 0;
}

QUARRY_LOOPS_BEGIN
/// Blocks with other arguments go vector by vector.
template <class F, class T>
QUARRY_INLINED void run_blocks(i64 n, char* const* pointer, const i64* stride) {
  const i64 to_step = block * stride[0], from_step = block * stride[1];
  char* to = pointer[0];
  const char* from = pointer[1];
  for (i64 i = 0; i < n; i += block, to += to_step, from += from_step) {
    auto* const y = reinterpret_cast<T*>(to);
    const auto* const x = reinterpret_cast<const T*>(from);
    if (are_usual<F>(x)) {
      QUARRY_IVDEP
      for (i64 j = 0; j < block; ++j) y[j] = usual_of<F, T>::usual(x[j]);
    } else {
      QUARRY_IVDEP
      for (i64 j = 0; j < block; ++j) y[j] = F::compute(x[j]);
    }
  }
}

}  // namespace

#ifdef __x86_64__
#define QUARRY_FUSED __attribute__((target("avx2,fma")))
#else
#define QUARRY_FUSED
#endif
template <class F, class T>
requires(is_own_function<F> && (is_same<T, float> || is_same<T, double>)) QUARRY_FUSED
    void function_loop<op<F, T, in<T, 0>>, T>::run(i64 n, char* const* pointer, const i64* stride,
                                                   const u64* /*scalars*/, i64 /*first*/) {
  run_blocks<F, T>(n, pointer, stride);
}

#define QUARRY_LOOPS(function)                                                  \
  template struct function_loop<op<function##_op, float, in<float, 0>>, float>; \
  template struct function_loop<op<function##_op, double, in<double, 0>>, double>;
QUARRY_VECTOR_FUNCTIONS(QUARRY_LOOPS)
#undef QUARRY_LOOPS
QUARRY_LOOPS_END

}  // namespace quarry::kernels
