// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/function_loops.hpp>
#include <quarry/kernels/map.hpp>

#include "kernels/avx2.hpp"

#ifdef __x86_64__

namespace quarry::kernels {
namespace {

constexpr i64 block = map_loops::block, lanes = 8;

/// Truncated: the lowest i32 for NaN and for what is out of the range of an i32.
QUARRY_INLINED_256 __m256i truncated(const float* x) {
  return _mm256_cvttps_epi32(_mm256_loadu_ps(x));
}
/// The nearest i32, 0 for NaN.
QUARRY_INLINED_256 __m256i saturated(const float* from) {
  const __m256 x = _mm256_loadu_ps(from),
               number = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
  const __m256 is_beyond = _mm256_cmp_ps(x, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ);
  return _mm256_xor_si256(_mm256_cvttps_epi32(number), _mm256_castps_si256(is_beyond));
}

// Instructions pack the nearest shorter integers, halves of vectors by themselves.

QUARRY_INLINED_256 void convert_block(i32* to, const float* x) {
  for (i64 i = 0; i < block; i += lanes) store_vector(to + i, saturated(x + i));
}
template <class To>
requires(sizeof(To) == 2) QUARRY_INLINED_256 void convert_block(To* to, const float* x) {
  for (i64 i = 0; i < block; i += 2 * lanes) {
    const __m256i a = saturated(x + i), b = saturated(x + i + lanes);
    const __m256i packed = is_signed<To> ? _mm256_packs_epi32(a, b) : _mm256_packus_epi32(a, b);
    store_vector(to + i, _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)));
  }
}

/// A block as words. Of bytes more is computed than is loaded and stored, so that one check for all
/// is worth it: whether one of them is the lowest word.
struct words {
  static constexpr i64 vectors = block / (2 * lanes);
  __m256i v[vectors];

  QUARRY_INLINED_256 void truncate(const float* x) {
    for (i64 k = 0; k < vectors; ++k, x += 2 * lanes)
      v[k] = _mm256_packs_epi32(truncated(x), truncated(x + lanes));
  }
  QUARRY_INLINED_256 void saturate(const float* x) {
    for (i64 k = 0; k < vectors; ++k, x += 2 * lanes)
      v[k] = _mm256_packs_epi32(saturated(x), saturated(x + lanes));
  }
  QUARRY_INLINED_256 bool have_lowest() const {
    __m256i least = v[0];
    for (i64 k = 1; k < vectors; ++k) least = _mm256_min_epi16(least, v[k]);
    const __m256i are_lowest = _mm256_cmpeq_epi16(least, _mm256_set1_epi16(limits<i16>::lowest()));
    return _mm256_testz_si256(are_lowest, are_lowest) == 0;
  }
};
template <class To>
requires(sizeof(To) == 1) QUARRY_INLINED_256 void convert_block(To* to, const float* x) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  words w;
  w.truncate(x);
  if (w.have_lowest()) [[unlikely]]
    w.saturate(x);
  for (i64 k = 0; k < words::vectors; k += 2) {
    const __m256i a = w.v[k], b = w.v[k + 1];
    const __m256i packed = is_signed<To> ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
    store_vector(to + k * 2 * lanes, _mm256_permutevar8x32_epi32(packed, order));
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
    convert_block(reinterpret_cast<To*>(to), reinterpret_cast<const float*>(from));
  }
}

template struct function_loop<cast<i8, in<float, 0>>, i8>;
template struct function_loop<cast<u8, in<float, 0>>, u8>;
template struct function_loop<cast<i16, in<float, 0>>, i16>;
template struct function_loop<cast<u16, in<float, 0>>, u16>;
template struct function_loop<cast<i32, in<float, 0>>, i32>;

}  // namespace quarry::kernels
#endif
