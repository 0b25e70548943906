// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <type_traits>

#include "message_of.hpp"

namespace quarry {
namespace {

using test::counted;
using test::Host;
using test::Ints;
using test::message_of;
using test::Random;
using test::read;
using test::Seen;
using test::values;

/// Where `position` is on an axis of `n` elements, by NumPy's documentation of the modes.
template <IndexMode Mode, class I>
std::int64_t resolved(I position, std::int64_t n) {
  using Wide = __int128;
  Wide p = position;
  if (Mode == IndexMode::raise && p < 0) p += n;
  if (Mode == IndexMode::wrap) p = (p % n + n) % n;
  if (Mode == IndexMode::clip) p = p < 0 ? 0 : p >= n ? n - 1 : p;
  return static_cast<std::int64_t>(p);
}

/// A view of drawn shape and layout, of elements that are all different.
template <class T>
Seen<T> drawn(Random& random, std::size_t rank, std::int64_t smallest) {
  Ints shape;
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(random.between(smallest, 7));
  Seen<T> seen{to_device(counted<T>(shape)), test::whole(shape)};
  seen = random.shuffle(seen);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t n = seen.model.shape[d];
    seen = random.cut(seen, d, random.exactly(random.between(std::min(n, smallest), n), n));
  }
  return seen;
}

/// Positions that `Mode` allows on an axis of `n` elements; extreme ones if it allows all.
template <class I, IndexMode Mode>
Host<I> drawn_positions(Random& random, const Ints& shape, std::int64_t n) {
  using Limits = std::numeric_limits<I>;
  Host<I> host(shape);
  for (std::size_t k = 0; k < host.count(); ++k) {
    const std::int64_t low = Mode == IndexMode::raise ? -n : -3 * n;
    const std::int64_t high = Mode == IndexMode::raise ? n - 1 : 3 * n;
    std::int64_t p = random.between(std::is_signed_v<I> ? low : 0, high);
    if (std::is_same_v<I, bool>) p = std::min<std::int64_t>(p, 1);
    host[k] = static_cast<I>(p);
    if (Mode != IndexMode::raise && random.between(0, 9) == 0) {
      host[k] = random.coin() ? Limits::max() : Limits::min();
    }
  }
  return host;
}

/// numpy.take along `axis`.
template <IndexMode Mode, class T, class I>
std::vector<T> expected(const Seen<T>& from, std::size_t axis, const Host<I>& positions) {
  Ints list;
  for (std::size_t k = 0; k < positions.count(); ++k) {
    list.push_back(resolved<Mode>(positions[k], from.model.shape[axis]));
  }
  std::vector<T> result;
  for (const auto at : test::take(from.model, axis, list).at) result.push_back(static_cast<T>(at));
  return result;
}

template <class I, IndexMode Mode, class T>
void check_take(unsigned seed) {
  Random random(seed);
  for (int round = 0; round < (test::kind_is_slow() ? 15 : 200); ++round) {
    const auto rank = static_cast<std::size_t>(random.between(1, 4));
    const Seen<T> from = drawn<T>(random, rank, 1);
    const auto axis = static_cast<std::size_t>(random.between(0, std::int64_t(rank) - 1));
    Ints shape;
    for (auto r = random.between(0, 2); r > 0; --r) shape.push_back(random.between(0, 5));
    const Host<I> host = drawn_positions<I, Mode>(random, shape, from.model.shape[axis]);
    auto positions = to_device(host);
    if (random.coin()) positions = positions.transpose().copy().transpose();
    const auto axis_given = std::int64_t(axis) - (random.coin() ? std::int64_t(rank) : 0);
    const auto result = take<Mode>(from.array, positions, axis_given);
    Ints want = from.model.shape;
    want.erase(want.begin() + std::int64_t(axis));
    want.insert(want.begin() + std::int64_t(axis), shape.begin(), shape.end());
    ASSERT_EQ(result.shape(), test::as_shape(want)) << "round " << round;
    ASSERT_EQ(values(result), (expected<Mode>(from, axis, host)))
        << "round " << round << ", array " << from.array.shape() << " " << from.array.strides()
        << ", axis " << axis << ", positions " << positions;
  }
}

TEST(Take, AlongAnyAxisOfAnyLayout) {
  check_take<std::int64_t, IndexMode::raise, float>(11);
  check_take<std::int32_t, IndexMode::raise, double>(12);
  check_take<std::int8_t, IndexMode::raise, std::int16_t>(13);
  check_take<std::uint8_t, IndexMode::raise, std::int64_t>(14);
}
TEST(Take, WrapsPositions) {
  check_take<std::int64_t, IndexMode::wrap, float>(21);
  check_take<std::uint64_t, IndexMode::wrap, std::int16_t>(22);
  check_take<std::int16_t, IndexMode::wrap, std::uint8_t>(23);
}
TEST(Take, ClipsPositions) {
  check_take<std::int64_t, IndexMode::clip, float>(31);
  check_take<std::uint64_t, IndexMode::clip, double>(32);
  check_take<std::uint16_t, IndexMode::clip, std::int16_t>(33);
  check_take<bool, IndexMode::clip, float>(34);
}

TEST(Take, OfTheFlattenedArrayHasTheShapeOfThePositions) {
  Random random(41);
  for (int round = 0; round < 30; ++round) {
    const Seen<int> from = drawn<int>(random, static_cast<std::size_t>(random.between(1, 3)), 1);
    const auto n = std::int64_t(from.model.at.size());
    const Host<int> host = drawn_positions<int, IndexMode::raise>(random, {2, 5}, n);
    const auto result = take(from.array, to_device(host));
    ASSERT_EQ(result.shape(), Shape({2, 5}));
    std::vector<int> want;
    for (std::size_t k = 0; k < host.count(); ++k) {
      want.push_back(int(from.model.at[std::size_t(resolved<IndexMode::raise>(host[k], n))]));
    }
    ASSERT_EQ(values(result), want) << from.array << to_device(host);
  }
  EXPECT_EQ(values(take(full<float>({}, 3.f), zeros<int>({2}))), std::vector<float>({3, 3}));
  EXPECT_EQ(values(take(full<float>({}, 3.f), zeros<int>({2}), 0)), std::vector<float>({3, 3}));
}

TEST(Take, AlongAnAxisTheOthersBroadcast) {
  Random random(51);
  for (int round = 0; round < (test::kind_is_slow() ? 20 : 200); ++round) {
    const auto rank = static_cast<std::size_t>(random.between(1, 3));
    const Seen<float> from = drawn<float>(random, rank, 1);
    const auto axis = static_cast<std::size_t>(random.between(0, std::int64_t(rank) - 1));
    const std::int64_t n = from.model.shape[axis];
    Ints shape = from.model.shape, want_shape = shape;
    for (std::size_t d = 0; d < rank; ++d) {
      if (d == axis || random.coin()) continue;
      if (shape[d] == 1)
        want_shape[d] = shape[d] = random.between(1, 4);
      else
        shape[d] = 1;
    }
    shape[axis] = want_shape[axis] = random.between(1, 6);
    const Host<int> host = drawn_positions<int, IndexMode::raise>(random, shape, n);
    const auto result = take_along_axis(from.array, to_device(host), std::int64_t(axis));
    ASSERT_EQ(result.shape(), test::as_shape(want_shape));
    std::vector<float> want;
    Ints at(rank, 0);
    for (std::int64_t k = 0; k < result.size(); ++k) {
      std::int64_t in_positions = 0, in_array = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        in_positions = in_positions * shape[d] + (shape[d] == 1 ? 0 : at[d]);
      }
      for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t own =
            d == axis ? resolved<IndexMode::raise>(host[std::size_t(in_positions)], n)
            : from.model.shape[d] == 1 ? 0
                                       : at[d];
        in_array = in_array * from.model.shape[d] + own;
      }
      want.push_back(float(from.model.at[std::size_t(in_array)]));
      for (std::size_t d = rank; d-- > 0 && ++at[d] == want_shape[d];) at[d] = 0;
    }
    ASSERT_EQ(values(result), want) << "round " << round << from.array << " " << to_device(host);
  }
}

