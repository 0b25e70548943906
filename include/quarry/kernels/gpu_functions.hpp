// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// Functions of float for GPUs, in about half of the instructions of CUDA's and without divisions
/// and calls, so that a thread's elements are computed side by side: `usual`, for the arguments of
/// which `has` is true. The others are left to CUDA's functions.
namespace quarry::kernels::gpu {

#ifdef __CUDACC__
QUARRY_HD float fused(float a, float b, float c) { return ::fmaf(a, b, c); }
QUARRY_HD float magnitude(float x) { return ::fabsf(x); }
#else
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float magnitude(float x) { return __builtin_fabsf(x); }
#endif

/// 1 / x and 1 / sqrt(x) of normal numbers with an error of about an ulp: an instruction each.
QUARRY_HD float rough_reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / x;
#endif
}
QUARRY_HD float rough_reciprocal_root(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / __builtin_sqrtf(x);
#endif
}

/// Whether a positive number, or a NaN, is from 2^-100 to 2^100.
QUARRY_HD bool is_usual(float x) {
  constexpr u32 least = 27u << 23, most = 227u << 23;
  return bits_as<u32>(x) - least <= most - least;
}

struct hypot_of {
  QUARRY_HD static float square(float x, float y) { return fused(x, x, y * y); }
  QUARRY_HD static bool has(float x, float y) { return is_usual(square(x, y)); }
  QUARRY_HD static float usual(float x, float y) {
    const float all = square(x, y), reciprocal = rough_reciprocal_root(all);
    const float root = all * reciprocal;
    return fused(fused(-root, root, all), 0.5f * reciprocal, root);
  }
};

/// By the quotient of the smaller one and the larger one, and a polynomial of its square.
struct atan2_of {
  QUARRY_HD static bool is_steep(float y, float x) { return magnitude(y) > magnitude(x); }
  QUARRY_HD static float most(float y, float x) { return magnitude(is_steep(y, x) ? y : x); }
  QUARRY_HD static bool has(float y, float x) { return is_usual(most(y, x)); }
  QUARRY_HD static float usual(float y, float x) {
    const float least = magnitude(is_steep(y, x) ? x : y);
    const float reciprocal = rough_reciprocal(most(y, x)), rough = least * reciprocal;
    const float q = fused(fused(-rough, most(y, x), least), reciprocal, rough), z = q * q;
    float p = 0.00292035984f;
    p = fused(p, z, -0.0163665209f);
    p = fused(p, z, 0.0432094261f);
    p = fused(p, z, -0.0755199343f);
    p = fused(p, z, 0.106658928f);
    p = fused(p, z, -0.142110243f);
    p = fused(p, z, 0.199937686f);
    p = fused(p, z, -0.333331525f);
    float angle = fused(p * z, q, q);
    angle = is_steep(y, x) ? 1.57079637f - angle : angle;
    angle = x < 0 ? 3.14159274f - angle : angle;
    return bits_as<float>(bits_as<u32>(angle) | (bits_as<u32>(y) & 0x80000000u));
  }
};

/// sin(x + First * pi / 2), with the bits that the CPU computes (src/kernels/vector_math.hpp).
template <i32 First>
struct sine_from {
  QUARRY_HD static bool has(float x) { return magnitude(x) <= 500000; }
  QUARRY_HD static float usual(float x) {
    const float shifted = fused(x, 6.36619747e-01f, 0x1.8p23f), n = shifted - 0x1.8p23f;
    const float high = fused(n, -0x1.921fb0p+00f, x), middle = fused(n, -0x1.5110b4p-22f, high);
    const float r = fused(n, -0x1.846988p-48f, middle), z = r * r;
    const i32 number = bits_as<i32>(shifted) + First;
    const float value = (number & 1) != 0 ? cosine(z) : sine(r, z);
    return bits_as<float>(bits_as<u32>(value) ^ (static_cast<u32>(number) & 2u) << 30);
  }

 private:
  QUARRY_HD static float sine(float r, float z) {
    const float p = fused(0.00833208393f, z, fused(-0.000195043234f, z * z, -0.166666538f));
    return fused(fused(r, z, 0.f), p, r);  // 0 times p has the other sign than r
  }
  QUARRY_HD static float cosine(float z) {
    const float p = fused(-0.00138872431f, z, fused(2.44238927e-05f, z * z, 0.0416666456f));
    return fused(z, fused(z, p, -0.5f), 1.f);
  }
};
using sin_of = sine_from<0>;
using cos_of = sine_from<1>;

}  // namespace quarry::kernels::gpu
