// SPDX-License-Identifier: BSD-3-Clause
#include "ops/drawn_mask.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace quarry {
namespace {

using test::Ints;
using test::Mask;
using test::Random;
using test::values;

TEST(Nonzero, has_the_positions_along_every_axis) {
  Random random(4);
  for (int round = 0; round < (test::kind_is_slow() ? 25 : 80); ++round) {
    const Ints shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 9);
    const Mask mask(random, shape);
    std::vector<std::vector<std::int64_t>> want(shape.size());
    std::vector<std::int64_t> flat, rows;
    for (std::size_t i = 0; i < mask.list.size(); ++i) {
      if (!mask.list[i]) continue;
      auto rest = static_cast<std::int64_t>(i);
      flat.push_back(rest);
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
        want[d].push_back(rest % shape[d]);
      }
      for (auto& axis : want) rows.push_back(axis.back());
    }
    const auto numbers = mask.array.astype<float>() * 2.5f;
    ASSERT_EQ(values(flatnonzero(numbers)), flat);
    const auto found = nonzero(mask.array);
    ASSERT_EQ(found.size(), shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) ASSERT_EQ(values(found[d]), want[d]);
    const auto where = argwhere(mask.array);
    ASSERT_EQ(where.shape(), (Shape{mask.count(), std::int64_t(shape.size())}));
    ASSERT_EQ(values(where), rows);
    ASSERT_EQ(count_nonzero(numbers).item(), mask.count());
  }
  EXPECT_THROW(nonzero(zeros<int>({})), ShapeError);
  EXPECT_EQ(argwhere(ones<int>({})).shape(), (Shape{1, 0}));
  EXPECT_EQ(values(count_nonzero(arange<int>(6).reshape({2, 3}), 1)),
            (std::vector<std::int64_t>{2, 3}));
}

TEST(Selections, are_what_shape_functions_take) {
  const auto a = arange<int>(12).reshape({4, 3});
  const auto mask = to_device({true, false, true, true});
  const auto rows = a(mask);
  const auto few = a(a > 8);
  const auto want = eval(rows), want_few = eval(few);
  const auto check = [&](const auto& f) {
    EXPECT_EQ(values(f(rows)), values(f(want)));
    EXPECT_EQ(f(rows).shape(), f(want).shape());
  };
  const auto check_few = [&](const auto& f) {
    EXPECT_EQ(values(f(few)), values(f(want_few)));
    EXPECT_EQ(f(few).shape(), f(want_few).shape());
  };
  check([](const auto& x) { return flip(x, 0); });
  check([](const auto& x) { return transpose(x); });
  check([](const auto& x) { return rot90(x); });
  check([](const auto& x) { return diagonal(x); });
  check([](const auto& x) { return swapaxes(x, 0, 1); });
  check([](const auto& x) { return split(x, 3)[1]; });
  check([](const auto& x) { return roll(x, {1, 1}, {0, 1}); });
  check([](const auto& x) { return tile(x, {2, 1}); });
  check([](const auto& x) { return repeat(x, 2, 0); });
  check([](const auto& x) { return repeat(x, {2, 0, 1}, 0); });
  check([](const auto& x) { return pad(x, 1); });
  check([](const auto& x) { return pad<PadMode::mean>(x, 1); });
  check([](const auto& x) { return delete_(x, 1, 0); });
  check([](const auto& x) { return insert(x, 1, 7, 1); });
  check([](const auto& x) { return concatenate(std::tuple(x, x), 1); });
  check([](const auto& x) { return concatenate(std::vector(2, x)); });
  check([](const auto& x) { return hstack(std::tuple(x, x)); });
  check([](const auto& x) { return block(std::tuple(x, x + 1)); });
  check([](const auto& x) { return tril(x); });
  check([](const auto& x) { return take(x, to_device({1, 0}), 1); });
  check_few([](const auto& x) { return expand_dims(x, 1); });
  check_few([](const auto& x) { return flip(x); });
  check_few([](const auto& x) { return roll(x, 1); });
  check_few([](const auto& x) { return append(x, x); });
  check_few([](const auto& x) { return stack(std::tuple(x, x)); });
  check_few([](const auto& x) { return concatenate(std::tuple(x, x), std::nullopt); });
  check_few([](const auto& x) { return broadcast_to(x, {2, 3}); });
  check_few([](const auto& x) { return sliding_window_view(x, 2); });
  check_few([](const auto& x) { return resize(x, {2, 2}); });
  check_few([](const auto& x) { return trim_zeros(x - 9); });
  check_few([](const auto& x) { return diagflat(x); });
  check_few([](const auto& x) { return diag(x); });
  check_few([](const auto& x) { return vander(x); });
  check_few([](const auto& x) { return zeros_like(x); });
}

