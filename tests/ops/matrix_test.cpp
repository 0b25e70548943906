// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"
#include "gate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include <Eigen/Core>

/// What the drawn calls of tests/conformance do not show: types, streams, errors.
namespace quarry {
namespace {

using test::values;

TEST(Matrix, TypesAreNumPys) {
  static_assert(std::is_same_v<decltype(eye(2)), DeviceNDArray<double>>);
  static_assert(std::is_same_v<decltype(identity<bool>(2)), DeviceNDArray<bool>>);
  static_assert(std::is_same_v<decltype(tri(2)), DeviceNDArray<double>>);
  const auto bytes = array<std::int8_t>({1, 2, 3});
  static_assert(std::is_same_v<decltype(vander(bytes)), DeviceNDArray<std::int64_t>>);
  static_assert(std::is_same_v<decltype(vander(bytes.astype<float>())), DeviceNDArray<double>>);
  static_assert(std::is_same_v<decltype(tril(bytes))::value_type, std::int8_t>,
                "a lazy expression");
  EXPECT_EQ(values(identity<bool>(2)), (std::vector{true, false, false, true}));
}

TEST(Matrix, ADiagonalIsAViewAndAVectorACopy) {
  const auto m = zeros<int>({2, 2});
  diag(m).fill(3);
  EXPECT_EQ(values(m), (std::vector{3, 0, 0, 3}));
  const auto v = array({1, 2});
  diag(v).fill(0);
  EXPECT_EQ(values(v), (std::vector{1, 2}));
  EXPECT_THROW(diag(zeros<int>({1, 1, 1})), ShapeError);
  EXPECT_THROW(diag(array(1)), ShapeError);
}

TEST(Matrix, StreamsAreThoseOfTheOptions) {
  const Stream given, guarded;
  const StreamGuard guard(guarded);
  EXPECT_EQ(eye(3, 3, 0, {.stream = given}).stream(), given);
  EXPECT_EQ(tri(3, 3, 0, {.stream = given}).stream(), given);
  EXPECT_EQ(indices({2, 2}, {.stream = given}).stream(), given);
  EXPECT_EQ(values(eye<int>(2, 2, 0, {.stream = given})), (std::vector{1, 0, 0, 1}));
}

TEST(Matrix, OffsetsBeyondTheCornersAreNoError) {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  const auto m = ones<int>({2, 2});
  for (const std::int64_t k : {far, -far}) {
    EXPECT_EQ(sum(eye<int>(2, 2, k)).item(), 0);
    EXPECT_EQ(sum(tri<int>(2, 2, k)).item(), k > 0 ? 4 : 0);
    EXPECT_EQ(sum(tril(m, k)).item(), k > 0 ? 4 : 0);
    EXPECT_EQ(sum(triu(m, k)).item(), k > 0 ? 0 : 4);
    EXPECT_EQ(diagonal(m, k).shape(), Shape{0});
  }
  EXPECT_THROW(diagflat(array({1}), std::numeric_limits<std::int64_t>::min()), SizeOverflow);
}

TEST(Matrix, LargeExtentsOfTrianglesOfViews) {
  const auto a = ones<float>({70, 130});
  const auto lower = values(tril(a(range(_, _, -1), range(1, _, 2)), 3));
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = 0; j < 65; ++j) {
      ASSERT_EQ(lower[i * 65 + j], j <= i + 3 ? 1.f : 0.f);
    }
  }
}

