// SPDX-License-Identifier: BSD-3-Clause
// The functions that quarry/kernels/vector_functions.hpp declares, and what the compiler of a loop
// calls in their stead (that header is not included: GCC would make variants of its own): the names
// are those of the vector ABI of x86-64 (the instruction set, b for SSE to e for AVX-512, the
// number of lanes, the arguments).
#include "kernels/vector_math.hpp"

#ifdef __x86_64__
#include <immintrin.h>  // declares the builtin functions
#endif

namespace quarry::kernels::vector_math {
namespace {

#ifdef __clang__
#define QUARRY_512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma"
#else
#define QUARRY_512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,prefer-vector-width=512"
#endif
#define QUARRY_INLINED_512 __attribute__((always_inline, target(QUARRY_512))) inline

/// A vector and its lanes. Copies of 32 bytes from one to the other would be made in pieces.
template <class T, class V>
union lanes_of {
  static constexpr u64 count = sizeof(V) / sizeof(T);
  V all;
  T lane[count];
};

template <class F, class T>
QUARRY_INLINED T of(T x) {
  if constexpr (F::has_rare) {
    if (!(x >= F::lowest && x <= F::highest)) return F::rare(x);
  }
  return F::usual(x);
}

#if defined(__x86_64__) && !defined(__clang__)
QUARRY_INLINED bool are_within(const vector<float, 64>& x, float low, float high) {
  const auto m = __builtin_ia32_cmpps512_mask(x, __v16sf{} + low, _CMP_GE_OQ, 0xffff, 4);
  return __builtin_ia32_cmpps512_mask(x, __v16sf{} + high, _CMP_LE_OQ, m, 4) == 0xffff;
}
QUARRY_INLINED bool are_within(const vector<double, 64>& x, double low, double high) {
  const auto m = __builtin_ia32_cmppd512_mask(x, __v8df{} + low, _CMP_GE_OQ, 0xff, 4);
  return __builtin_ia32_cmppd512_mask(x, __v8df{} + high, _CMP_LE_OQ, m, 4) == 0xff;
}
QUARRY_INLINED bool are_within(const vector<float, 32>& x, float low, float high) {
  return __builtin_ia32_movmskps256(reinterpret_cast<__v8sf>((x >= low) & (x <= high))) == 0xff;
}
QUARRY_INLINED bool are_within(const vector<double, 32>& x, double low, double high) {
  return __builtin_ia32_movmskpd256(reinterpret_cast<__v4df>((x >= low) & (x <= high))) == 0xf;
}
#else
template <class V, class T>
QUARRY_INLINED bool are_within(const V& x, T low, T high) {
  bool all = true;
  for (u64 j = 0; j < sizeof(V) / sizeof(T); ++j) all &= x[j] >= low && x[j] <= high;
  return all;
}
#endif

/// Whether all arguments are usual ones: only then are these the results.
template <class F, class T, class V>
QUARRY_INLINED bool usual_lanes(V& to, const V& x) {
  lanes_of<T, V> in{x}, out;
  for (u64 j = 0; j < in.count; ++j) out.lane[j] = F::usual(in.lane[j]);
  to = out.all;
  if constexpr (F::has_rare)
    return are_within(x, F::lowest, F::highest);
  else
    return true;
}
#if defined(__x86_64__) && !defined(__clang__)
/// Sets `y` to 1 / sqrt(x) with 14 bits, for 0 to 0; false if another number has no root x * y from
/// `least` on: negative ones, NaNs, infinity and the smallest ones.
QUARRY_INLINED_512 bool reciprocal_roots(vector<float, 64>& y, const vector<float, 64>& x,
                                         float least) {
  const auto is_not_0 = __builtin_ia32_cmpps512_mask(x, __v16sf{}, _CMP_NEQ_UQ, 0xffff, 4);
  y = __builtin_ia32_rsqrt14ps512_mask(x, __v16sf{}, is_not_0);
  return __builtin_ia32_cmpps512_mask(x * y, __v16sf{} + least, _CMP_NGE_UQ, is_not_0, 4) == 0;
}
QUARRY_INLINED_512 bool reciprocal_roots(vector<double, 64>& y, const vector<double, 64>& x,
                                         double least) {
  const auto is_not_0 = __builtin_ia32_cmppd512_mask(x, __v8df{}, _CMP_NEQ_UQ, 0xff, 4);
  y = __builtin_ia32_rsqrt14pd512_mask(x, __v8df{}, is_not_0);
  return __builtin_ia32_cmppd512_mask(x * y, __v8df{} + least, _CMP_NGE_UQ, is_not_0, 4) == 0;
}
/// The processor's instruction for roots takes two to four times as long.
template <class F, class T, class V>
requires(is_same<F, sqrt_of<T>> && sizeof(V) == 64) QUARRY_INLINED_512
    bool usual_lanes(V& to, const V& x) {
  lanes_of<T, V> in{x}, reciprocal, root;
  const bool are_usual = reciprocal_roots(reciprocal.all, x, F::least_root);
  for (u64 j = 0; j < in.count; ++j) {
    root.lane[j] = F::from_reciprocal(in.lane[j], reciprocal.lane[j]);
  }
  to = root.all;
  return are_usual;
}
#endif
template <class F, class T, class V>
QUARRY_INLINED void all_lanes(V& to, const V& x) {
  lanes_of<T, V> in{x}, out;
  for (u64 j = 0; j < in.count; ++j) out.lane[j] = of<F>(in.lane[j]);
  to = out.all;
}

}  // namespace
}  // namespace quarry::kernels::vector_math

