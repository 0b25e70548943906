// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include <quarry/memory/graph.hpp>

#include "message_of.hpp"
#include "ops/drawn_mask.hpp"

/// Selections with a stated size: those without one, and the fill behind them.
namespace quarry {
namespace {

using test::Ints;
using test::Mask;
using test::message_of;
using test::Random;
using test::values;

struct Pair {
  int first;
  float second;
  bool operator==(const Pair&) const = default;
};
QUARRY_RECORD(Pair, first, second);

template <class T>
std::vector<T> padded(std::vector<T> list, std::int64_t count, T fill) {
  list.resize(static_cast<std::size_t>(count), fill);
  return list;
}

/// An array of rank 1 to 3, a mask of its first axes, and a size below, at or above theirs.
struct Drawn {
  explicit Drawn(Random& random)
      : shape(random.shape(static_cast<std::size_t>(random.between(1, 3)), 7)),
        axes(static_cast<std::size_t>(random.between(1, std::int64_t(shape.size())))),
        mask(random, Ints(shape.begin(), shape.begin() + std::ptrdiff_t(axes))),
        size(random.between(0, std::int64_t(mask.list.size()) + 3)),
        a(numbers(random)) {
    for (std::size_t d = axes; d < shape.size(); ++d) row *= shape[d];
  }
  DeviceNDArray<int> numbers(Random& random) const {
    const Shape whole(shape.begin(), shape.end());
    const auto made = arange<int>(element_count(whole)).reshape(whole);
    return random.coin() ? made : made.T().copy().T();
  }
  Ints shape;
  std::size_t axes;
  Mask mask;
  std::int64_t size, row = 1;
  DeviceNDArray<int> a;
};

TEST(Padded, HasTheSelectedElementsFirst) {
  Random random(7);
  for (int round = 0; round < (test::kind_is_slow() ? 25 : 80); ++round) {
    const Drawn drawn(random);
    const auto& [shape, axes, mask, size, row, a] = drawn;
    std::vector<int> kept;
    std::vector<std::int64_t> flat;
    for (std::size_t i = 0; i < mask.list.size(); ++i) {
      if (!mask.list[i]) continue;
      flat.push_back(std::int64_t(i));
      for (std::int64_t k = 0; k < row; ++k) kept.push_back(int(std::int64_t(i) * row + k));
    }
    const auto rows = select(a, mask.array, {.size = size, .fill = -7});
    Shape want = {size};
    for (std::size_t d = axes; d < shape.size(); ++d) want.push_back(shape[d]);
    ASSERT_EQ(rows.shape(), want);
    ASSERT_EQ(values(rows), padded(kept, size * row, -7));
    ASSERT_EQ(values(select(a * 2, mask.array == mask.array, {.size = 1, .fill = 5}).ravel()),
              padded(a.size() > 0 ? values((a * 2)(0)) : std::vector<int>(),
                     axes == shape.size() ? 1 : row, 5))
        << "expressions";
    ASSERT_EQ(values(flatnonzero(mask.array, {.size = size, .fill = -3})),
              padded<std::int64_t>(flat, size, -3));
    const auto along = nonzero(mask.array.astype<float>(), {.size = size});
    const auto places = argwhere(mask.array, {.size = size, .fill = 9});
    ASSERT_EQ(places.shape(), Shape({size, std::int64_t(axes)}));
    ASSERT_EQ(along.size(), axes);
    const auto exact = nonzero(mask.array);
    for (std::size_t d = 0; d < axes; ++d) {
      ASSERT_EQ(values(along[d]), padded<std::int64_t>(values(exact[d]), size, 0));
      ASSERT_EQ(values(places(all, d)), padded<std::int64_t>(values(exact[d]), size, 9));
    }
  }
}

TEST(Padded, SlicesOfAnyAxisAreCompressed) {
  Random random(8);
  for (int round = 0; round < (test::kind_is_slow() ? 25 : 60); ++round) {
    const Drawn drawn(random);
    const auto& a = drawn.a;
    const auto axis = random.between(0, std::int64_t(a.ndim()) - 1);
    const std::int64_t extent = a.shape()[std::size_t(axis)];
    std::vector<char> condition(std::size_t(random.between(0, extent)));
    for (char& c : condition) c = char(random.coin());
    const auto truth = to_device(condition).astype<bool>();
    const auto kept = compress(truth, a, axis);
    const std::int64_t count = kept.shape()[std::size_t(axis)];
    const std::int64_t size = drawn.size;
    const auto got = compress(eval(truth), a, axis, {.size = size, .fill = -1});
    Shape want = a.shape();
    want[std::size_t(axis)] = size;
    ASSERT_EQ(got.shape(), want);
    std::vector<Index> first(a.ndim(), all), last = first;
    first[std::size_t(axis)] = range(std::min(size, count));
    last[std::size_t(axis)] = range(std::min(size, count), _);
    ASSERT_EQ(values(got(first)), values(kept(first)));
    ASSERT_TRUE(all_of(got(last) == -1).item());
    ASSERT_EQ(values(extract(a > 3, a, {.size = size, .fill = -1})),
              padded(values(extract(a > 3, a)), size, -1));
  }
}

TEST(Padded, CanBeCapturedAndFollowsTheMaskOfEachLaunch) {
  constexpr std::int64_t n = 5000;
  const auto a = arange<float>(n);
  const auto limit = full<float>({}, 0.f);
  const auto chosen = zeros<float>({100}), rows = zeros<float>({3, 2});
  const auto places = zeros<std::int64_t>({4, 2});
  const auto matrix = a(range(40)).reshape({20, 2});
  const Graph graph = capture([&] {
    chosen(all) = select(a, a >= limit, {.size = 100, .fill = -1.f});
    rows(all) = select(matrix, matrix(all, 0) >= limit, {.size = 3, .fill = -2.f});
    places(all) = argwhere(matrix >= limit, {.size = 4, .fill = -3});
  });
  for (const std::int64_t from : {4990, 10, 37, 4999, 0, 5000, 36}) {
    limit.fill(float(from));
    graph();
    std::vector<float> want, want_rows;
    std::vector<std::int64_t> want_places;
    for (std::int64_t i = from; i < n; ++i) want.push_back(float(i));
    for (std::int64_t i = (from + 1) / 2; i < 20; ++i) {
      want_rows.insert(want_rows.end(), {float(2 * i), float(2 * i + 1)});
    }
    for (std::int64_t i = from; i < 40; ++i) want_places.insert(want_places.end(), {i / 2, i % 2});
    EXPECT_EQ(values(chosen), padded(want, 100, -1.f));
    EXPECT_EQ(values(rows), padded(want_rows, 6, -2.f));
    EXPECT_EQ(values(places), padded<std::int64_t>(want_places, 8, -3));
  }
}

TEST(Padded, HasElementsOfEveryKind) {
  const auto mask = to_device({false, true, true});
  EXPECT_EQ(
      values(select(to_device(std::vector<std::int8_t>{1, 2, 3}), mask, {.size = 4, .fill = -8})),
      (std::vector<std::int8_t>{2, 3, -8, -8}));
  EXPECT_EQ(values(select(mask, mask, {.size = 3, .fill = false})),
            (std::vector<bool>{true, true, false}));
  using C = std::complex<double>;
  EXPECT_EQ(values(select(to_device(std::vector<C>{{1, 2}, {3, 4}, {5, 6}}), mask,
                          {.size = 3, .fill = C(0, 1)})),
            (std::vector<C>{{3, 4}, {5, 6}, {0, 1}}));
  EXPECT_EQ(values(select(full<float>({}, 3.f), full<bool>({}, true), {.size = 2, .fill = 1.f})),
            (std::vector<float>{3, 1}));
  const auto none = zeros<float>({0, 2});
  EXPECT_EQ(values(select(none, zeros<bool>({0}), {.size = 1, .fill = 6.f})),
            (std::vector<float>{6, 6}));
  EXPECT_EQ(select(none, zeros<bool>({0, 2}), {.size = 0}).shape(), Shape({0}));
  EXPECT_EQ(values(select(ones<float>({3}), zeros<bool>({0}), {.size = 1, .fill = 6.f})),
            (std::vector<float>{6}));
}

TEST(Padded, TakesRecordsConstArraysAndMasksWithoutAxes) {
  const std::vector<Pair> pairs = {{1, 1.f}, {2, 2.f}, {3, 3.f}};
  const auto records = to_device(pairs);
  const auto mask = to_device({true, false, true});
  std::vector<Pair> kept(4);
  select(records, mask, {.size = 4, .fill = {-1, -2.f}}).copy_to_host(kept);
  EXPECT_EQ(kept, (std::vector<Pair>{{1, 1.f}, {3, 3.f}, {-1, -2.f}, {-1, -2.f}}));
  const DeviceNDArray<const float> a = arange<float>(3);
  EXPECT_EQ(values(select(a, mask, {.size = 3, .fill = 9.f})), (std::vector<float>{0, 2, 9}));
  for (const bool truth : {false, true}) {
    const auto whole = select(a, full<bool>({}, truth), {.size = 2, .fill = 7.f});
    EXPECT_EQ(whole.shape(), Shape({2, 3}));
    EXPECT_EQ(values(whole),
              truth ? (std::vector<float>{0, 1, 2, 7, 7, 7}) : std::vector<float>(6, 7));
  }
  EXPECT_EQ(values(compress(std::vector<bool>{true, false, true}, std::as_const(a),
                            {.size = mask.shape().size() + 1, .fill = 4.f})),
            (std::vector<float>{0, 2}));
}

TEST(Padded, RefusesWhatDoesNotFit) {
  const auto a = arange<int>(6).reshape({2, 3});
  EXPECT_EQ(message_of<ShapeError>([&] { select(a, a > 0, {.size = -1}); }),
            "a selection of -1 elements");
  EXPECT_EQ(message_of<ShapeError>([&] { compress(to_device({true}), a, 1, {.size = -2}); }),
            "a selection of -2 elements");
  EXPECT_THROW(select(a, zeros<bool>({2, 4}), {.size = 1}), IndexError);
  EXPECT_THROW(select(a, zeros<bool>({2, 3, 1}), {.size = 1}), IndexError);
  EXPECT_EQ(message_of<IndexError>([&] {
              compress(to_device({false, false, false}), a, 0, {.size = 1});
            }),
            "a condition of 3 elements along axis 0 of extent 2");
  EXPECT_THROW(compress(a > 0, a, 0, {.size = 1}), ShapeError);
  EXPECT_THROW(compress(to_device({true}), a, 2, {.size = 1}), ShapeError);
  EXPECT_THROW(nonzero(full<int>({}, 1), {.size = 1}), ShapeError);
}

}  // namespace
}  // namespace quarry
