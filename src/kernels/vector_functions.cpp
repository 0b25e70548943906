// SPDX-License-Identifier: BSD-3-Clause
// The functions that quarry/kernels/vector_functions.hpp declares, and what the compiler of a loop
// calls in their stead (that header is not included: GCC would make variants of its own): the names
// are those of the vector ABI of x86-64 (the instruction set, b for SSE to e for AVX-512, the
// number of lanes, the arguments).
#include "kernels/vector_math.hpp"

namespace quarry::kernels::vector_math {
namespace {

template <class F, class T>
T of(T x) {
  return F::is_rare(x) ? F::rare(x) : F::usual(x);
}

template <class F, class T, u64 N>
[[gnu::noinline]] void repair(T* to, const T* x) {
  for (u64 j = 0; j < N; ++j) {
    if (F::is_rare(x[j])) to[j] = F::rare(x[j]);
  }
}
template <class F, class T, class V>
[[gnu::always_inline]] inline void lanes_of(V& to, const V& x) {
  constexpr u64 n = sizeof(V) / sizeof(T);
  T in[n], out[n];
  __builtin_memcpy(in, &x, sizeof(V));
  for (u64 j = 0; j < n; ++j) out[j] = F::usual(in[j]);
  int any = 0;
  for (u64 j = 0; j < n; ++j) any |= F::is_rare(in[j]) ? 1 : 0;
  if (any != 0) [[unlikely]]
    repair<F, T, n>(out, in);
  __builtin_memcpy(&to, out, sizeof(V));
}

template <class T, u64 Width>
struct vector_of {
  using type __attribute__((vector_size(Width))) = T;
};
template <class T, u64 Width>
using vector = typename vector_of<T, Width>::type;

}  // namespace
}  // namespace quarry::kernels::vector_math

using namespace quarry::kernels::vector_math;

#ifdef __clang__
#define QUARRY_512 "avx512f,avx512vl,avx512bw,avx512dq"
#else
#define QUARRY_512 "avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512"
#endif
#ifdef __x86_64__
#define QUARRY_VARIANT(symbol, width, instructions, function, T)                                \
  extern "C" __attribute__((target(instructions))) vector<T, width> symbol(vector<T, width> x); \
  __attribute__((target(instructions))) vector<T, width> symbol(vector<T, width> x) {           \
    vector<T, width> result;                                                                    \
    lanes_of<function##_of<T>, T>(result, x);                                                   \
    return result;                                                                              \
  }
#else
#define QUARRY_VARIANT(symbol, width, instructions, function, T)
#endif

#define QUARRY_DEFINED(function)                                                  \
  extern "C" float quarry_##function##f(float x);                                 \
  extern "C" double quarry_##function(double x);                                  \
  float quarry_##function##f(float x) { return of<function##_of<float>>(x); }     \
  double quarry_##function(double x) { return of<function##_of<double>>(x); }     \
  QUARRY_VARIANT(_ZGVbN4v_quarry_##function##f, 16, "sse2", function, float)      \
  QUARRY_VARIANT(_ZGVcN8v_quarry_##function##f, 32, "avx", function, float)       \
  QUARRY_VARIANT(_ZGVdN8v_quarry_##function##f, 32, "avx2", function, float)      \
  QUARRY_VARIANT(_ZGVeN16v_quarry_##function##f, 64, QUARRY_512, function, float) \
  QUARRY_VARIANT(_ZGVbN2v_quarry_##function, 16, "sse2", function, double)        \
  QUARRY_VARIANT(_ZGVcN4v_quarry_##function, 32, "avx", function, double)         \
  QUARRY_VARIANT(_ZGVdN4v_quarry_##function, 32, "avx2", function, double)        \
  QUARRY_VARIANT(_ZGVeN8v_quarry_##function, 64, QUARRY_512, function, double)
QUARRY_DEFINED(sqrt)
QUARRY_DEFINED(exp)
QUARRY_DEFINED(log)
QUARRY_DEFINED(sin)
QUARRY_DEFINED(cos)
QUARRY_DEFINED(tanh)
