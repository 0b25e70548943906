// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/function_loops.hpp>
#include <quarry/kernels/map.hpp>

#ifdef __x86_64__
#include <immintrin.h>

namespace quarry::kernels {
namespace {

#define QUARRY_INLINED_256 __attribute__((always_inline, target("avx2"))) inline

constexpr i64 block = map_loops::block, lanes = 8, vectors = block / lanes;
static_assert(vectors == 8);

/// Whether one of the integers is the lowest one, which the processor's conversion gives for NaN
/// and for what is out of the range of an i32.
QUARRY_INLINED_256 bool has_lowest(const __m256i (&v)[vectors]) {
  __m256i least = v[0];
  for (i64 k = 1; k < vectors; ++k) least = _mm256_min_epi32(least, v[k]);
  const __m256i is_lowest = _mm256_cmpeq_epi32(least, _mm256_set1_epi32(limits<i32>::lowest()));
  return _mm256_testz_si256(is_lowest, is_lowest) == 0;
}

/// The nearest i32, 0 for NaN.
QUARRY_INLINED_256 __m256i saturated(__m256 x) {
  const __m256 number = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
  const __m256 is_beyond = _mm256_cmp_ps(x, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ);
  return _mm256_xor_si256(_mm256_cvttps_epi32(number), _mm256_castps_si256(is_beyond));
}

QUARRY_INLINED_256 void store(void* to, i64 k, __m256i x) {
  _mm256_storeu_si256(static_cast<__m256i*>(to) + k, x);
}
/// As the nearest numbers of the type. The instructions pack the halves of vectors by themselves.
QUARRY_INLINED_256 void store_block(i32* to, const __m256i (&v)[vectors]) {
  for (i64 k = 0; k < vectors; ++k) store(to, k, v[k]);
}
template <class To>
requires(sizeof(To) == 2) QUARRY_INLINED_256 void store_block(To* to, const __m256i (&v)[vectors]) {
  for (i64 k = 0; k < vectors / 2; ++k) {
    const __m256i a = v[2 * k], b = v[2 * k + 1];
    const __m256i packed = is_signed<To> ? _mm256_packs_epi32(a, b) : _mm256_packus_epi32(a, b);
    store(to, k, _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)));
  }
}
template <class To>
requires(sizeof(To) == 1) QUARRY_INLINED_256 void store_block(To* to, const __m256i (&v)[vectors]) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (i64 k = 0; k < vectors / 4; ++k) {
    const __m256i a = _mm256_packs_epi32(v[4 * k], v[4 * k + 1]),
                  b = _mm256_packs_epi32(v[4 * k + 2], v[4 * k + 3]);
    const __m256i packed = is_signed<To> ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
    store(to, k, _mm256_permutevar8x32_epi32(packed, order));
  }
}

}  // namespace

template <class To>
requires(is_in_i32<To>)
    __attribute__((target("avx2"))) void function_loop<cast<To, in<float, 0>>, To>::run(
        i64 n, char* const* pointer, const i64* stride, const u64* /*scalars*/, i64 /*first*/) {
  char* to = pointer[0];
  const char* from = pointer[1];
  for (i64 i = 0; i < n; i += block, to += block * stride[0], from += block * stride[1]) {
    const auto* const x = reinterpret_cast<const float*>(from);
    __m256i v[vectors];
    for (i64 k = 0; k < vectors; ++k) v[k] = _mm256_cvttps_epi32(_mm256_loadu_ps(x + k * lanes));
    if (has_lowest(v)) [[unlikely]] {
      for (i64 k = 0; k < vectors; ++k) v[k] = saturated(_mm256_loadu_ps(x + k * lanes));
    }
    store_block(reinterpret_cast<To*>(to), v);
  }
}

template struct function_loop<cast<i8, in<float, 0>>, i8>;
template struct function_loop<cast<u8, in<float, 0>>, u8>;
template struct function_loop<cast<i16, in<float, 0>>, i16>;
template struct function_loop<cast<u16, in<float, 0>>, u16>;
template struct function_loop<cast<i32, in<float, 0>>, i32>;

}  // namespace quarry::kernels
#endif