TEST(Take, ArgmaxAlongAnAxisTakesTheMaximum) {
  const auto a = arange<float>(60).reshape({3, 4, 5}) * -1.f + 7.f;
  for (int axis = 0; axis < 3; ++axis) {
    const auto best = argmax(a, axis, {.keepdims = true});
    EXPECT_EQ(values(take_along_axis(a, best, axis)), values(max(a, axis)));
  }
}

TEST(Take, IsOneKernelWithWhatStandsAroundIt) {
  const auto table = arange<float>(10) * 10.f;
  const auto kept = eval(table);
  const auto i = to_device(std::vector<short>{3, -1, 0, 3}), j = arange<short>(4);
  EXPECT_EQ(values(take<IndexMode::wrap>(kept, i * 2 + j) + i),
            std::vector<float>({63, 89, 20, 93}));
  EXPECT_EQ(values(sum(take<IndexMode::clip>(kept, i + 7) * 2.f)), std::vector<float>({2 * 310}));
  const auto [doubled, shifted] = eval(take(kept, i) * 2.f, take(kept, j) + i);
  EXPECT_EQ(values(doubled), std::vector<float>({60, 180, 0, 60}));
  EXPECT_EQ(values(shifted), std::vector<float>({3, 9, 20, 33}));
  const auto matrix = arange<float>(12).reshape({3, 4});
  const auto rows = take(matrix, to_device(std::vector<int>{2, 0}), 0);
  EXPECT_EQ(values(sum(rows, 0)), std::vector<float>({8, 10, 12, 14}));
  EXPECT_EQ(values(argmax(rows, 0)), std::vector<std::int64_t>({0, 0, 0, 0}));
  EXPECT_EQ(values(take(take(kept, i), to_device(std::vector<int>{1, -2}))),
            std::vector<float>({90, 0}));
  EXPECT_EQ(values(take(matrix + 1.f, to_device(std::vector<int>{2, 0}), 1)(1)),
            std::vector<float>({7, 5}));
}

