// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/function_loops.hpp>
#include <quarry/kernels/map.hpp>

#include "kernels/avx2.hpp"

#ifdef __x86_64__

namespace quarry::kernels {
namespace {

constexpr i64 block = map_loops::block;

/// x / y rounded downwards, where y is not 1: (x + 1 / 2) / y, or (x - 1 / 2) / y where y is
/// negative, is no whole number and at least 1 / 256 from one; a product of 2 x + 1 with 2^15 / y
/// has an error below 1 / 500. The inverse of 0 is 0.
struct quotient_of_bytes {
  __m256i inverse, one;

  QUARRY_INLINED_256 explicit quotient_of_bytes(i8 y)
      : inverse(_mm256_set1_epi16(inverse_of_number(y))),
        one(_mm256_set1_epi16(y < 0 ? i16{-1} : i16{1})) {}
  static i16 inverse_of_number(i8 y) {
    if (y == 0) return 0;
    const float inverse = 0x1p15f / static_cast<float>(y);
    return static_cast<i16>(inverse + (y < 0 ? -0.5f : 0.5f));
  }
  /// Of 16 numbers, of which each is in the upper half of a word.
  QUARRY_INLINED_256 __m256i of_upper(__m256i x) const {
    return _mm256_mulhi_epi16(_mm256_add_epi16(_mm256_srai_epi16(x, 7), one), inverse);
  }
  QUARRY_INLINED_256 __m256i operator()(__m256i x) const {
    const __m256i lower = _mm256_set1_epi16(0xff);
    const __m256i even = of_upper(_mm256_slli_epi16(x, 8)),
                  odd = of_upper(_mm256_andnot_si256(lower, x));
    return _mm256_or_si256(_mm256_and_si256(even, lower), _mm256_slli_epi16(odd, 8));
  }
};

/// The magnitude of a y that is not -1, 0 or 1, and `bits` with 2^bits < size <= 2^(bits + 1).
struct divisor {
  u64 size;
  int bits;
  explicit divisor(i64 y)
      : size(y < 0 ? 0 - static_cast<u64>(y) : static_cast<u64>(y)),
        bits(63 - __builtin_clzl(size - 1)) {}
};

/// Quotients of numbers from 0 on, as floor_quotient_by_number has them: of i32 by the upper half
/// of a product with 2^(32 + bits) / size.
template <class T>
struct quotient_of_sizes {
  __m256i inverse;
  __m128i bits, bits_of_even;

  QUARRY_INLINED_256 explicit quotient_of_sizes(const divisor& d)
      : inverse(_mm256_set1_epi64x(static_cast<i64>((u64{1} << (32 + d.bits)) / d.size + 1))),
        bits(_mm_cvtsi32_si128(d.bits)),
        bits_of_even(_mm_cvtsi32_si128(32 + d.bits)) {}
  QUARRY_INLINED_256 __m256i above(__m256i x) const {
    const __m256i even = _mm256_mul_epu32(x, inverse),
                  odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), inverse);
    return _mm256_blend_epi32(_mm256_srl_epi64(even, bits_of_even), _mm256_srl_epi64(odd, bits),
                              0xaa);
  }
};
/// By one with 2^(64 + bits) / size, which is put together of products of halves.
template <>
struct quotient_of_sizes<i64> {
  __m256i low, high;
  __m128i bits;

  QUARRY_INLINED_256 explicit quotient_of_sizes(const divisor& d) {
    const u64 inverse = inverse_of(d.size, d.bits);
    low = _mm256_set1_epi64x(static_cast<i64>(inverse & 0xffffffff));
    high = _mm256_set1_epi64x(static_cast<i64>(inverse >> 32));
    bits = _mm_cvtsi32_si128(d.bits);
  }
  QUARRY_INLINED_256 __m256i above(__m256i x) const {
    const __m256i lower = _mm256_set1_epi64x(0xffffffff), upper_x = _mm256_srli_epi64(x, 32);
    const __m256i first = _mm256_srli_epi64(_mm256_mul_epu32(x, low), 32);
    const __m256i second = _mm256_add_epi64(_mm256_mul_epu32(upper_x, low), first);
    const __m256i third =
        _mm256_add_epi64(_mm256_mul_epu32(x, high), _mm256_and_si256(second, lower));
    const __m256i carried =
        _mm256_add_epi64(_mm256_srli_epi64(second, 32), _mm256_srli_epi64(third, 32));
    return _mm256_srl_epi64(_mm256_add_epi64(_mm256_mul_epu32(upper_x, high), carried), bits);
  }
};

