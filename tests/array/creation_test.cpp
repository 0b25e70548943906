// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <sstream>

#include <Eigen/Core>

#include "fake_driver/test_device.hpp"
#include "gate.hpp"
#include "lifetimes/host_view.hpp"

namespace quarry {
namespace {

using test::counted;
using test::values;

struct Point {
  float x, y, z;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Particle {
  double mass;
  float position[3];
  int id;
  friend bool operator==(const Particle&, const Particle&) = default;
};
static_assert(sizeof(Point) == 12 && sizeof(Particle) == 24);

template <class T>
class EveryType : public testing::Test {};
using Types =
    testing::Types<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, int, unsigned,
                   long, long long, std::uint64_t, Eigen::half, Eigen::bfloat16, float, double,
                   std::complex<float>, std::complex<double>, Point, Particle>;
TYPED_TEST_SUITE(EveryType, Types);

template <class T>
T made(int i) {
  if constexpr (std::is_same_v<T, Point>) {
    return {float(i), float(-i), 0.5f};
  } else if constexpr (std::is_same_v<T, Particle>) {
    return {double(i), {1, 2, float(i)}, -i};
  } else if constexpr (requires(T t) { t.imag(); }) {
    return {static_cast<typename T::value_type>(i), -1};
  } else {
    return static_cast<T>(i);
  }
}

template <class T>
test::Host<T> sample(const test::Ints& shape) {
  test::Host<T> host(shape);
  for (std::size_t i = 0; i < host.count(); ++i) host[i] = made<T>(static_cast<int>(i));
  return host;
}

TYPED_TEST(EveryType, ComesBackAsItWent) {
  const auto host = sample<TypeParam>({3, 5});
  const auto a = to_device(host);
  EXPECT_EQ(a.nbytes(), 15 * sizeof(TypeParam));
  EXPECT_EQ(values(a), host.list());
  EXPECT_EQ(values(a.copy()), host.list());
  EXPECT_EQ(a(1, 2).item(), host[7]);
}

TYPED_TEST(EveryType, FillsReshapesAndCopiesThroughViews) {
  const TypeParam one = made<TypeParam>(1), two = made<TypeParam>(2);
  const auto a = full<TypeParam>({4, 6}, one);
  a(range(1, 3), range(_, _, -2)) = two;
  const auto b = a.transpose().copy();
  const auto got = values(b.reshape({24}));
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t row = i % 4, column = i / 4;
    const bool is_two = (row == 1 || row == 2) && column % 2 == 1;
    EXPECT_EQ(got[i], is_two ? two : one) << i;
  }
}

TYPED_TEST(EveryType, OverlappingAssignmentIsAsIfThroughATemporary) {
  const auto host = sample<TypeParam>({9});
  const auto a = to_device(host);
  a(range(1, _)) = a(range(_, -1));
  const auto got = values(a);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(got[i], host[i == 0 ? 0 : i - 1]);
  a(all) = a(range(_, _, -1));
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(values(a)[i], got[8 - i]);
}

TYPED_TEST(EveryType, ZerosAreZeroBytes) {
  const auto got = values(zeros<TypeParam>({5}));
  const std::array<unsigned char, sizeof(TypeParam)> nothing{};
  for (std::size_t i = 0; i < got.size(); ++i) {
    const TypeParam value = got[i];
    EXPECT_EQ(std::memcmp(&value, nothing.data(), sizeof value), 0);
  }
  EXPECT_EQ(zeros_like(to_device(sample<TypeParam>({2, 3}))).shape(), (Shape{2, 3}));
}

TEST(Creation, FromHostRangesOfEveryKind) {
  const std::vector<float> vector{1, 2, 3};
  const std::array<int, 2> array{4, 5};
  EXPECT_EQ(values(to_device(vector)), vector);
  EXPECT_EQ(values(to_device(array)), (std::vector{4, 5}));
  EXPECT_EQ(values(to_device(std::span<const float>(vector).subspan(1))),
            (std::vector<float>{2, 3}));
  EXPECT_EQ(values(to_device({1.5, 2.5})), (std::vector{1.5, 2.5}));
  EXPECT_EQ(to_device(std::vector<double>{}).shape(), (Shape{0}));
  std::vector<float> back(3);
  to_device(vector).copy_to_host(back);
  EXPECT_EQ(back, vector);
  std::vector<float> small(2);
  EXPECT_THROW(to_device(vector).copy_to_host(small), ShapeError);
}

TEST(Creation, AnArrayOnADeviceStaysWhereItIs) {
  const auto a = to_device({1, 2});
  EXPECT_EQ(to_device(a).device_pointer(), a.device_pointer());
  EXPECT_EQ(to_device(a, a.device()).device_pointer(), a.device_pointer());
}

TEST(Creation, LikeKeepsShapeAndOrderOfAxes) {
  const auto f = device_array<float>({3, 4, 5}, {.order = Order::f});
  EXPECT_EQ(device_array_like(f).strides(), f.strides());
  EXPECT_EQ(zeros_like(f).strides(), f.strides());
  const auto mixed = device_array<float>({3, 4, 5}).transpose({1, 0, 2});
  EXPECT_EQ(device_array_like(mixed).strides(), (Strides{20, 80, 4}));
  EXPECT_EQ(device_array_like(mixed(range(_, _, 2))).strides(), (Strides{20, 40, 4}));
  EXPECT_EQ(device_array_like(device_array<float>({})).ndim(), 0u);
}

TEST(Creation, ArangeCountsAndStops) {
  EXPECT_EQ(values(arange(5)), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(arange(2, 11, 3)), (std::vector{2, 5, 8}));
  EXPECT_EQ(values(arange(5, 0, -2)), (std::vector{5, 3, 1}));
  EXPECT_EQ(values(arange(0.0, 1.0, 0.25)), (std::vector{0.0, 0.25, 0.5, 0.75}));
  EXPECT_TRUE(values(arange(3, 3)).empty());
  EXPECT_TRUE(values(arange(3, 0)).empty());
  constexpr auto low = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(values(arange<std::int64_t>(low, low + 3)), (std::vector{low, low + 1, low + 2}));
}

TEST(Creation, ArangeUnsignedBeyondTheSignedRange) {
  constexpr auto high = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(values(arange<std::uint64_t>(high - 2, high)), (std::vector{high - 2, high - 1}));
  EXPECT_EQ(arange<std::uint8_t>(0, 200, 50).size(), 4);
}

TEST(Creation, ArangeOfUnsignedIntegersHasTheirWholeRange) {
  using u64 = std::uint64_t;
  const u64 most = std::numeric_limits<u64>::max(), half = u64{1} << 63;
  EXPECT_EQ(values(arange<u64>(half - 3, half + 3)),
            (std::vector{half - 3, half - 2, half - 1, half, half + 1, half + 2}));
  EXPECT_EQ(values(arange<u64>(0, most, half)), (std::vector{u64{0}, half}));
  EXPECT_EQ(values(arange<u64>(most - 5, most, 4)), (std::vector{most - 5, most - 1}));
  EXPECT_EQ(arange<u64>(7, 3).size(), 0);
  EXPECT_THROW(arange<u64>(0, most), SizeOverflow);
  EXPECT_THROW(arange<u64>(0, 5, 0), ShapeError);
}

template <class T>
class ArangeOf : public testing::Test {};
using Numbers = testing::Types<char, signed char, unsigned char, short, unsigned short, int,
                               unsigned, long, unsigned long, long long, unsigned long long,
                               Eigen::half, Eigen::bfloat16, float, double>;
TYPED_TEST_SUITE(ArangeOf, Numbers);

TYPED_TEST(ArangeOf, EveryNumberTypeCountsAsNumPy) {
  using T = TypeParam;
  const auto list = [](auto... v) { return std::vector<T>{T(v)...}; };
  EXPECT_EQ(values(arange(T(5))), list(0, 1, 2, 3, 4));
  EXPECT_EQ(values(arange(T(2), T(11), T(3))), list(2, 5, 8));
  EXPECT_EQ(values(arange<T>(T(100), T(103))), list(100, 101, 102));
  static_assert(std::is_same_v<decltype(arange(T(5))), DeviceNDArray<T>>);
}

TEST(Creation, ArangeOfHalfPrecisionIsRoundedOnce) {
  using H = Eigen::half;
  using B = Eigen::bfloat16;
  const auto floats = [](const auto& a) {
    std::vector<float> result;
    for (const auto v : values(a)) result.push_back(float(v));
    return result;
  };
  EXPECT_EQ(floats(arange(H(0), H(10), H(1.5f))),
            (std::vector{0.f, 1.5f, 3.f, 4.5f, 6.f, 7.5f, 9.f}));
  EXPECT_EQ(floats(arange(H(0), H(1), H(0.25f))), (std::vector{0.f, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(floats(arange(B(1), B(-1), B(-0.5f))), (std::vector{1.f, 0.5f, 0.f, -0.5f}));
  const auto long_one = floats(arange(H(0), H(4097), H(1)));  // integers past 2048 are rounded
  ASSERT_EQ(long_one.size(), 4096u);  // 4097 itself is 4096 in half precision
  EXPECT_EQ(long_one[4095], 4096.f);
  const auto fine = floats(arange(H(0), H(300), H(0.1f)));
  for (std::size_t i = 0; i < fine.size(); ++i) {
    ASSERT_EQ(fine[i], float(H(float(i) * float(H(0.1f))))) << i;
  }
}

TEST(Creation, ArangeWithoutALengthIsRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(arange(0, 5, 0), ShapeError);
  EXPECT_THROW(arange(0.0, 5.0, 0.0), ShapeError);
  EXPECT_THROW(arange(0.0, infinity), ShapeError);
  EXPECT_THROW(arange(0.0, std::nan("")), ShapeError);
  EXPECT_THROW(arange(0.0, 1.0, std::nan("")), ShapeError);
  EXPECT_THROW(arange(0.0, 1.0, 1e-300), ShapeError);
  constexpr auto low = std::numeric_limits<std::int64_t>::min();
  EXPECT_THROW(arange<std::int64_t>(low, std::numeric_limits<std::int64_t>::max()), ShapeError);
}

/// What NumPy gives.
TEST(Creation, LinspaceOfHalfPrecisionIsRoundedOnce) {
  using H = Eigen::half;
  using B = Eigen::bfloat16;
  const auto floats = [](const auto& a) { return values(a.template astype<float>()); };
  EXPECT_EQ(floats(linspace(H(0.1f), H(3), 7)),
            (std::vector{0.0999755859375f, 0.58349609375f, 1.06640625f, 1.5498046875f, 2.033203125f,
                         2.517578125f, 3.0f}));
  EXPECT_EQ(
      floats(linspace(B(0.1f), B(3), 7)),
      (std::vector{0.10009765625f, 0.58203125f, 1.0703125f, 1.546875f, 2.03125f, 2.515625f, 3.0f}));
  EXPECT_EQ(floats(linspace<H>(H(-65504), H(65504), 5)),
            (std::vector{-65504.f, -32752.f, 0.f, 32752.f, 65504.f}));
  EXPECT_EQ(floats(linspace(H(0), H(1), 4, {.endpoint = false})),
            (std::vector{0.f, 0.25f, 0.5f, 0.75f}));
}

TEST(Creation, LinspaceReachesItsEnds) {
  const auto a = values(linspace(0.0, 1.0, 11));
  ASSERT_EQ(a.size(), 11u);
  EXPECT_EQ(a.front(), 0.0);
  EXPECT_EQ(a.back(), 1.0);
  for (std::size_t i = 0; i < 11; ++i) EXPECT_DOUBLE_EQ(a[i], double(i) / 10);
  EXPECT_EQ(values(linspace(1.f, 2.f, 4, {.endpoint = false})),
            (std::vector{1.f, 1.25f, 1.5f, 1.75f}));
  EXPECT_EQ(linspace(0.f, 1.f).size(), 50);
  EXPECT_EQ(values(linspace(3.0, 9.0, 1)), (std::vector{3.0}));
  EXPECT_TRUE(values(linspace(3.0, 9.0, 0)).empty());
  EXPECT_THROW(linspace(0.0, 1.0, -1), ShapeError);
}

TEST(Creation, PrintsAsNumPy) {
  const auto text = [](const auto& array) {
    std::ostringstream out;
    out << array;
    return out.str();
  };
  EXPECT_EQ(text(to_device({1, 2, 3})), "[1 2 3]");
  EXPECT_EQ(text(to_device({1.5, -2.0})), "[ 1.5 -2. ]");
  EXPECT_EQ(text(to_device(counted<int>({2, 3})).transpose()), "[[0 3]\n [1 4]\n [2 5]]");
  EXPECT_EQ(text(to_device(counted<int>({4}))(range(_, _, -1))), "[3 2 1 0]");
  EXPECT_EQ(text(zeros<float>({0})), "[]");
  EXPECT_EQ(text(full<bool>({2}, true)), "[ True  True]");
  EXPECT_EQ(text(arange(2000)), "[   0    1    2 ... 1997 1998 1999]");
}

TEST(Creation, PrintsTheCornersOfALargeMatrix) {
  std::ostringstream out;
  out << arange(10000).reshape({100, 100});
  EXPECT_EQ(out.str(),
            "[[   0    1    2 ...   97   98   99]\n"
            " [ 100  101  102 ...  197  198  199]\n"
            " [ 200  201  202 ...  297  298  299]\n"
            " ...\n"
            " [9700 9701 9702 ... 9797 9798 9799]\n"
            " [9800 9801 9802 ... 9897 9898 9899]\n"
            " [9900 9901 9902 ... 9997 9998 9999]]");
}

/// NumPy's order='K' counts the sizes of steps, not their signs.
TEST(Creation, ReversedHostArraysKeepTheOrderOfTheirAxes) {
  const std::vector<int> host{0, 1, 2, 3, 4, 5};
  const test::HostView<const int> rows{host.data() + 5, {2, 3}, {-3, -1}};
  const test::HostView<const int> columns{host.data() + 5, {3, 2}, {-1, -3}};
  EXPECT_TRUE(to_device(rows).is_c_contiguous());
  EXPECT_TRUE(to_device(columns).is_f_contiguous());
  EXPECT_EQ(to_device(rows)(0, 1).item(), 4);
  EXPECT_EQ(to_device(columns)(0, 1).item(), 2);
}

/// Seen from the given stream alone: that of the scope is held.
TEST(Creation, AGivenStreamComesBeforeThatOfTheScope) {
  const Stream given = stream({.non_blocking = true}), scope = stream({.non_blocking = true});
  std::optional<test::Gate> gate;
  // The fake driver holds nothing by itself; a GPU loads kernels when its streams are idle.
  if (test::kind() == test::Kind::cpu) gate.emplace(scope);
  const StreamGuard guard(scope);
  const std::vector<int> host{3, 4, 5};
  const auto seen = [&](const DeviceNDArray<int>& array) {
    std::vector<int> values(3);
    array.copy_to_host(values, given);
    given.synchronize();
    return values;
  };
  EXPECT_EQ(seen(to_device(host, given)), host);
  EXPECT_EQ(seen(to_device(host, ArrayOptions{.stream = given})), host);
  EXPECT_EQ(seen(full<int>({3}, 7, {.stream = given})), (std::vector{7, 7, 7}));
  EXPECT_EQ(seen(arange<int>(3, 6, 1, {.stream = given})), host);
}

TEST(ToDevice, GoesIntoAnArrayThatThereIs) {
  const std::vector<float> host = {1, 2, 3};
  const auto to = zeros<double>({3});
  const auto s = stream();
  EXPECT_EQ(to_device(host, to).device_pointer(), to.device_pointer());
  EXPECT_EQ(values(to), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(to_device(std::vector<float>{4, 5, 6}, to, s).device_pointer(), to.device_pointer());
  s.synchronize();
  EXPECT_EQ(values(to), (std::vector<double>{4, 5, 6}));
  EXPECT_THROW(to_device(host, zeros<float>({2})), ShapeError);
}

TEST(CopyToDevice, TakesArraysOfAnyLayoutAndDevice) {
  const Stream s = stream();
  const auto a = zeros<float>({2, 3});
  const auto from = array<int>({{1, 2, 3}, {4, 5, 6}});
  a.copy_to_device(from(range(_, _, -1)));
  EXPECT_EQ(values(a), (std::vector<float>{4, 5, 6, 1, 2, 3}));
  a.copy_to_device(from.transpose().copy().transpose().bind(s), s);
  s.synchronize();
  EXPECT_EQ(values(a), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  a.copy_to_device(zeros<float>({2, 3}, {.device = Device::cpu()}));
  EXPECT_EQ(values(a), std::vector<float>(6));
  EXPECT_THROW(a.copy_to_device(from.transpose()), ShapeError);
}

TEST(CopyToHost, ReturnsWhatItFilled) {
  const auto a = arange<float>(3);
  std::vector<float> host(3);
  EXPECT_EQ(&a.copy_to_host(host), &host);
  EXPECT_EQ(a.copy_to_host(std::vector<float>(3)), host);
  EXPECT_EQ(a.copy_to_host(host)[2], 2);
}

}  // namespace
}  // namespace quarry