TEST(Take, PartOfTheLazyResult) {
  Random random(61);
  for (int round = 0; round < 30; ++round) {
    const Seen<float> from = drawn<float>(random, 2, 1);
    const auto positions = to_device(drawn_positions<int, IndexMode::wrap>(random, {4, 3}, 9));
    const auto e = take<IndexMode::wrap>(from.array, positions, 1) * 2.f;
    const Range r = random.range(4);
    EXPECT_EQ(values(e(all, r)), values(eval(e)(all, r)));
    EXPECT_EQ(values(e(0, 2)), values(eval(e)(0, 2)));
  }
}

TEST(Take, IntoTheArrayItself) {
  const auto a = arange<float>(3000);
  const auto reversed = eval(2999 - arange<int>(3000));
  a(all) = take(a, reversed);
  EXPECT_EQ(values(a), values(2999.f - arange<float>(3000)));
  a(range(5, 15)) = take<IndexMode::wrap>(a, 14 - arange<int>(10));
  EXPECT_EQ(values(a(range(5, 15))), values(arange<float>(10) + 2985.f));
  auto m = eval(arange<float>(6).reshape({2, 3}));
  m += take(m, to_device(std::vector<int>{1, 0}), 0);
  EXPECT_EQ(values(m), std::vector<float>({3, 5, 7, 3, 5, 7}));
}

TEST(Take, ComplexElements) {
  const auto z = (arange<float>(5) * std::complex<float>(1, -2)).astype<std::complex<double>>();
  const std::vector<std::complex<double>> want = {{4, -8}, {0, 0}};
  EXPECT_EQ(values(take(z, to_device(std::vector<int>{-1, 0}))), want);
}

TEST(Take, RunsInTheStreamOfTheArray) {
  const Stream stream;
  const auto a = arange<float>(5).bind(stream);
  const DeviceNDArray<float> c = take<IndexMode::wrap>(a, arange<int>(3) + 4);
  EXPECT_EQ(c.stream(), stream);
  EXPECT_EQ(values(c), std::vector<float>({4, 0, 1}));
}