template <class T>
QUARRY_INLINED_256 __m256i are_greater(__m256i a, __m256i b) {
  return sizeof(T) == 4 ? _mm256_cmpgt_epi32(a, b) : _mm256_cmpgt_epi64(a, b);
}
template <class T>
QUARRY_INLINED_256 __m256i negated(__m256i x) {
  const __m256i zero = _mm256_setzero_si256();
  if constexpr (sizeof(T) == 1) return _mm256_sub_epi8(zero, x);
  return sizeof(T) == 4 ? _mm256_sub_epi32(zero, x) : _mm256_sub_epi64(zero, x);
}

/// A y below 0 divides -x by -y: x says which of them are negative, since -x may overflow.
template <class T, bool IsBelowZero>
struct quotient_of_words {
  quotient_of_sizes<T> sizes;

  QUARRY_INLINED_256 explicit quotient_of_words(T y) : sizes(divisor(y)) {}
  QUARRY_INLINED_256 __m256i operator()(__m256i x) const {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i are_negative = IsBelowZero ? are_greater<T>(x, zero) : are_greater<T>(zero, x);
    const __m256i dividend = IsBelowZero ? negated<T>(x) : x;
    return _mm256_xor_si256(sizes.above(_mm256_xor_si256(dividend, are_negative)), are_negative);
  }
};

template <class T, class Quotient>
QUARRY_INLINED_256 void run_blocks(i64 n, char* const* pointer, const i64* stride, T y) {
  constexpr i64 bytes = 32, block_bytes = block * static_cast<i64>(sizeof(T));
  const Quotient quotient{y};
  char* to = pointer[0];
  const char* from = pointer[1];
  for (i64 i = 0; i < n; i += block, to += block * stride[0], from += block * stride[1]) {
    for (i64 k = 0; k < block_bytes; k += bytes)
      store_vector(to + k, quotient(load_vector(from + k)));
  }
}
/// By -1, 0 and 1.
template <class T>
struct product_with {
  T y;
  QUARRY_INLINED_256 __m256i operator()(__m256i x) const {
    const __m256i signed_x = y < 0 ? negated<T>(x) : x;
    return y == 0 ? _mm256_setzero_si256() : signed_x;
  }
};

template <class T>
QUARRY_INLINED_256 void divide(i64 n, char* const* pointer, const i64* stride, T y) {
  if constexpr (sizeof(T) == 1) {
    if (y == 1)
      run_blocks<T, product_with<T>>(n, pointer, stride, y);
    else
      run_blocks<T, quotient_of_bytes>(n, pointer, stride, y);
  } else {
    if (y >= -1 && y <= 1)
      run_blocks<T, product_with<T>>(n, pointer, stride, y);
    else if (y < 0)
      run_blocks<T, quotient_of_words<T, true>>(n, pointer, stride, y);
    else
      run_blocks<T, quotient_of_words<T, false>>(n, pointer, stride, y);
  }
}

}  // namespace

template <class T>
requires(has_quotient_loop<T>)
    __attribute__((target("avx2"))) void function_loop<op<floor_divide_op, T, in<T, 0>, val<T, 0>>,
                                                       T>::run(i64 n, char* const* pointer,
                                                               const i64* stride,
                                                               const u64* scalars, i64 /*first*/) {
  divide(n, pointer, stride, *reinterpret_cast<const T*>(scalars));
}

template struct function_loop<op<floor_divide_op, i8, in<i8, 0>, val<i8, 0>>, i8>;
template struct function_loop<op<floor_divide_op, i32, in<i32, 0>, val<i32, 0>>, i32>;
template struct function_loop<op<floor_divide_op, i64, in<i64, 0>, val<i64, 0>>, i64>;

}  // namespace quarry::kernels
#endif
