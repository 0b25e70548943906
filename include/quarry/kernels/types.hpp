// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

// The element types as a kernel sees them, and the conversions between them. One source for g++,
// clang++, nvcc and NVRTC, which has no standard header; so none is included here.

// These options ignore NaN, infinities, signs of zero or the order of operations, which the CPU's
// loops, compiled here, have to respect.
#if !defined(__CUDACC__) && !defined(QUARRY_ALLOW_FAST_MATH)
#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ || defined(__ASSOCIATIVE_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || defined(__RECIPROCAL_MATH__)
#error \
    "Quarry's results need IEEE arithmetic: compile without -ffast-math, -Ofast and their parts, \
or define QUARRY_ALLOW_FAST_MATH to go without NaNs, infinities and signed zeros"
#endif
#endif

#ifdef __CUDACC__
#ifdef __CUDACC_RTC__
#define QUARRY_HD __device__ __forceinline__
#else
#define QUARRY_HD __host__ __device__ __forceinline__
#endif
#define QUARRY_MAY_ALIAS
#define QUARRY_UNROLL _Pragma("unroll")  // so that arrays are in registers
#else
#define QUARRY_HD inline
#define QUARRY_UNROLL
#define QUARRY_MAY_ALIAS \
  [[gnu::may_alias]]  // std::complex and Eigen::half memory is read through these types
#endif

namespace quarry::kernels {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
static_assert(sizeof(i32) == 4 && sizeof(i64) == 8, "an LP64 platform is needed");

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

template <class To, class From>
QUARRY_HD constexpr To bits_as(From value) {
  return __builtin_bit_cast(To, value);
}

// IEEE binary16 to binary32: exact. The subtraction renormalises subnormals, and its result is a
// normal number.
QUARRY_HD float half_to_float(u16 half) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#else
  const u32 exponent_mask = 0x7c00u << 13;
  const u32 magnitude = (half & 0x7fffu) << 13;
  const u32 exponent = magnitude & exponent_mask;
  const u32 rebased = magnitude + (112u << 23);
  const float subnormal = bits_as<float>(rebased + (1u << 23)) - 0x1p-14f;
  const u32 normal = rebased + (exponent == exponent_mask ? 112u << 23 : 0u);
  const u32 bits = exponent == 0 ? bits_as<u32>(subnormal) : normal;
  return bits_as<float>(bits | (half & 0x8000u) << 16);
#endif
}

// binary32 to binary16, to nearest even. Below 2^-14 the addition of 0.5 does the rounding: one
// unit in its last place is the smallest subnormal of the result.
QUARRY_HD u16 float_to_half(float value) {
#ifdef __CUDA_ARCH__
  u16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#else
  const u32 bits = bits_as<u32>(value);
  const u32 magnitude = bits & 0x7fffffffu;
  const u32 subnormal = bits_as<u32>(bits_as<float>(magnitude) + 0.5f) - 0x3f000000u;
  const u32 normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const u32 special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const u32 finite = magnitude < 0x38800000u ? subnormal : normal;
  return static_cast<u16>((magnitude < 0x47800000u ? finite : special) | (bits >> 16 & 0x8000u));
#endif
}

QUARRY_HD u16 float_to_bfloat(float value) {
#ifdef __CUDA_ARCH__
  u16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
#else
  const u32 bits = bits_as<u32>(value);
  const u32 rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const u32 quiet_nan = (bits >> 16 & 0x8000u) | 0x7fc0u;
  return static_cast<u16>(value != value ? quiet_nan : rounded);
#endif
}

// binary64 to binary32 by rounding to odd: a second rounding to a shorter format then gives what
// one rounding would.
QUARRY_HD float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  const u32 bits = bits_as<u32>(nearest);
  if (back == value || value != value || (bits & 1u) != 0) return nearest;
  const bool outward = value < 0 ? back < value : back > value;
  return bits_as<float>(outward ? bits - 1 : bits + 1);
}

// Storage formats: arithmetic is done in float, to which they convert implicitly.
struct QUARRY_MAY_ALIAS float16 {
  u16 bits;
  float16() = default;
  QUARRY_HD explicit float16(float value) : bits(float_to_half(value)) {}
  QUARRY_HD operator float() const { return half_to_float(bits); }
};