TEST(Grids, FunctionsGetCoordinatesOfAnyType) {
  const auto a = fromfunction<int>([](auto i, auto) { return i; }, {3, 2});
  static_assert(std::is_same_v<decltype(a), const DeviceNDArray<int>>);
  EXPECT_EQ(values(a), (std::vector{0, 0, 1, 1, 2, 2}));
  const auto grid = mgrid(linspace(0., 1., 3), range(2));
  static_assert(std::is_same_v<decltype(grid), const DeviceNDArray<double>>);
  EXPECT_EQ(values(grid(0)), (std::vector{0., 0., .5, .5, 1., 1.}));
  EXPECT_EQ(values(mgrid(range(1, 4))), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_THROW(mgrid(range(1, _)), LogicError);
}

TEST(Grids, OfExtentsThatTheElementsCannotHold) {
  const auto check = [](const auto& got, std::int64_t extent) {
    const auto list = values(got);
    using T = typename std::remove_cvref_t<decltype(list)>::value_type;
    ASSERT_EQ(list.size(), static_cast<std::size_t>(extent));
    for (std::int64_t i = 0; i < extent; ++i) {
      ASSERT_EQ(list[std::size_t(i)], static_cast<T>(i)) << i;
    }
  };
  check(indices<std::int8_t>({128}), 128);
  check(indices<std::uint8_t>({256}), 256);
  check(indices<std::uint8_t>({600}), 600);
  check(indices<Eigen::half>({2049}), 2049);
  check(indices<bool>({3}), 3);
  check(eval(fromfunction<std::uint8_t>([](auto x) { return x; }, {256})), 256);
}

TEST(Grids, SpacedByAFactor) {
  const auto near = [](const auto& got, auto want) {
    const auto list = values(got);
    ASSERT_EQ(list.size(), 7u);
    for (std::size_t i = 0; i < 7; ++i) {
      const double expected = want(double(i));
      EXPECT_NEAR(list[i], expected, std::abs(expected) * 1e-6) << i;
    }
  };
  near(logspace(0, 3, 7), [](double i) { return std::pow(10, i / 2); });
  near(logspace(-1.f, 2.f, 7, {.endpoint = false, .base = 2}),
       [](double i) { return std::pow(2, -1 + i * 3 / 7); });
  near(geomspace(2, 128, 7), [](double i) { return std::pow(2, 1 + i); });
  near(geomspace(-128.f, -2.f, 7), [](double i) { return -std::pow(2, 7 - i); });
  near(geomspace(1., 128., 7, {.endpoint = false}), [](double i) { return std::pow(2, i); });
  // every point is converted by the same rule: to the nearest limit
  EXPECT_EQ(values(logspace<std::uint8_t>(0, 3, 4)), (std::vector<std::uint8_t>{1, 10, 100, 255}));
  EXPECT_EQ(values(logspace<std::int32_t>(0, 20, 3)),
            (std::vector<std::int32_t>{1, 2147483647, 2147483647}));
  EXPECT_EQ(values(geomspace<std::uint8_t>(1, 1000, 4)),
            (std::vector<std::uint8_t>{1, 10, 100, 255}));
  EXPECT_EQ(values(geomspace<std::uint8_t>(-1, -100, 3)), (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_EQ(values(geomspace<std::int8_t>(-1, -1000, 4)),
            (std::vector<std::int8_t>{-1, -10, -100, -128}));
  static_assert(std::is_same_v<decltype(geomspace(1, 2)), DeviceNDArray<double>>);
  static_assert(std::is_same_v<decltype(logspace<float>(1, 2)), DeviceNDArray<float>>);
  EXPECT_EQ(geomspace(3., 7., 5)(0).item(), 3.);
  EXPECT_EQ(geomspace(3., 7., 5)(-1).item(), 7.);
  EXPECT_TRUE(std::isnan(geomspace(1., -8., 4)(1).item()));
  EXPECT_EQ(logspace(0, 1, 0).shape(), Shape{0});
  EXPECT_THROW(logspace(0, 1, -1), ShapeError);
  EXPECT_THROW(geomspace(0, 1), LogicError);
}

TEST(Grids, AStreamThatIsGivenTakesPrecedenceOverAGuards) {
  const auto given = stream(), guarded = stream();
  const auto grids = [&] {
    const LogspaceOptions powers{.array = {.stream = given}};
    return std::vector{
        geomspace(-1., -1000., 4, {.array = {.stream = given}}), logspace(0., 3., 4, powers),
        linspace(0., 3., 4, {.array = {.stream = given}}),
        fromfunction([](auto i, auto j) { return i * 10. + j; }, {2, 3}, {.stream = given})};
  };
  grids();  // the first launch of a kernel may wait for what the device runs
  test::Gate gate(given);
  const StreamGuard guard(guarded);
  const auto made = grids();
  for (const auto& array : made) EXPECT_EQ(array.stream(), given);
  gate.open();
  given.synchronize();
  EXPECT_EQ(values(made[0])[3], -1000);
  EXPECT_EQ(values(made[0])[0], -1);
  EXPECT_EQ(values(made[1])[3], 1000);
  EXPECT_EQ(values(made[2]), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(values(made[3]), (std::vector<double>{0, 1, 2, 10, 11, 12}));
}

TEST(Grids, AGridIsInTheStreamOfItsFirstArray) {
  const auto s = stream();
  const auto line = arange<int>(0, 3, 1, {.stream = s});
  EXPECT_EQ(mgrid(line, range(2)).stream(), s);
  EXPECT_EQ(mgrid(range(2), line).stream(), s);
}

}  // namespace
}  // namespace quarry
