// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/quarry.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "ops/on_cpu.hpp"

/// Conversions at the ends of the types, operands that are one element everywhere, in arrays of
/// every length up to two vectors and one element more, aligned or not, and exchanged axes, with
/// vectors of every length: against plain loops.
namespace quarry {
namespace {

using backend::cpu_backend::limit_vectors;
using backend::cpu_backend::Vectors;
using test::lengths;
using test::OnCpu;

constexpr std::int64_t most = 2 * 64 + 1;  // bytes of the longest vectors

template <class T>
T* data(const DeviceNDArray<T>& x) {
  return static_cast<T*>(static_cast<void*>(x.device_pointer()));
}

template <class T>
std::vector<T> host(const DeviceNDArray<T>& x) {
  synchronize();
  return std::vector<T>(data(x), data(x) + x.size());
}

/// The value without its fraction, the nearest end of the type, or 0 of a NaN.
template <class To, class From>
To truncated(From value) {
  using Limits = std::numeric_limits<To>;
  const long double whole = std::trunc(static_cast<long double>(value));
  if (std::isnan(whole)) return 0;
  if (whole <= static_cast<long double>(Limits::min())) return Limits::min();
  if (whole >= static_cast<long double>(Limits::max())) return Limits::max();
  return static_cast<To>(whole);
}

/// Both signs of zeros, NaNs, infinities, and the neighbourhood of every power of two.
template <class T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all = {T(0), Limits::quiet_NaN(), Limits::infinity(), Limits::denorm_min(),
                        Limits::max()};
  for (int exponent = -1; exponent < 66; ++exponent) {
    const T power = std::ldexp(T(1), exponent);
    for (const T x : {power, power - T(0.5), power - T(1), power + T(0.5)}) {
      for (const T to : {-Limits::infinity(), Limits::infinity()}) {
        all.push_back(x);
        all.push_back(std::nextafter(x, to));
      }
    }
  }
  const std::size_t positive = all.size();
  for (std::size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
  return all;
}

template <class To, class From>
void expect_truncated(const DeviceNDArray<From>& x, std::int64_t begin) {
  const auto part = x(range(begin, _));
  // by a loop of the library, and by one of this file
  for (const auto& found :
       {host(part.template astype<To>()), host(eval(astype<To>(part * From(1))))}) {
    ASSERT_EQ(found.size(), static_cast<std::size_t>(part.size()));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const From value = data(x)[begin + static_cast<std::int64_t>(i)];
      ASSERT_EQ(found[i], truncated<To>(value)) << std::hexfloat << value << " at " << i;
    }
  }
}

template <class From>
class EdgesOf : public testing::Test {};
using Floating = testing::Types<float, double>;
TYPED_TEST_SUITE(EdgesOf, Floating);

TYPED_TEST(EdgesOf, FloatsAreTruncatedToIntegersAsByPlainLoops) {
  using From = TypeParam;
  const OnCpu device;
  const std::vector<From> values = edges<From>();
  for (const Vectors length : lengths) {
    limit_vectors(length);
    SCOPED_TRACE(static_cast<int>(length));
    for (std::int64_t n = 0; n <= most + 3; ++n) {
      DeviceNDArray<From> x(Shape{n});
      for (std::int64_t i = 0; i < n; ++i) {
        data(x)[i] = values[static_cast<std::size_t>(n * 37 + i) % values.size()];
      }
      const std::int64_t begin = std::min<std::int64_t>(n % 4, n);
      expect_truncated<std::int8_t>(x, begin);
      expect_truncated<std::uint8_t>(x, begin);
      expect_truncated<std::int16_t>(x, begin);
      expect_truncated<std::uint16_t>(x, begin);
      expect_truncated<std::int32_t>(x, begin);
      expect_truncated<std::uint32_t>(x, begin);
      expect_truncated<std::int64_t>(x, begin);
    }
  }
}

template <class T>
class RepeatedOf : public testing::Test {};
using Repeated = testing::Types<std::int8_t, std::uint16_t, std::int32_t, double>;
TYPED_TEST_SUITE(RepeatedOf, Repeated);

/// A column, a row and a single element are added to and multiplied with every row, into a new
/// array and in place.
TYPED_TEST(RepeatedOf, OperandsAreThoseOfPlainLoops) {
  using T = TypeParam;
  const OnCpu device;
  constexpr std::int64_t rows = 3;
  for (const Vectors length : lengths) {
    limit_vectors(length);
    SCOPED_TRACE(static_cast<int>(length));
    for (std::int64_t n = 1; n <= most + 70; ++n) {
      DeviceNDArray<T> wide(Shape{rows, n + 1});
      for (std::int64_t i = 0; i < wide.size(); ++i) data(wide)[i] = static_cast<T>(i * 7 % 251);
      const auto x = wide(all, range(1, _)), y = eval(x + T(3));
      const auto column = wide(all, range(0, 1)), row = wide(range(1, 2), range(1, _));
      const auto element = wide(range(2, 3), range(0, 1));
      const std::vector<T> sums = host(eval(x + column)),
                           several = host(eval(column * x + row * element));
      DeviceNDArray<T> place = y.copy();
      place += column;
      const std::vector<T> in_place = host(place);
      for (std::int64_t i = 0; i < rows * n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t r = i / n, j = i % n;
        const auto value = [&](std::int64_t a, std::int64_t b) {
          return data(wide)[a * (n + 1) + b];
        };
        const T here = value(r, j + 1), first = value(r, 0);
        ASSERT_EQ(sums[at], static_cast<T>(here + first)) << n << ' ' << i;
        ASSERT_EQ(in_place[at], static_cast<T>(here + T(3) + first)) << n << ' ' << i;
        ASSERT_EQ(several[at], static_cast<T>(first * here + value(1, j + 1) * value(2, 0)))
            << n << ' ' << i;
      }
    }
  }
}

template <class T>
class TurnedOf : public testing::Test {};
using Turned = testing::Types<std::int8_t, std::uint16_t, float, double, std::complex<double>>;
TYPED_TEST_SUITE(TurnedOf, Turned);

/// The last two axes of stacks of matrices are exchanged, of one to three operands, also where the
/// rows of a tile are of two matrices, and in place.
TYPED_TEST(TurnedOf, AxesAreThoseOfPlainLoops) {
  using T = TypeParam;
  const OnCpu device;
  const std::int64_t extents[] = {15, 16, 33, 64, 65, 70, 127, 128, 130, 200};
  for (const std::int64_t rows : extents) {
    for (const std::int64_t columns : extents) {
      limit_vectors(lengths[(rows + columns) % 3]);
      SCOPED_TRACE(testing::PrintToString(std::pair(rows, columns)));
      const auto small = [](std::int64_t i) { return static_cast<T>(static_cast<float>(i)); };
      const Shape shape = {2, columns, rows};
      DeviceNDArray<T> x(shape), y(shape), z(shape), w({2, rows, columns});
      for (std::int64_t i = 0; i < x.size(); ++i) {
        data(x)[i] = small(i % 31);
        data(y)[i] = small(i % 29);
        data(z)[i] = small(i % 23);
        data(w)[i] = small(i % 19);
      }
      const auto turned = [](const auto& a) { return a.transpose({0, 2, 1}); };
      const std::vector<T> one = host(turned(x).copy()),
                           two = host(eval(turned(x) + w + turned(y)));
      DeviceNDArray<T> sums(w.shape());  // a new one would have the order of the operands
      sums.assign(turned(x) + turned(y) + turned(z));
      const std::vector<T> three = host(sums);
      DeviceNDArray<T> place = w.copy();
      place += turned(x);
      const std::vector<T> in_place = host(place);
      for (std::int64_t i = 0; i < w.size(); ++i) {
        const std::int64_t m = i / (rows * columns), r = i / columns % rows, c = i % columns;
        const std::int64_t from = (m * columns + c) * rows + r;
        const auto at = static_cast<std::size_t>(i);
        const T a = data(x)[from], b = data(y)[from];
        ASSERT_EQ(one[at], a) << i;
        ASSERT_EQ(two[at], static_cast<T>(a + data(w)[i] + b)) << i;
        ASSERT_EQ(three[at], static_cast<T>(a + b + data(z)[from])) << i;
        ASSERT_EQ(in_place[at], static_cast<T>(data(w)[i] + a)) << i;
      }
    }
  }
}

}  // namespace
}  // namespace quarry