struct QUARRY_MAY_ALIAS bfloat16 {
  u16 bits;
  bfloat16() = default;
  QUARRY_HD explicit bfloat16(float value) : bits(float_to_bfloat(value)) {}
  QUARRY_HD operator float() const { return bits_as<float>(static_cast<u32>(bits) << 16); }
};

template <class T>
struct QUARRY_MAY_ALIAS complex {
  T re, im;
};

// An element of a structured array: bytes that are only copied.
template <u64 Size, u64 Alignment>
struct QUARRY_MAY_ALIAS alignas(Alignment) record {
  unsigned char bytes[Size];
};

template <class T>
inline constexpr bool is_bool = is_same<T, bool>;
/// Bytes whose order is that of integers.
template <class T>
inline constexpr bool is_byte = is_same<T, i8> || is_same<T, u8> || is_bool<T>;
template <class T>
inline constexpr bool is_half = is_same<T, float16> || is_same<T, bfloat16>;
template <class T>
inline constexpr bool is_floating = is_half<T> || is_same<T, float> || is_same<T, double>;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<complex<T>> = true;
template <class T>
inline constexpr bool is_record = false;
template <u64 Size, u64 Alignment>
inline constexpr bool is_record<record<Size, Alignment>> = true;
// The eight integer types; bool is not one of them.
template <class T>
inline constexpr bool is_integer =
    !is_bool<T> && !is_floating<T> && !is_complex<T> && !is_record<T>;
template <class T>
inline constexpr bool is_signed = !is_bool<T> && !is_record<T>;
template <>
inline constexpr bool is_signed<u8> = false;
template <>
inline constexpr bool is_signed<u16> = false;
template <>
inline constexpr bool is_signed<u32> = false;
template <>
inline constexpr bool is_signed<u64> = false;

template <u64 Size>
struct unsigned_of;
template <>
struct unsigned_of<1> {
  using type = u8;
};
template <>
struct unsigned_of<2> {
  using type = u16;
};
template <>
struct unsigned_of<4> {
  using type = u32;
};
template <>
struct unsigned_of<8> {
  using type = u64;
};
template <class T>
using make_unsigned = typename unsigned_of<sizeof(T)>::type;

// Integer arithmetic wraps: it is done on unsigned numbers at least as wide as int, since u16 * u16
// would be done in int.
template <class T>
using wrapping = typename unsigned_of<(sizeof(T) < 4 ? 4 : sizeof(T))>::type;

template <class T>
struct real_of {
  using type = T;
};
template <class T>
struct real_of<complex<T>> {
  using type = T;
};
// complex<float> -> float; every other type is its own.
template <class T>
using real_type = typename real_of<T>::type;

// The ends of a type's range, which are the identities of minimum and maximum: infinities for
// floating types, pairs of them for complex ones.
template <class T>
struct limits {
  using Real = real_type<T>;

  QUARRY_HD static constexpr T highest() {
    if constexpr (is_bool<T>)
      return true;
    else if constexpr (is_complex<T>)
      return T{limits<Real>::highest(), limits<Real>::highest()};
    else if constexpr (is_same<T, float16>)
      return bits_as<T>(u16{0x7c00});
    else if constexpr (is_same<T, bfloat16>)
      return bits_as<T>(u16{0x7f80});
    else if constexpr (is_same<T, float>)
      return bits_as<float>(0x7f800000u);
    else if constexpr (is_same<T, double>)
      return bits_as<double>(u64{0x7ff0000000000000});
    else if constexpr (is_signed<T>)
      return static_cast<T>(make_unsigned<T>(~make_unsigned<T>{}) >> 1);
    else
      return static_cast<T>(~T{});
  }
  QUARRY_HD static constexpr T lowest() {
    if constexpr (is_bool<T>)
      return false;
    else if constexpr (is_complex<T>)
      return T{limits<Real>::lowest(), limits<Real>::lowest()};
    else if constexpr (is_half<T>)
      return bits_as<T>(static_cast<u16>(highest().bits | 0x8000u));
    else if constexpr (is_floating<T>)
      return -highest();
    else
      return static_cast<T>(~highest());
  }
  QUARRY_HD static constexpr T nan() {
    if constexpr (is_complex<T>)
      return T{limits<Real>::nan(), limits<Real>::nan()};
    else if constexpr (is_same<T, float16>)
      return bits_as<T>(u16{0x7e00});
    else if constexpr (is_same<T, bfloat16>)
      return bits_as<T>(u16{0x7fc0});
    else if constexpr (is_same<T, float>)
      return bits_as<float>(0x7fc00000u);
    else
      return bits_as<double>(u64{0x7ff8000000000000});
  }
};

