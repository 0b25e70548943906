// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

// What plain numbers become as elements, by every way into an array, and what comes back.
namespace quarry {
namespace {

using test::values;

// --- numbers into elements
// ------------------------------------------------------------------------

template <class T>
class Written : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, int,
                                unsigned, std::int64_t, std::uint64_t, char, long long>;
TYPED_TEST_SUITE(Written, Integers);

/// The element that a way of writing `value` leaves, or nothing if it is refused.
template <class T, class S>
std::vector<std::optional<T>> by_every_way(const S& value) {
  const auto tried = [&](const auto& write) -> std::optional<T> {
    try {
      return write();
    } catch (const DTypeError&) {
      return std::nullopt;
    }
  };
  const auto a = zeros<T>({2});
  return {tried([&] { return a.fill(value), a(1).item(); }),
          tried([&] { return a(all) = value, a(1).item(); }),
          tried([&] { return a(0) = value, a(0).item(); }),
          tried([&] { return full<T>({2}, value)(1).item(); })};
}

TYPED_TEST(Written, AnIntegerThatDoesNotFitIsRefusedByEveryWay) {
  using T = TypeParam;
  const auto check = [](auto value) {
    using Exact = kernel_type_t<T>;
    const std::optional<T> want =
        std::in_range<Exact>(value) ? std::optional(static_cast<T>(value)) : std::nullopt;
    for (const auto& got : by_every_way<T>(value)) EXPECT_EQ(got, want) << std::to_string(value);
  };
  for (const int v : {0, 1, -1, 127, 128, -128, -129, 255, 256, 300, 40000, -70000}) check(v);
  check(std::numeric_limits<std::int64_t>::max());
  check(std::numeric_limits<std::int64_t>::min());
  check(std::numeric_limits<std::uint64_t>::max());
}

TEST(Values, ARefusedNumberLeavesTheElements) {
  const auto a = full<std::uint8_t>({3}, 7);
  EXPECT_THROW(a.fill(300), DTypeError);
  EXPECT_THROW(a(1) = -1, DTypeError);
  EXPECT_EQ(values(a), (std::vector<std::uint8_t>{7, 7, 7}));
}

template <class T>
class HalfPrecision : public testing::Test {};
using Halves = testing::Types<Eigen::half, Eigen::bfloat16>;
TYPED_TEST_SUITE(HalfPrecision, Halves);

TYPED_TEST(HalfPrecision, TakesPlainNumbers) {
  using T = TypeParam;
  const auto check = [](auto value) {
    const T want(static_cast<float>(value));
    for (const auto& got : by_every_way<T>(value)) EXPECT_EQ(got, want);
  };
  check(1.5f);
  check(-2.25);
  check(3);
  check(std::uint8_t{200});
  check(70000);  // infinity in float16
  check(true);
  const auto a = ones<T>({2});
  a(0) = 2;
  EXPECT_EQ(values(a), (std::vector{T(2.f), T(1.f)}));
}

TEST(Values, NumbersOfALowerKindAreConverted) {
  using C = std::complex<float>;
  for (const auto& got : by_every_way<C>(2)) EXPECT_EQ(got, C(2));
  for (const auto& got : by_every_way<C>(std::complex<double>(1, -1))) EXPECT_EQ(got, C(1, -1));
  for (const auto& got : by_every_way<float>(Eigen::half(1.5f))) EXPECT_EQ(got, 1.5f);
  for (const auto& got : by_every_way<std::int8_t>(true)) EXPECT_EQ(got, 1);
  static_assert(!detail::ElementValue<float, int> && !detail::ElementValue<int, bool>);
  static_assert(!detail::ElementValue<std::complex<float>, Eigen::half>);
}

// --- bools
// ----------------------------------------------------------------------------------------

/// Bytes as bools of an array, as another library may have left them.
DeviceNDArray<bool> bools_of(const std::vector<std::uint8_t>& bytes) {
  const auto raw = to_device(bytes);
  return {Layout{raw.shape(), raw.strides()}, raw.device_pointer(), raw.buffer()};
}
std::uint8_t byte_of(const bool& value) {
  std::uint8_t byte = 0;
  std::memcpy(&byte, &value, 1);
  return byte;
}

TEST(Values, ABoolOfAnyByteIsZeroOrOneOnTheHost) {
  const auto few = bools_of({0, 1, 2, 128, 255});
  EXPECT_EQ(byte_of(few(4).item()), 1);
  EXPECT_EQ(byte_of(few(0).item()), 0);
  EXPECT_EQ(to_string(few), "[False  True  True  True  True]");
  const Stream other = stream();
  for (const std::size_t n : {5u, 4096u, 4097u, 100000u}) {
    std::vector<std::uint8_t> bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i % 256);
    const auto array = bools_of(bytes);
    const auto host = std::make_unique<bool[]>(n);
    for (const bool waits : {true, false}) {
      const auto backwards = array(range(_, _, -1));
      if (waits) {
        backwards.copy_to_host(std::span(host.get(), n));
      } else {
        backwards.copy_to_host(std::span(host.get(), n), other);
        other.synchronize();
      }
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < n; ++i) wrong += byte_of(host[i]) != (bytes[n - 1 - i] != 0);
      EXPECT_EQ(wrong, 0u) << n << ' ' << waits;
    }
  }
}

// --- text
// -----------------------------------------------------------------------------------------

TEST(Values, ToStringIsWhatIsPrinted) {
  const auto a = arange<float>(6).reshape({2, 3});
  std::ostringstream out;
  out << a;
  EXPECT_EQ(to_string(a), out.str());
  EXPECT_EQ(to_string(a(all, 0)), "[0. 3.]");
  const DeviceNDArrayBase& base = a;
  EXPECT_EQ(to_string(base), out.str());
}

TEST(Values, AShapeHasNoFurtherExtents) {
  const auto a = zeros<float>({2, 3});
  EXPECT_EQ(a.shape()[1], 3);
  EXPECT_THROW(a.shape()[2], IndexError);
  EXPECT_THROW(a.shape()[5], IndexError);
  EXPECT_THROW(a.strides()[2], IndexError);
  EXPECT_THROW(zeros<float>({}).shape()[0], IndexError);
}

// --- records
// --------------------------------------------------------------------------------------

struct Point {
  float x, y;
};
struct Interval {
  float low, high;
};
namespace elsewhere {
struct Point {
  float x, y;
};
}  // namespace elsewhere

TEST(Values, RecordsOfAnotherClassAreRefusedAndBothAreNamed) {
  const auto points = full<Point>({2}, {1, 2});
  const DeviceNDArrayBase& base = points;
  EXPECT_EQ(DeviceNDArray<Point>(base)(1).item().y, 2.f);
  EXPECT_THROW(DeviceNDArray<Interval>{base}, DTypeError);
  EXPECT_THROW(DeviceNDArray<elsewhere::Point>{base}, DTypeError);
  const auto intervals = zeros<Interval>({2});
  try {
    copy_elements(intervals.ref(), points.ref(), points.stream());
    ADD_FAILURE();
  } catch (const DTypeError& e) {
    EXPECT_NE(std::string(e.what()).find("::Point"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("::Interval"), std::string::npos) << e.what();
  }
  std::vector<Interval> host(2);
  EXPECT_THROW(download(host_ref(host), points.ref(), points.stream(), true), DTypeError);
  EXPECT_THROW(upload(points.ref(), host_ref(host), points.stream(), true), DTypeError);
  EXPECT_EQ(intervals(0).item().high, 0.f);
  EXPECT_EQ(points(0).item().x, 1.f);
}

}  // namespace
}  // namespace quarry
