// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <Eigen/Core>

/// Drawn and special values of every floating type.
namespace quarry::accuracy {

using Random = std::mt19937_64;

/// Binary digits, the exponents of the smallest normal and of the largest number.
template <class T>
struct Format {
  static constexpr int digits = std::numeric_limits<T>::digits,
                       least = std::numeric_limits<T>::min_exponent - 1,
                       most = std::numeric_limits<T>::max_exponent - 1;
};
template <>
struct Format<Eigen::half> {
  static constexpr int digits = 11, least = -14, most = 15;
};
template <>
struct Format<Eigen::bfloat16> {
  static constexpr int digits = 8, least = -126, most = 127;
};
template <class T>
struct Format<std::complex<T>> : Format<T> {};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

template <class T>
T as(double value) {
  if constexpr (sizeof(T) == 2)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

inline double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// A finite number of any bits: its exponent is uniform.
template <class T>
T any_bits(Random& random) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  for (;;) {
    const auto bits = static_cast<Bits>(random());
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    if (std::isfinite(static_cast<double>(value))) return value;
  }
}

/// Close to where functions have zeros, poles, branch points and limits.
template <class T>
T near_critical(Random& random) {
  static constexpr double points[] = {0.5,
                                      1,
                                      1,
                                      2,
                                      2.718281828459045,
                                      10,
                                      0.7853981633974483,
                                      1.5707963267948966,
                                      3.141592653589793,
                                      4.71238898038469,
                                      6.283185307179586,
                                      11.0898,
                                      9.7,
                                      22,
                                      88.7228,
                                      87.3365,
                                      103.972,
                                      709.7827,
                                      708.396,
                                      745.133,
                                      16,
                                      128,
                                      149,
                                      126,
                                      1024,
                                      1022,
                                      1074};
  const double point = points[random() % std::size(points)] * (random() % 2 == 0 ? 1 : -1);
  return as<T>(point * (1 + uniform(random, -1, 1) * std::exp2(-uniform(random, 0, 55))));
}

template <class T>
T draw_real(Random& random) {
  switch (random() % 4) {
    case 0:
      return as<T>(uniform(random, -8, 8));
    case 1:
      return near_critical<T>(random);
    default:
      return any_bits<T>(random);
  }
}

/// Near the unit circle, near 1, -1, i, -i and 0, with parts of like size, or with any two parts.
template <class T>
std::complex<T> draw_complex(Random& random) {
  const auto small = [&] {
    return std::exp2(-uniform(random, 0, 70)) * (random() % 2 == 0 ? 1 : -1);
  };
  const double angle = uniform(random, -3.2, 3.2);
  switch (random() % 6) {
    case 0:
      return {as<T>((1 + small()) * std::cos(angle)), as<T>((1 + small()) * std::sin(angle))};
    case 1: {
      const std::complex<T> z(as<T>((random() % 2 == 0 ? 1 : -1) + small()), as<T>(small()));
      return random() % 2 == 0 ? z : std::complex<T>(z.imag(), z.real());
    }
    case 2: {
      const double size = std::exp2(uniform(random, Format<T>::least, Format<T>::most));
      return {as<T>(size * std::cos(angle)), as<T>(size * std::sin(angle))};
    }
    case 3:
      return {as<T>(uniform(random, -8, 8)), as<T>(uniform(random, -8, 8))};
    default:
      return {draw_real<T>(random), draw_real<T>(random)};
  }
}

template <class T>
T draw(Random& random) {
  if constexpr (is_complex<T>)
    return draw_complex<typename T::value_type>(random);
  else
    return draw_real<T>(random);
}

/// Both zeros, the ends of the range, infinities, NaN and small whole and half numbers; for complex
/// types all pairs of them.
template <class T>
std::vector<T> special_values() {
  std::vector<T> values;
  if constexpr (is_complex<T>) {
    const auto parts = special_values<typename T::value_type>();
    for (const auto x : parts)
      for (const auto y : parts) values.emplace_back(x, y);
  } else {
    using F = Format<T>;
    const double least = std::ldexp(1.0, F::least),
                 largest = std::ldexp(2 - std::ldexp(1.0, 1 - F::digits), F::most);
    for (const double x : {0., std::ldexp(least, 1 - F::digits), least, 0.5, 1., 1.5, 2., 3., 100.,
                           largest, std::numeric_limits<double>::infinity()}) {
      values.push_back(as<T>(x));
      values.push_back(as<T>(-x));
    }
    values.push_back(as<T>(std::numeric_limits<double>::quiet_NaN()));
  }
  return values;
}

}  // namespace quarry::accuracy