// Of a float to at most 32 bits. Positive numbers are ordered as their bits are, negative ones the
// other way: vectors take the smaller of two integers in one instruction.
template <class To>
QUARRY_HD To truncate_float(float value) {
  constexpr float beyond = static_cast<float>(static_cast<i64>(limits<To>::highest()) + 1);
  constexpr i32 most = bits_as<i32>(beyond) - 1;
  constexpr u32 least = bits_as<u32>(is_signed<To> ? -beyond : -0.f);
  const i32 bits = bits_as<i32>(value);
  const u32 lowered = static_cast<u32>(bits < most ? bits : most);
  if constexpr (sizeof(To) < 4) {
    // a mask, since of a choice with a constant compilers make choices between bytes
    const u32 number = lowered & (0u - static_cast<u32>(value == value));
    return static_cast<To>(static_cast<i32>(bits_as<float>(number < least ? number : least)));
  } else {
    const float clamped = bits_as<float>(lowered < least ? lowered : least);
    const To inside = bits > most ? limits<To>::highest() : static_cast<To>(clamped);
    return value != value ? To{} : inside;
  }
}

// Truncates; values outside of the range give its nearest end, NaN gives 0. The same on every
// device.
template <class To, class From>
QUARRY_HD To truncate_to(From value) {
  if constexpr (sizeof(To) <= 4 && is_same<From, float>) {
    return truncate_float<To>(value);
  } else {
    constexpr int excess =
        static_cast<int>(sizeof(To)) * 8 - (is_signed<To> ? 1 : 0) - (sizeof(From) == 8 ? 53 : 24);
    constexpr To unit =
        excess > 0 ? static_cast<To>((static_cast<u64>(1) << (excess > 0 ? excess : 0)) - 1) : To{};
    constexpr From low = static_cast<From>(limits<To>::lowest());
    constexpr From high = static_cast<From>(static_cast<To>(limits<To>::highest() - unit));
    const From raised = value > low ? value : low;
    const From clamped = raised < high ? raised : high;
    const To inside = value > high ? limits<To>::highest() : static_cast<To>(clamped);
    return value != value ? To{} : inside;
  }
}

// NumPy's astype: complex to real takes the real part, anything but zero is true, integers wrap;
// floating to integer is truncate_to.
template <class To, class From>
QUARRY_HD To convert(From value) {
  if constexpr (is_same<To, From>)
    return value;
  else if constexpr (is_complex<From> && is_bool<To>)
    return value.re != 0 || value.im != 0;
  else if constexpr (is_complex<From> && is_complex<To>) {
    return To{static_cast<real_type<To>>(value.re), static_cast<real_type<To>>(value.im)};
  } else if constexpr (is_complex<From>)
    return convert<To>(value.re);
  else if constexpr (is_complex<To>)
    return To{convert<real_type<To>>(value), 0};
  else if constexpr (is_half<From>)
    return convert<To>(static_cast<float>(value));
  else if constexpr (is_bool<To>)
    return value != From{};
  else if constexpr (is_same<To, float16> && is_same<From, double>)
    return To(round_to_odd(value));
  else if constexpr (is_half<To>)
    return To(static_cast<float>(value));
  else if constexpr (is_floating<From> && is_integer<To>)
    return truncate_to<To>(value);
  else
    return static_cast<To>(value);
}

// Reads one element. A bool byte of foreign data may be neither 0 nor 1: any but 0 is true.
template <class T>
QUARRY_HD T load(const void* address) {
  if constexpr (is_bool<T>)
    return *static_cast<const unsigned char*>(address) != 0;
  else
    return *static_cast<const T*>(address);
}

}  // namespace quarry::kernels
