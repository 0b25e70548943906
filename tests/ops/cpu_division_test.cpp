// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/quarry.hpp>

#include <limits>
#include <random>
#include <vector>

#include "ops/on_cpu.hpp"

/// Quotients and remainders of integers on the CPU device, most of which are computed by the
/// inverse of the divisor, with vectors of every length.
namespace quarry {
namespace {

using backend::cpu_backend::limit_vectors;
using backend::cpu_backend::Vectors;
using test::lengths;

template <class T>
std::vector<T> host(const DeviceNDArray<T>& x) {
  synchronize();
  const auto* const data = static_cast<const T*>(static_cast<const void*>(x.device_pointer()));
  return std::vector<T>(data, data + x.size());
}
template <class T>
DeviceNDArray<T> device(const std::vector<T>& x) {
  DeviceNDArray<T> result(Shape{static_cast<std::int64_t>(x.size())});
  result.copy_to_device(std::span<const T>(x));
  return result;
}

template <class T>
class VectorsOfIntegers : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(VectorsOfIntegers, Integers);

/// Python's quotient and remainder; 0 for a divisor of 0.
template <class T>
std::pair<T, T> divided(T x, T y) {
  if (y == 0) return {T(0), T(0)};
  const __int128 a = x, b = y;
  __int128 quotient = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --quotient;
  return {static_cast<T>(quotient), static_cast<T>(a - quotient * b)};
}

/// Of all small numbers, those near the ends of the type, multiples of the divisor and their
/// neighbours, by arrays and by numbers.
TYPED_TEST(VectorsOfIntegers, QuotientsAreThoseOfPlainLoops) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const DeviceGuard guard(Device::cpu());
  std::mt19937_64 random(9);
  const auto drawn_integer = [&]() -> T {
    switch (random() % 4) {
      case 0:
        return static_cast<T>(Limits::min() + static_cast<T>(random() % 3));
      case 1:
        return static_cast<T>(Limits::max() - static_cast<T>(random() % 3));
      case 2:
        return static_cast<T>(static_cast<T>(random() % 21) - static_cast<T>(10));
      default:
        return static_cast<T>(random() >> random() % 64);
    }
  };
  for (int repeat = 0; repeat < 60; ++repeat) {
    const T number = drawn_integer();
    std::vector<T> x(5000), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = repeat % 2 ? drawn_integer() : number;
      const auto unit = static_cast<std::uint64_t>(y[i]), near = random() % 3 - 1;
      x[i] = random() % 2 ? drawn_integer() : static_cast<T>(unit * (random() % 300) + near);
    }
    const auto a = device(x), b = device(y);
    limit_vectors(lengths[repeat % 3]);
    const auto quotient = host(eval(repeat % 2 ? floor_divide(a, b) : floor_divide(a, b(0)))),
               rest = host(eval(repeat % 2 ? a % b : a % b(0)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto [whole, left] = divided(x[i], y[i]);
      ASSERT_EQ(quotient[i], whole) << +x[i] << " / " << +y[i];
      ASSERT_EQ(rest[i], left) << +x[i] << " % " << +y[i];
    }
    if (repeat % 2 == 0) {  // the same by a plain number
      ASSERT_EQ(host(eval(floor_divide(a, number))), quotient) << +number;
      ASSERT_EQ(host(eval(a % number)), rest) << +number;
    }
  }
  limit_vectors(Vectors::bytes_64);
}

/// Divisors of every size and both signs, also those that have no inverse, and dividends next to
/// multiples of them and to the ends of the type; at every length and place.
TYPED_TEST(VectorsOfIntegers, QuotientsByNumbersAreThoseOfPlainLoops) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  using U = std::make_unsigned_t<T>;
  const DeviceGuard guard(Device::cpu());
  std::mt19937_64 random(10);
  std::vector<T> numbers{0, 1, 2, 3, 5, 6, 7, 10, Limits::max(), Limits::min()};
  for (int bit = 2; bit < Limits::digits; ++bit) {
    for (const int near : {-1, 0, 1})
      numbers.push_back(static_cast<T>((U{1} << bit) + static_cast<U>(near)));
  }
  for (std::size_t i = numbers.size(); i-- > 0;)
    numbers.push_back(static_cast<T>(U{} - static_cast<U>(numbers[i])));
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const T y = numbers[k];
    std::vector<T> x(200 + k % 70);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const U end = static_cast<U>(i % 2 ? Limits::max() : Limits::min()), near = U(random() % 5);
      const U multiple = static_cast<U>(y) * static_cast<U>(random() >> random() % 64);
      x[i] = static_cast<T>((i % 3 ? multiple : end) + near - 2);
    }
    const auto a = device(x);
    for (const Vectors length : lengths) {
      limit_vectors(length);
      const auto start = static_cast<std::int64_t>(k % 4);
      const auto quotient = host(eval(floor_divide(a(range(start, _)), y)));
      for (std::size_t i = 0; i < quotient.size(); ++i) {
        const T dividend = x[i + static_cast<std::size_t>(start)];
        ASSERT_EQ(quotient[i], divided(dividend, y).first) << +dividend << " / " << +y;
      }
      auto in_place = a.copy();
      in_place.assign(floor_divide(in_place, y));
      const auto same = host(in_place);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(same[i], divided(x[i], y).first);
    }
  }
  limit_vectors(Vectors::bytes_64);
}

template <class T>
class VectorsOfBytes : public testing::Test {};
using Bytes = testing::Types<std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(VectorsOfBytes, Bytes);

TYPED_TEST(VectorsOfBytes, AllQuotientsAreThoseOfPlainLoops) {
  using T = TypeParam;
  const DeviceGuard guard(Device::cpu());
  std::vector<T> x(1 << 16), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(i % 256);
    y[i] = static_cast<T>(i / 256);
  }
  const auto a = device(x), b = device(y);
  for (const Vectors length : lengths) {
    limit_vectors(length);
    const auto quotient = host(eval(floor_divide(a, b))), rest = host(eval(a % b));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto [whole, left] = divided(x[i], y[i]);
      ASSERT_EQ(quotient[i], whole) << +x[i] << " / " << +y[i];
      ASSERT_EQ(rest[i], left) << +x[i] << " % " << +y[i];
    }
  }
  limit_vectors(Vectors::bytes_64);
}

TYPED_TEST(VectorsOfBytes, AllQuotientsByNumbersAreThoseOfPlainLoops) {
  using T = TypeParam;
  const DeviceGuard guard(Device::cpu());
  std::vector<T> x(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i);
  const auto a = device(x);
  for (const Vectors length : lengths) {
    limit_vectors(length);
    for (const T y : x) {
      const auto quotient = host(eval(floor_divide(a, y)));
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(quotient[i], divided(x[i], y).first) << +x[i] << " / " << +y;
    }
  }
  limit_vectors(Vectors::bytes_64);
}

}  // namespace
}  // namespace quarry