TEST(Take, ReadOnlyAndMisalignedArrays) {
  const auto a = arange<double>(8);
  const DeviceNDArray<const double> seen = a;
  EXPECT_EQ(values(take(seen, to_device(std::vector<int>{7, 1}))), std::vector<double>({7, 1}));
  const auto bytes = zeros<std::uint8_t>({8 * 9});
  const DeviceNDArray<double> odd(Layout{Shape{8}, Strides{9}}, bytes.device_pointer() + 1,
                                  bytes.buffer());
  odd(all) = a;
  EXPECT_EQ(values(take(odd, to_device(std::vector<int>{7, 1}))), std::vector<double>({7, 1}));
  EXPECT_EQ(values(take(odd, to_device(std::vector<int>{7, 1}), 0)), std::vector<double>({7, 1}));
  EXPECT_EQ(values(take(a, to_device(std::vector<int>{7, 1}), 0) + odd(range(0, 2))),
            std::vector<double>({7, 2}));
}

TEST(Take, RefusesPositionsOutsideWithTheFirstOne) {
  const auto a = arange<float>(12).reshape({3, 4});
  const auto at = [](std::int64_t p) { return to_device(std::vector<std::int64_t>{0, p, 99}); };
  EXPECT_EQ(message_of<IndexError>([&] { take(a, at(4), 1); }),
            "position 4 is outside of axis 1 of extent 4");
  EXPECT_EQ(message_of<IndexError>([&] { take(a, at(-4), 0); }),
            "position -4 is outside of axis 0 of extent 3");
  EXPECT_EQ(message_of<IndexError>([&] { take(a, at(-13) * 1); }),
            "position -13 is outside of axis 0 of extent 12");
  EXPECT_EQ(message_of<IndexError>([&] {
              take_along_axis(a, at(3).reshape({3, 1}), 0);
            }),
            "position 3 is outside of axis 0 of extent 3");
  const auto huge = to_device(std::vector<std::uint64_t>{~std::uint64_t{0}});
  EXPECT_EQ(message_of<IndexError>([&] { take(a, huge); }),
            "position 18446744073709551615 is outside of axis 0 of extent 12");
  EXPECT_THROW(take(a, at(0), 2), ShapeError);
}

TEST(Take, OfAnAxisOfOneElement) {
  const auto column = arange<float>(5).reshape({5, 1});
  EXPECT_EQ(values(take_along_axis(column, zeros<int>({5, 1}), 1)), values(column));
  EXPECT_EQ(values(take(full<float>({1}, 3.f), zeros<int>({1}), 0)), std::vector<float>({3}));
}

TEST(Take, AxesWithoutElements) {
  const auto none = zeros<float>({0, 3});
  const auto no_positions = zeros<int>({0}), one = zeros<int>({1});
  EXPECT_EQ(take(none, no_positions, 0).shape(), Shape({0, 3}));
  EXPECT_TRUE(values(take(none, no_positions, 0)).empty());
  EXPECT_THROW(take(none, one, 0), IndexError);
  EXPECT_THROW(take(zeros<float>({3, 0}), to_device({7}), 0), IndexError);
  EXPECT_EQ(take(zeros<float>({0, 3}), to_device({7}), 1).shape(), Shape({0, 1}));
  EXPECT_EQ(take_along_axis(zeros<float>({3, 0}), array({{7}}), 0).shape(), Shape({1, 0}));
  EXPECT_THROW((take<IndexMode::clip>(none, one, 0)), IndexError);
  EXPECT_EQ(take(none, one, 1).shape(), Shape({0, 1}));
  EXPECT_EQ((take<IndexMode::clip>(zeros<float>({0, 0}), one, 0).shape()), Shape({1, 0}));
  EXPECT_EQ((take<IndexMode::wrap>(zeros<float>({0, 1, 0}), one, 2).shape()), Shape({0, 1, 1}));
  EXPECT_THROW(take(zeros<float>({0, 0}), one, 0), IndexError);
  EXPECT_TRUE(values(take(none, one, 1)).empty());
  EXPECT_THROW(take_along_axis(none, one, 0), ShapeError);
}

}  // namespace
}  // namespace quarry
