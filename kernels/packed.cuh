// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// Four integers of one byte, or two of two, in a register.
namespace quarry::kernels {

/// Four bytes that are in one register, if the compiler sees where they are from.
template <class V>
__device__ u32 four_bytes(const V* v) {
  u32 word = 0;
#pragma unroll
  for (int n = 3; n >= 0; --n) word = word << 8 | static_cast<u8>(v[n]);
  return word;
}
/// The bytes that the four digits of Selector name, the lowest first: of 0 to 3 those of `a`, of 4
/// to 7 those of `b`.
template <u32 Selector>
__device__ u32 chosen_bytes(u32 a, u32 b) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, Selector);
#else
  const u64 both = u64{b} << 32 | a;
  u32 word = 0;
  for (u32 n = 0; n < 4; ++n) {
    const u32 digit = Selector >> 4 * n & 7;
    word |= static_cast<u32>(both >> 8 * digit & 0xff) << 8 * n;
  }
  return word;
#endif
}

/// The columns of four rows of bytes.
inline __device__ void transpose_bytes(const u32 (&row)[4], u32 (&column)[4]) {
  const u32 first[] = {chosen_bytes<0x5140>(row[0], row[1]), chosen_bytes<0x5140>(row[2], row[3])};
  const u32 last[] = {chosen_bytes<0x7362>(row[0], row[1]), chosen_bytes<0x7362>(row[2], row[3])};
  column[0] = chosen_bytes<0x5410>(first[0], first[1]);
  column[1] = chosen_bytes<0x7632>(first[0], first[1]);
  column[2] = chosen_bytes<0x5410>(last[0], last[1]);
  column[3] = chosen_bytes<0x7632>(last[0], last[1]);
}

/// The sum of the four products of bytes of `a` and `b`, and `c`.
template <class V>
__device__ i32 dot4(u32 a, u32 b, i32 c) {
#ifdef __CUDA_ARCH__
  if constexpr (is_same<V, i8>)
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
  else
    asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
#else
  for (u32 at = 0; at < 32; at += 8) {
    const u8 x = static_cast<u8>(a >> at), y = static_cast<u8>(b >> at);
    c += is_same<V, i8> ? static_cast<i8>(x) * static_cast<i8>(y) : x * y;
  }
#endif
  return c;
}

/// A bit for each byte of a word that is not 0.
inline __device__ u32 bytes_not_0(u32 word) {
  const u32 high = (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) & 0x80808080u;
  return high * 0x00204081u >> 28;
}

/// A mask of the bits from number `first` on, which may be beyond the last.
inline __device__ u32 bits_from(int first) {
#ifdef __CUDA_ARCH__  // whose shifts, unlike C++'s, are defined then
  u32 mask;
  asm("shl.b32 %0, %1, %2;" : "=r"(mask) : "r"(~u32{0}), "r"(first));
  return mask;
#else
  return first < 32 ? ~u32{0} << first : 0;
#endif
}
/// The bytes of four that are in [first, last), as a mask.
inline __device__ u32 bytes_between(int first, int last) {
  const int begin = 8 * first, end = 8 * last;
  return bits_from(begin > 0 ? begin : 0) & ~bits_from(end > 0 ? end : 0);
}
template <class V>
struct half_of {
  using type = u16;
};
template <>
struct half_of<i8> {
  using type = i16;
};

/// The larger or the smaller of two pairs of integers of 16 bits.
template <bool IsLargest, class Half>
__device__ u32 extreme_pair(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 900
  u32 pair;
  if constexpr (IsLargest && is_signed<Half>)
    asm("max.s16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  else if constexpr (IsLargest)
    asm("max.u16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  else if constexpr (is_signed<Half>)
    asm("min.s16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  else
    asm("min.u16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
#else
  u32 pair = 0;
  for (u32 at = 0; at < 32; at += 16) {
    const Half x = static_cast<Half>(a >> at), y = static_cast<Half>(b >> at);
    pair |= static_cast<u32>(static_cast<u16>((x > y) == IsLargest ? x : y)) << at;
  }
  return pair;
#endif
}

}  // namespace quarry::kernels
