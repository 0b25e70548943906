// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/function_loops.hpp>
#include <quarry/kernels/map.hpp>

#include "kernels/avx2.hpp"
#include "kernels/vector_math.hpp"

#ifdef __x86_64__
#define QUARRY_FUSED __attribute__((target("avx2,fma")))
#define QUARRY_INLINED_FUSED __attribute__((always_inline, target("avx2,fma"))) inline
#else
#define QUARRY_FUSED
#define QUARRY_INLINED_FUSED QUARRY_INLINED
#endif

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

template <class Range, class T>
QUARRY_INLINED bool is_within(T x) {
  if constexpr (Range::lowest == -Range::highest)
    return vector_math::magnitude(x) <= Range::highest;
  else
    return (x >= Range::lowest) & (x <= Range::highest);
}
/// Whether `count` arguments are all within a range.
template <class Range, i64 count, class T>
QUARRY_INLINED bool are_within(const T* x) {
  vector_math::word<T> others = 0;
  for (i64 j = 0; j < count; ++j) others |= is_within<Range>(x[j]) ? 0 : 1;
  return others == 0;
}
template <class F, class T>
QUARRY_INLINED bool are_usual(const T* x) {
  using Usual = usual_of<F, T>;
  if constexpr (Usual::has_rare)
    return are_within<Usual, block>(x);
  else
    return true;
}

QUARRY_LOOPS_BEGIN
template <class F, class T>
struct usual_block {
  QUARRY_INLINED static void run(T* y, const T* x) {
    QUARRY_IVDEP
    for (i64 j = 0; j < block; ++j) y[j] = usual_of<F, T>::usual(x[j]);
  }
};
/// Divisions in a loop by themselves: of shorter chains of instructions the processor has more at
/// once.
template <class T>
struct usual_block<tanh_op, T> {
  QUARRY_INLINED static void run(T* y, const T* x) {
    using Tanh = vector_math::tanh_of<T>;
    T less_one[block];
    for (i64 j = 0; j < block; ++j) less_one[j] = Tanh::half_less_one(x[j]);
    QUARRY_IVDEP
    for (i64 j = 0; j < block; ++j) y[j] = Tanh::from_less_one(less_one[j], x[j]);
  }
};
#ifdef __x86_64__
/// The processor's instruction is slow, and leaves room for others: meanwhile half of the roots are
/// refined from approximations of their reciprocals, whose errors are at most 1.5 * 2^-12.
template <>
struct usual_block<sqrt_op, float> {
  using Roots = vector_math::sqrt_of<float>;
  static constexpr i64 lanes = 8;

  QUARRY_INLINED_FUSED static void run(float* y, const float* x) {
    const bool all = can_refine(x);
    for (i64 i = 0; i < block; i += 2 * lanes) {
      if (all)
        refine(y + i, x + i);
      else
        by_instruction(y + i, x + i);
      by_instruction(y + i + lanes, x + i + lanes);
    }
  }
  /// Positive numbers are ordered as their bits are.
  QUARRY_INLINED_FUSED static bool can_refine(const float* x) {
    constexpr float lowest = Roots::least_root * Roots::least_root, highest = 0x1.fffffep127f;
    __m256i least = load_vector(x), most = least;
    for (i64 i = 2 * lanes; i < block; i += 2 * lanes) {
      least = _mm256_min_epi32(least, load_vector(x + i));
      most = _mm256_max_epi32(most, load_vector(x + i));
    }
    const __m256i are_less = _mm256_cmpgt_epi32(_mm256_set1_epi32(bits_as<i32>(lowest)), least),
                  are_more = _mm256_cmpgt_epi32(most, _mm256_set1_epi32(bits_as<i32>(highest)));
    const __m256i others = _mm256_or_si256(are_less, are_more);
    return _mm256_testz_si256(others, others) != 0;
  }
  QUARRY_INLINED_FUSED static void refine(float* y, const float* x) {
    float reciprocal[lanes];
    _mm256_storeu_ps(reciprocal, _mm256_rsqrt_ps(_mm256_loadu_ps(x)));
    QUARRY_IVDEP
    for (i64 j = 0; j < lanes; ++j) y[j] = Roots::from_short_reciprocal(x[j], reciprocal[j]);
  }
  QUARRY_INLINED_FUSED static void by_instruction(float* y, const float* x) {
    _mm256_storeu_ps(y, _mm256_sqrt_ps(_mm256_loadu_ps(x)));
  }
};
#endif

/// Blocks with other arguments go vector by vector.
template <class F, class T>
QUARRY_INLINED_FUSED void run_blocks(i64 n, char* const* pointer, const i64* stride) {
  const i64 to_step = block * stride[0], from_step = block * stride[1];
  char* to = pointer[0];
  const char* from = pointer[1];
  for (i64 i = 0; i < n; i += block, to += to_step, from += from_step) {
    auto* const y = reinterpret_cast<T*>(to);
    const auto* const x = reinterpret_cast<const T*>(from);
    if (are_usual<F>(x)) {
      usual_block<F, T>::run(y, x);
    } else {
      QUARRY_IVDEP
      for (i64 j = 0; j < block; ++j) y[j] = F::compute(x[j]);
    }
  }
}

}  // namespace

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