TEST(Compress, takes_slices_along_an_axis) {
  const auto a = arange<int>(12).reshape({3, 4});
  const auto condition = to_device({1, 0, 1});
  EXPECT_EQ(values(compress(condition, a, 0)), (std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(values(compress(condition, a, 1)), (std::vector<int>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(compress(condition, a * 2, -1).shape(), (Shape{3, 2}));
  EXPECT_EQ(values(compress(condition, a)), (std::vector<int>{0, 2}));
  EXPECT_EQ(values(compress(to_device({1, 0, 1, 0, 0}), a, 0)),
            (std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_THROW(compress(to_device({1, 0, 1, 0, 1}), a, 0), IndexError);
  EXPECT_THROW(compress(a, a, 0), ShapeError);
  EXPECT_THROW(compress(condition, a, 2), Error);
  EXPECT_EQ(values(extract(a % 5 == 0, a)), (std::vector<int>{0, 5, 10}));
  EXPECT_EQ(values(extract(a > 9, arange<int>(12))), (std::vector<int>{10, 11}));
  const auto one = compress(to_device({true}), full<int>({}, 5), 0);
  EXPECT_EQ(one.shape(), Shape({1}));
  EXPECT_EQ(one.item(), 5);
  EXPECT_EQ(compress(to_device({false}), full<int>({}, 5), -1).size(), 0);
  EXPECT_THROW(compress(to_device({true}), full<int>({}, 5), 1), ShapeError);
}

TEST(Place, repeats_the_values) {
  auto a = arange<int>(6).reshape({2, 3});
  place(a, a > 1, to_device({44, 55}));
  EXPECT_EQ(values(a), (std::vector<int>{0, 1, 44, 55, 44, 55}));
  place(a, a > 1, to_device({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(values(a), (std::vector<int>{0, 1, 1, 2, 3, 4}));
  EXPECT_THROW(place(a, a > 1, zeros<int>({0})), ShapeError);
  place(a, a > 100, zeros<int>({0}));
  EXPECT_THROW(place(a, zeros<bool>({5}), to_device({1})), ShapeError);
  auto b = arange<int>(5);
  putmask(b, b > 1, to_device({-33, -44}));
  EXPECT_EQ(values(b), (std::vector<int>{0, 1, -33, -44, -33}));
  putmask(b, b < 0, b * b);
  EXPECT_EQ(values(b), (std::vector<int>{0, 1, 1089, 1936, 1089}));
  auto c = zeros<float>({2, 3});
  copyto(c, to_device({1, 2, 3}), to_device({true, false, true}));
  EXPECT_EQ(values(c), (std::vector<float>{1, 0, 3, 1, 0, 3}));
  copyto(c, ones<float>({3}));
  EXPECT_EQ(values(c), std::vector<float>(6, 1.f));
  copyto(c, 2, array({{false, true, false}}));
  EXPECT_EQ(values(c), (std::vector<float>{1, 2, 1, 1, 2, 1}));
  copyto(c, 3.f);
  EXPECT_EQ(values(c), std::vector<float>(6, 3.f));
  EXPECT_THROW(copyto(c, ones<float>({2}), ones<bool>({3})), ShapeError);
  const auto d = arange<int>(4);
  place(d, d > 1, -1);
  EXPECT_EQ(values(d), (std::vector<int>{0, 1, -1, -1}));
  place(d, d < 0, std::vector<int>{5, 6, 7});
  putmask(d, d == 1, 8);
  EXPECT_EQ(values(d), (std::vector<int>{0, 8, 5, 6}));
  putmask(d, d > 5, std::vector<int>{1, 2});
  EXPECT_EQ(values(d), (std::vector<int>{0, 2, 5, 2}));
}

}  // namespace
}  // namespace quarry