using namespace quarry::kernels::vector_math;
using quarry::kernels::vector;

#ifdef __x86_64__
#define QUARRY_FUSED "avx2,fma"
#define QUARRY_HAS_FUSED (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define QUARRY_VARIANT(symbol, width, instructions, function, T)                                \
  __attribute__((target(instructions), noinline, cold)) static vector<T, width> symbol##_all(   \
      vector<T, width> x) {                                                                     \
    vector<T, width> result;                                                                    \
    all_lanes<function##_of<T>, T>(result, x);                                                  \
    return result;                                                                              \
  }                                                                                             \
  extern "C" __attribute__((target(instructions))) vector<T, width> symbol(vector<T, width> x); \
  __attribute__((target(instructions))) vector<T, width> symbol(vector<T, width> x) {           \
    vector<T, width> result;                                                                    \
    return usual_lanes<function##_of<T>, T>(result, x) ? result : symbol##_all(x);              \
  }
// Callers that know of no fused multiply-add: its instruction is used where there is one.
#define QUARRY_SHORT_VARIANT(symbol, width, instructions, function, T)                          \
  __attribute__((target(QUARRY_FUSED))) static void symbol##_fused(vector<T, width>& to,        \
                                                                   const vector<T, width>& x) { \
    all_lanes<function##_of<T>, T>(to, x);                                                      \
  }                                                                                             \
  extern "C" __attribute__((target(instructions))) vector<T, width> symbol(vector<T, width> x); \
  __attribute__((target(instructions))) vector<T, width> symbol(vector<T, width> x) {           \
    vector<T, width> result;                                                                    \
    if (QUARRY_HAS_FUSED)                                                                       \
      symbol##_fused(result, x);                                                                \
    else                                                                                        \
      all_lanes<function##_of<T>, T>(result, x);                                                \
    return result;                                                                              \
  }
#define QUARRY_SCALAR(symbol, function, T)                             \
  __attribute__((target(QUARRY_FUSED))) static T symbol##_fused(T x) { \
    return of<function##_of<T>>(x);                                    \
  }                                                                    \
  extern "C" T symbol(T x);                                            \
  T symbol(T x) { return QUARRY_HAS_FUSED ? symbol##_fused(x) : of<function##_of<T>>(x); }
#else
#define QUARRY_SHORT_VARIANT(symbol, width, instructions, function, T)
#define QUARRY_VARIANT(symbol, width, instructions, function, T)
#define QUARRY_SCALAR(symbol, function, T) \
  extern "C" T symbol(T x);                \
  T symbol(T x) { return of<function##_of<T>>(x); }
#endif

#define QUARRY_DEFINED(function)                                                   \
  QUARRY_SCALAR(quarry_##function##f, function, float)                             \
  QUARRY_SCALAR(quarry_##function, function, double)                               \
  QUARRY_SHORT_VARIANT(_ZGVbN4v_quarry_##function##f, 16, "sse2", function, float) \
  QUARRY_SHORT_VARIANT(_ZGVcN8v_quarry_##function##f, 32, "avx", function, float)  \
  QUARRY_VARIANT(_ZGVdN8v_quarry_##function##f, 32, "avx2,fma", function, float)   \
  QUARRY_VARIANT(_ZGVeN16v_quarry_##function##f, 64, QUARRY_512, function, float)  \
  QUARRY_SHORT_VARIANT(_ZGVbN2v_quarry_##function, 16, "sse2", function, double)   \
  QUARRY_SHORT_VARIANT(_ZGVcN4v_quarry_##function, 32, "avx", function, double)    \
  QUARRY_VARIANT(_ZGVdN4v_quarry_##function, 32, "avx2,fma", function, double)     \
  QUARRY_VARIANT(_ZGVeN8v_quarry_##function, 64, QUARRY_512, function, double)
QUARRY_DEFINED(sqrt)
QUARRY_DEFINED(exp)
QUARRY_DEFINED(log)
QUARRY_DEFINED(sin)
QUARRY_DEFINED(cos)
QUARRY_DEFINED(tanh)
