// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <type_traits>

#include "message_of.hpp"

/// What the drawn calls of tests/conformance do not show: types, records, streams, errors.
namespace quarry {
namespace {

using test::message_of;
using test::values;

struct Pixel {
  std::uint8_t red, green, blue;
  friend bool operator==(const Pixel&, const Pixel&) = default;
};

TEST(Join, OfArraysInBracesARangeAndATuple) {
  const auto a = array({{1, 2}}), b = array({{3, 4}});
  const std::vector expected{1, 2, 3, 4};
  EXPECT_EQ(values(concatenate({a, b})), expected);
  EXPECT_EQ(values(concatenate(std::vector{a, b})), expected);
  EXPECT_EQ(values(concatenate(std::tuple(a, b))), expected);
  EXPECT_EQ(values(concatenate({a, b}, 1)), expected);
  EXPECT_EQ(values(stack({a, b}, -1)), (std::vector{1, 3, 2, 4}));
  EXPECT_EQ(values(hstack({a, b})), expected);
  EXPECT_EQ(values(vstack({a, b})), expected);
  EXPECT_EQ(dstack({a, b}).shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(column_stack({a, b}).shape(), (Shape{1, 4}));
  EXPECT_EQ(values(concatenate(split(a, 2, 1), 1)), (std::vector{1, 2}));
  EXPECT_EQ(values(block({a, b})), expected);
  EXPECT_EQ(values(block({{a, b}, {b, a}})), (std::vector{1, 2, 3, 4, 3, 4, 1, 2}));
}

/// NumPy's strides, of arrays and of what is computed from them.
TEST(Join, IsInFortranOrderWhereAllPartsAre) {
  const auto a = to_device<std::int32_t>(std::vector<std::int32_t>(6)).reshape({2, 3}).transpose();
  EXPECT_EQ(concatenate({a, a}).strides(), (Strides{4, 24}));
  EXPECT_EQ(concatenate(std::tuple(a + 1, a + 1)).strides(), (Strides{4, 24}));
  EXPECT_EQ(concatenate(std::tuple(a + 1, a.copy())).strides(), (Strides{8, 4}));
  EXPECT_EQ(pad(a + 1, 1).strides(), (Strides{4, 20}));
}

TEST(Join, HasTheCommonType) {
  const auto bytes = array<std::int8_t>({1, 2});
  const auto floats = array({.5f, 1.5f});
  const auto longs = array<std::int64_t>({7});
  static_assert(
      std::is_same_v<decltype(concatenate(std::tie(bytes, floats))), DeviceNDArray<float>>);
  static_assert(std::is_same_v<decltype(hstack(std::tie(floats, longs))), DeviceNDArray<double>>);
  static_assert(
      std::is_same_v<decltype(block(std::tuple(std::tie(bytes, bytes), std::tie(longs, longs)))),
                     DeviceNDArray<std::int64_t>>);
  EXPECT_EQ(values(concatenate(std::tuple(bytes, floats * 2, longs))),
            (std::vector<double>{1, 2, 1, 3, 7}));
  EXPECT_EQ(values(append(bytes, floats)), (std::vector{1.f, 2.f, .5f, 1.5f}));
  const DeviceNDArray<const float> read_only = floats;
  static_assert(std::is_same_v<decltype(stack({read_only, read_only})), DeviceNDArray<float>>);
  EXPECT_EQ(sum(stack({read_only, read_only})).item(), 4.f);
}

TEST(Join, OfRecords) {
  const auto a = full<Pixel>({2, 1}, Pixel{1, 2, 3}), b = full<Pixel>({2, 2}, Pixel{4, 5, 6});
  const auto joined = concatenate({a, b}, 1);
  EXPECT_EQ(joined(1, 0).item(), (Pixel{1, 2, 3}));
  EXPECT_EQ(joined(1, 2).item(), (Pixel{4, 5, 6}));
  EXPECT_EQ(block({{a, b}, {a, b}})(3, 2).item(), (Pixel{4, 5, 6}));
}

TEST(Join, KeepsFortranOrderIfAllPartsHaveIt) {
  const auto f = zeros<int>({3, 4}, {.order = Order::f}), c = zeros<int>({3, 4});
  EXPECT_TRUE(concatenate({f, f}).is_f_contiguous());
  EXPECT_TRUE(concatenate({f, c}).is_c_contiguous());
  EXPECT_TRUE(concatenate({f, f}, std::nullopt).is_c_contiguous());
}

TEST(Join, IsInTheStreamOfTheFirstPart) {
  const Stream stream;
  const auto a = zeros<int>({2}).bind(stream), b = zeros<int>({2});
  EXPECT_EQ(concatenate({a, b}).stream(), stream);
  EXPECT_EQ(stack(std::tuple(a + 1, b)).stream(), stream);
  EXPECT_EQ(block({a, b}).stream(), stream);
}

TEST(Join, OfWhatDoesNotFitNamesTheShapes) {
  const auto a = zeros<int>({2, 3}), b = zeros<int>({2, 4});
  EXPECT_EQ(message_of<LogicError>([&] {
              concatenate({a, b});
            }),
            "shapes (2, 3) and (2, 4) do not join along axis 0");
  EXPECT_EQ(message_of<LogicError>([&] {
              concatenate({a, b}, 2);
            }),
            "axis 2 is out of range for 2 dimensions");
  EXPECT_EQ(message_of<LogicError>([&] { concatenate(std::vector<DeviceNDArray<int>>()); }),
            "a join of no arrays");
  EXPECT_THROW(stack({a, b}), ShapeError);
  EXPECT_THROW(block({{a, b}, {a, a}}), ShapeError);
  EXPECT_THROW(concatenate({array(1), array(2)}), ShapeError);
  EXPECT_EQ(values(concatenate({array(1), array(2)}, std::nullopt)), (std::vector{1, 2}));
}

TEST(Join, OfPartsWithoutElementsAndOfTheHighestRank) {
  const auto none = zeros<int>({0, 3}), some = ones<int>({2, 3});
  EXPECT_EQ(values(concatenate({none, some, none})), std::vector(6, 1));
  EXPECT_EQ(concatenate({none, none}, 1).shape(), (Shape{0, 6}));
  Shape deep;
  deep.assign(max_rank, 1);
  const auto a = full<int>(deep, 4);
  EXPECT_EQ(values(concatenate({a, a}, -1)), (std::vector{4, 4}));
  EXPECT_THROW(stack({a, a}), ShapeError);
}

TEST(Rearranged, Records) {
  const auto a = array({Pixel{1, 2, 3}, Pixel{4, 5, 6}, Pixel{7, 8, 9}});
  const auto at = [](const auto& array, int i) { return array(i).item(); };
  EXPECT_EQ(at(tile(a, 2), 4), at(a, 1));
  EXPECT_EQ(at(repeat(a, 2), 3), at(a, 1));
  EXPECT_EQ(at(repeat(a, {0, 1, 2}), 2), at(a, 2));
  EXPECT_EQ(at(roll(a, 1), 0), at(a, 2));
  EXPECT_EQ(at(delete_(a, 0), 0), at(a, 1));
  EXPECT_EQ(at(insert(a, 1, a(range(2, 3))), 1), at(a, 2));
  EXPECT_EQ(at(insert(a, {0, 3}, a(range(0, 2))), 4), at(a, 1));
  EXPECT_EQ(at(resize(a, {5}), 4), at(a, 1));
  EXPECT_EQ(at(pad(a, 1, {.constant_values = Pixel{9, 9, 9}}), 0), (Pixel{9, 9, 9}));
  EXPECT_EQ(at(pad<PadMode::reflect>(a, 2), 0), at(a, 2));
  const auto column = a.reshape({3, 1})(range(_, _, -1));
  std::vector<std::int64_t> every_third;
  for (std::int64_t i = 0; i < 30; i += 3) every_third.push_back(i);
  EXPECT_EQ(at(delete_(tile(column, {10, 1}), every_third, 0).ravel(), 1), at(a, 0));
}

TEST(Rearranged, WordsOfRecordsAreAsLargeAsTheirAlignment) {
  struct Pair {
    double x;
    int n;
  };
  const auto a = array({Pair{1.5, 2}, Pair{2.5, 3}});
  const auto b = repeat(a, {2, 1});
  EXPECT_EQ(b(1).item().x, 1.5);
  EXPECT_EQ(b(2).item().n, 3);
  static_assert(std::is_same_v<expr::word_of<Pair>, std::uint64_t>);
}

TEST(Rearranged, MoreRunsThanKernelsAreGathered) {
  const auto a = arange(100);
  std::vector<int> even;
  for (int i = 0; i < 100; i += 2) even.push_back(i);
  const auto odd = values(delete_(a, even));
  ASSERT_EQ(odd.size(), 50u);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(odd[i], int(2 * i + 1));
  EXPECT_EQ(values(delete_(a * 2, even))[1], 6);
}

TEST(Rearranged, CountsOfAnArrayAreWaitedFor) {
  const auto a = array({5, 6, 7});
  EXPECT_EQ(values(repeat(a, array({1, 0, 2}))), (std::vector{5, 7, 7}));
  EXPECT_EQ(values(repeat(a, array({1, 1, 1}) + 1)), (std::vector{5, 5, 6, 6, 7, 7}));
}

TEST(Rearranged, NumbersAreInsertedAsTheElementsType) {
  const auto a = array<float>({1, 2});
  const auto b = insert(a, 1, 7);
  static_assert(std::is_same_v<decltype(b), const DeviceNDArray<float>>);
  EXPECT_EQ(values(b), (std::vector{1.f, 7.f, 2.f}));
  EXPECT_EQ(values(insert(a, {0, 2}, 9)), (std::vector{9.f, 1.f, 2.f, 9.f}));
  EXPECT_EQ(values(insert(a, range(0, 2), 9)), (std::vector{9.f, 1.f, 9.f, 2.f}));
}

TEST(Rearranged, FewAndManyValuesAreInsertedBeforeTheirPlaces) {
  constexpr std::int64_t n = 11, columns = 3;
  const auto a = arange<std::int64_t>(n * columns).reshape({n, columns});
  for (const std::int64_t count : {0, 2, 8, 9, 40}) {
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < count; ++k) places.push_back((k * 7 + 3) % (n + 1));
    const auto given = arange<std::int64_t>(count * columns).reshape({count, columns}) + 1000;
    std::vector<std::int64_t> want, want_of_rows;
    for (std::int64_t row = 0; row <= n; ++row) {
      for (std::int64_t k = 0; k < count; ++k) {
        if (places[static_cast<std::size_t>(k)] != row) continue;
        for (std::int64_t c = 0; c < columns; ++c) {
          want.push_back(1000 + k * columns + c);
          want_of_rows.push_back(-1 - c);
        }
      }
      for (std::int64_t c = 0; c < columns && row < n; ++c) {
        want.push_back(row * columns + c);
        want_of_rows.push_back(row * columns + c);
      }
    }
    EXPECT_EQ(values(insert(a, places, given, 0)), want) << count;
    EXPECT_EQ(values(insert(a.T(), places, given.T(), 1).T()), want) << count;
    const auto row = array<std::int64_t>({-1, -2, -3});
    EXPECT_EQ(values(insert(a, places, row, 0)), want_of_rows) << count;
    if (count > 1) {
      EXPECT_THROW(insert(a, places, zeros<int>({count + 1, columns}), 0), ShapeError);
      const auto with_one_more = eval(given).reshape({1, count, columns});
      EXPECT_EQ(values(insert(a, places, with_one_more, 0)), want) << count;
    }
  }
}

TEST(Rearranged, OutsideAndNegativeNumbersAreRefusedWithTheValue) {
  const auto a = arange(3);
  EXPECT_EQ(message_of<LogicError>([&] { delete_(a, 3); }), "position 3 on an axis of extent 3");
  EXPECT_EQ(message_of<LogicError>([&] { insert(a, -4, 0); }),
            "position -4 on an axis of extent 3");
  EXPECT_THROW(insert(a, {0, 4}, 0), IndexError);
  EXPECT_EQ(message_of<LogicError>([&] { repeat(a, {1, 2}); }), "2 counts for an axis of extent 3");
  EXPECT_EQ(message_of<LogicError>([&] { repeat(a, -1); }), "repeated -1 times");
  EXPECT_THROW(tile(zeros<int>({0, 3}), {1, -1}), ShapeError);
  EXPECT_EQ(tile(zeros<int>({0, 3}), {-1, 2}).shape(), Shape({0, 6}));
  EXPECT_EQ(message_of<LogicError>([&] { roll(a, {1, 2, 3}, {0, 0}); }), "3 shifts along 2 axes");
  EXPECT_EQ(message_of<LogicError>([&] { pad(a, -1); }), "pad: widths -1 and -1 of axis 0");
  EXPECT_EQ(message_of<LogicError>([&] {
              pad(a, {{1, 1}, {2, 2}});
            }),
            "pad: 2 pairs for an array of 1 axes");
  EXPECT_EQ(message_of<LogicError>([&] { pad<PadMode::edge>(a(range(0, 0)), 1); }),
            "pad: axis 0 has no elements to pad with");
  EXPECT_THROW((pad<PadMode::mean>(a, 1, {.stat_length = 0})), ShapeError);
  EXPECT_THROW(resize(a, {-1}), ShapeError);
}

TEST(Rearranged, ResultsDoNotShareMemoryAndKeepTheStream) {
  const Stream stream;
  const auto a = arange(4).bind(stream);
  const auto results = std::vector{
      tile(a, 1), repeat(a, 1), roll(a, 0), resize(a, {4}), delete_(a, std::vector<int>()),
      pad(a, 0)};
  for (const auto& r : results) {
    EXPECT_EQ(values(r), values(a));
    EXPECT_NE(r.buffer(), a.buffer());
    EXPECT_EQ(r.stream(), stream);
  }
  EXPECT_EQ(trim_zeros(a).buffer(), a.buffer());
}

TEST(Rearranged, TilesOfTheHighestRank) {
  Shape deep;
  deep.assign(max_rank, 1);
  deep[3] = deep[30] = 2;
  const auto a = arange(4).reshape(deep);
  Shape counts;
  counts.assign(max_rank, 1);
  counts[3] = counts[31] = counts[0] = 2;
  EXPECT_EQ(values(tile(a, counts)), (std::vector{0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3,
                                                  0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(repeat(a, 2, 31).shape()[31], 2);
}

TEST(Rearranged, RepeatsOfTheHighestRank) {
  Shape shape = Shape::filled(32, 1);
  shape[0] = 2, shape[31] = 3;
  const auto a = arange<int>(6).reshape(shape);
  EXPECT_EQ(values(repeat(a, 2, 31)), std::vector<int>({0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(values(repeat(a, 2, 0)), std::vector<int>({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(values(repeat(a, 2, 7)), values(repeat(a, 2, 0)));
  EXPECT_EQ(repeat(a, 2, 7).shape()[7], 2);
}

TEST(Rearranged, PositionsAndValuesInTheFormsThatCallersHave) {
  const auto a = arange<int>(6).reshape({2, 3});
  const auto mask = to_device({true, false, true});
  const std::vector<bool> host_mask = {true, false, true};
  EXPECT_EQ(values(delete_(a, mask, 1)), std::vector<int>({1, 4}));
  EXPECT_EQ(values(delete_(a, host_mask, 1)), std::vector<int>({1, 4}));
  EXPECT_EQ(values(delete_(a, to_device({0, -1}), 1)), std::vector<int>({1, 4}));
  EXPECT_EQ(values(insert(a, mask, 9, 1)), std::vector<int>({9, 0, 1, 9, 2, 9, 3, 4, 9, 5}));
  EXPECT_EQ(values(insert(a, host_mask, 9, 1)), values(insert(a, mask, 9, 1)));
  EXPECT_EQ(values(insert(a, to_device({0, 2}), 9, 1)), values(insert(a, mask, 9, 1)));
  EXPECT_EQ(values(insert(a, 1, std::vector<int>{7, 8, 9}, 0)),
            std::vector<int>({0, 1, 2, 7, 8, 9, 3, 4, 5}));
  EXPECT_THROW(delete_(a, to_device({3}), 1), IndexError);
  EXPECT_EQ(values(append(a, 9)), std::vector<int>({0, 1, 2, 3, 4, 5, 9}));
  EXPECT_EQ(append(a, 0.5).dtype(), dtype_of<double>);
  EXPECT_EQ(values(append(a(0), std::vector<int>{7})), std::vector<int>({0, 1, 2, 7}));
  EXPECT_EQ(values(roll(a, {1, 1})), values(roll(a, 2)));
}

TEST(Rearranged, NoPositionsTakeNoOtherValues) {
  const auto a = arange<int>(6).reshape({2, 3});
  const std::vector<int> none;
  EXPECT_EQ(values(insert(a, none, 7, 1)), values(a));
  EXPECT_EQ(values(insert(a, none, zeros<int>({2, 1}), 1)), values(a));
  EXPECT_THROW(insert(a, none, zeros<int>({5, 1}), 1), ShapeError);
  EXPECT_THROW(insert(a, none, zeros<int>({2, 2}), 1), ShapeError);
}

TEST(Roll, AlongAllOfManyAxes) {
  constexpr int rank = 14;
  Shape shape = Shape::filled(rank, 1);
  Axes axes, shifts;
  for (int d = 0; d < rank; ++d) {
    shape[std::size_t(d)] = d % 4 == 3 ? 3 : 2;
    axes.push_back(d);
    shifts.push_back(d % 3 - 1);
  }
  const auto a = arange<int>(static_cast<int>(element_count(shape))).reshape(shape);
  auto want = a;
  for (int d = 0; d < rank; ++d) want = roll(want, shifts[std::size_t(d)], d);
  EXPECT_EQ(values(roll(a, shifts, axes)), values(want));
  EXPECT_EQ(values(roll(a + 1, shifts, axes)), values(eval(want + 1)));
}

TEST(Roll, OfBlocksThatNoVectorsReach) {
  const std::int64_t n = 1'300'000;
  const auto a = astype<std::uint8_t>(arange<std::int64_t>(n) % 251);
  for (const std::int64_t shift : {1, 6, 8, 650'001}) {
    const std::vector<std::uint8_t> rolled = values(roll(a, shift));
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i)
      wrong += rolled[std::size_t(i)] != (i + n - shift) % n % 251;
    EXPECT_EQ(wrong, 0) << shift;
  }
}

TEST(Pad, MediansOfComplexValuesAreInTheOrderOfTheirParts) {
  using C = std::complex<float>;
  const auto a = to_device(std::vector<C>{{2, 1}, {1, 9}, {2, -1}});
  const auto odd = values(pad<PadMode::median>(a, {1, 0}));
  EXPECT_EQ(odd[0], C(2, -1));
  const auto even = values(pad<PadMode::median>(a(range(2)), {0, 1}));
  EXPECT_EQ(even[2], C(1.5f, 5));
}

TEST(Pad, OfFloats) {
  const auto a = array({1.f, 2.f, 4.f});
  EXPECT_EQ(values(pad<PadMode::mean>(a, {1, 0})), (std::vector{7.f / 3, 1.f, 2.f, 4.f}));
  EXPECT_EQ(values(pad<PadMode::median>(a(range(1, 3)), 1)), (std::vector{3.f, 2.f, 4.f, 3.f}));
  EXPECT_EQ(values(pad<PadMode::linear_ramp>(a, {2, 1}, {.end_values = {0.f, 8.f}})),
            (std::vector{0.f, .5f, 1.f, 2.f, 4.f, 8.f}));
  EXPECT_EQ(values(pad<PadMode::reflect>(array({true, false}), 1)),
            (std::vector{false, true, false, true}));
  EXPECT_EQ(pad<PadMode::empty>(a, 2).shape(), Shape{7});
  EXPECT_TRUE(pad(zeros<int>({2, 3}, {.order = Order::f}), 1).is_f_contiguous());
}

}  // namespace
}  // namespace quarry
