// SPDX-License-Identifier: BSD-3-Clause
#include "ops/drawn_mask.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>

#include <Eigen/Core>

namespace quarry {
namespace {

using test::Host;
using test::Ints;
using test::Mask;
using test::Random;
using test::Seen;
using test::values;

struct Point {
  float x;
  std::int32_t id;
  double weight;
  bool operator==(const Point&) const = default;
};
struct Odd {
  char bytes[3];
  bool operator==(const Odd&) const = default;
};

template <class T>
T element(std::int64_t i) {
  if constexpr (std::is_same_v<T, Point>) {
    return {float(i), std::int32_t(-i), double(i) / 2};
  } else if constexpr (std::is_same_v<T, Odd>) {
    return {{char(i), char(i / 100), char(i % 7)}};
  } else {
    return static_cast<T>(static_cast<float>(i % 120));
  }
}

/// An array of these elements in any layout.
template <class T>
Seen<T> draw(Random& random, const Ints& shape) {
  const bool is_sliced = random.coin();
  Ints base = shape;
  if (is_sliced) {
    for (auto& extent : base) extent = extent * 2 + random.between(0, 2);
  }
  Host<T> host(base);
  for (std::size_t i = 0; i < host.count(); ++i) host[i] = element<T>(static_cast<std::int64_t>(i));
  Seen<T> seen{to_device(host), test::whole(base)};
  if (!is_sliced) return seen;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    seen = random.cut(seen, d, random.exactly(shape[d], base[d]));
  }
  return seen;
}
template <class T>
std::vector<T> elements(const Seen<T>& seen) {
  std::vector<T> list;
  for (const std::int64_t at : seen.model.at) list.push_back(element<T>(at));
  return list;
}

/// A shape and how many of its first axes a mask has.
struct Axes2 {
  Ints shape;
  std::size_t masked;
  explicit Axes2(Random& random) {
    switch (random.between(0, 4)) {
      case 0:
        shape = {random.between(0, 3) * 4096 + random.between(-1, 1)};
        if (shape[0] < 0) shape[0] = 0;
        break;
      case 1:
        shape = {random.between(1, 20'000)};
        break;
      default:
        shape = random.shape(static_cast<std::size_t>(random.between(0, 4)), 12);
    }
    masked = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(shape.size())));
  }
  Ints mask() const { return Ints(shape.begin(), shape.begin() + std::ptrdiff_t(masked)); }
  Ints row() const { return Ints(shape.begin() + std::ptrdiff_t(masked), shape.end()); }
  std::size_t row_size() const { return Host<char>(row()).count(); }
  Shape result(std::int64_t count) const {
    Shape shape{count};
    for (const std::int64_t extent : row()) shape.push_back(extent);
    return shape;
  }
};

int rounds() { return test::kind_is_slow() ? 25 : 80; }

template <class T>
class Selection : public ::testing::Test {};
using Types = ::testing::Types<bool, std::uint8_t, std::int16_t, Eigen::half, float, std::int64_t,
                               std::complex<double>, Point, Odd>;
TYPED_TEST_SUITE(Selection, Types);

TYPED_TEST(Selection, has_the_elements_and_rows_where_the_mask_is_true) {
  using T = TypeParam;
  Random random(1);
  for (int round = 0; round < rounds(); ++round) {
    const Axes2 axes(random);
    const Seen<T> seen = draw<T>(random, axes.shape);
    const Mask mask(random, axes.mask());
    const std::vector<T> all = elements(seen);
    std::vector<T> want;
    for (std::size_t i = 0; i < mask.list.size(); ++i) {
      const auto row = all.begin() + std::ptrdiff_t(i * axes.row_size());
      if (mask.list[i]) want.insert(want.end(), row, row + std::ptrdiff_t(axes.row_size()));
    }
    const auto lazy = seen.array(mask.array);
    const DeviceNDArray<T> got = lazy;
    ASSERT_EQ(got.shape(), axes.result(mask.count())) << "round " << round;
    ASSERT_EQ(lazy.shape(), got.shape()) << "round " << round;
    ASSERT_EQ(lazy.ndim(), got.ndim());
    ASSERT_TRUE(got.is_c_contiguous());
    ASSERT_EQ(values(got), want) << "round " << round << " of shape " << seen.array.shape();
  }
}

TYPED_TEST(Selection, takes_one_value_or_a_row_for_all) {
  using T = TypeParam;
  Random random(2);
  for (int round = 0; round < rounds(); ++round) {
    const Axes2 axes(random);
    const Seen<T> seen = draw<T>(random, axes.shape);
    const Mask mask(random, axes.mask());
    std::vector<T> want = elements(seen);
    const bool with_row = random.coin();
    const Seen<T> row = draw<T>(random, axes.row());
    const std::vector<T> of_row = elements(row);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (mask.list[i / axes.row_size()]) {
        want[i] = with_row ? of_row[i % axes.row_size()] : element<T>(77);
      }
    }
    if (with_row) {
      seen.array(mask.array) = row.array;
    } else {
      seen.array(mask.array) = element<T>(77);
    }
    ASSERT_EQ(values(seen.array), want) << "round " << round << " of shape " << seen.array.shape();
  }
}

TYPED_TEST(Selection, takes_a_value_for_each_in_order) {
  using T = TypeParam;
  Random random(3);
  for (int round = 0; round < rounds(); ++round) {
    const Axes2 axes(random);
    const Seen<T> seen = draw<T>(random, axes.shape);
    const Mask mask(random, axes.mask());
    const Shape shape = axes.result(mask.count());
    const Seen<T> given = draw<T>(random, Ints(shape.begin(), shape.end()));
    std::vector<T> want = elements(seen);
    const std::vector<T> in_order = elements(given);
    std::size_t next = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (mask.list[i / axes.row_size()]) want[i] = in_order[next++];
    }
    seen.array(mask.array) = given.array;
    ASSERT_EQ(values(seen.array), want) << "round " << round << " of shape " << seen.array.shape();
    ASSERT_EQ(values(seen.array(mask.array)), in_order);
  }
}

/// Many short rows, few of them, and long ones, which a GPU selects in different ways.
TYPED_TEST(Selection, of_rows_is_the_same_however_many_there_are) {
  using T = TypeParam;
  Random random(4);
  for (const Ints& shape :
       {Ints{70'001, 3}, Ints{300, 220, 2}, Ints{5000, 129}, Ints{90, 10'007}}) {
    const bool is_of_two_axes = shape.size() == 3, has_gaps = random.coin();
    const Ints whole(shape.begin(), shape.end() - 1);
    Ints rows = whole;
    if (has_gaps) rows.back() *= 2;
    Host<T> host(shape);
    for (std::size_t i = 0; i < host.count(); ++i) host[i] = element<T>(std::int64_t(i));
    const Seen<T> seen{to_device(host), test::whole(shape)};
    const Mask mask(random, rows);
    DeviceNDArray<bool> chosen = mask.array;
    if (has_gaps) chosen = is_of_two_axes ? chosen(all, range(0, _, 2)) : chosen(range(0, _, 2));
    std::vector<T> kept, ones = elements(seen);
    const auto columns = static_cast<std::size_t>(shape.back());
    for (std::size_t i = 0; i < ones.size(); ++i) {
      if (!mask.list[i / columns * (has_gaps ? 2 : 1)]) continue;
      kept.push_back(ones[i]);
      ones[i] = element<T>(1);
    }
    ASSERT_EQ(values(seen.array(chosen)), kept) << seen.array.shape();
    seen.array(chosen) = element<T>(1);
    ASSERT_EQ(values(seen.array), ones) << seen.array.shape();
  }
}

TEST(Selections, are_expressions_of_expressions) {
  const DeviceNDArray<float> a = arange<float>(5000), b = a * 2.f + 1.f;
  EXPECT_EQ(values(eval((a * b)(a > 4997.f))), (std::vector<float>{4998.f * 9997, 4999.f * 9999}));
  EXPECT_EQ(values(a(a < 3.f) * 2.f), (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(sum(a(a < 10.f)).item(), 45.f);
  EXPECT_EQ(a(a < 10.f).mean().item(), 4.5f);
  EXPECT_EQ(values(a[a < 2.f](range(1, _))), (std::vector<float>{1}));
  EXPECT_EQ(values(a(a < 2.f).astype<int>()), (std::vector<int>{0, 1}));
}

TEST(Selections, are_updated_in_place) {
  auto a = arange<int>(10);
  a(a % 2 == 0) += 100;
  EXPECT_EQ(values(a), (std::vector<int>{100, 1, 102, 3, 104, 5, 106, 7, 108, 9}));
  a(a > 50) -= arange<int>(5);
  EXPECT_EQ(values(a), (std::vector<int>{100, 1, 101, 3, 102, 5, 103, 7, 104, 9}));
  a(a < 50) *= a(a < 50);
  EXPECT_EQ(values(a), (std::vector<int>{100, 1, 101, 9, 102, 25, 103, 49, 104, 81}));
  auto m = zeros<float>({3, 2});
  m(arange<int>(3) > 0) += to_device({1.f, 2.f});
  EXPECT_EQ(values(m), (std::vector<float>{0, 0, 1, 2, 1, 2}));
}

TEST(Selections, leave_what_is_beside_them_and_round_the_view) {
  Random random(11);
  for (int round = 0; round < 30; ++round) {
    const std::int64_t rows = random.between(1, 5), columns = random.between(1, 300),
                       from = random.between(0, columns - 1), to = random.between(from, columns);
    auto a =
        arange<std::int16_t>(static_cast<std::int16_t>(rows * columns)).reshape({rows, columns});
    const Mask mask(random, {rows, to - from});
    std::vector<std::int16_t> want = values(a);
    for (std::size_t i = 0; i < mask.list.size(); ++i) {
      const auto row = std::int64_t(i) / (to - from), column = from + std::int64_t(i) % (to - from);
      std::int16_t& element = want[std::size_t(row * columns + column)];
      if (mask.list[i]) element = std::int16_t(-element - 1);
    }
    const auto view = a(all, range(from, to));
    copyto(view, -view - 1, mask.array);
    ASSERT_EQ(values(a), want) << "round " << round << " of " << to - from << " columns";
  }
}

TEST(Selections, that_overlap_are_as_with_a_temporary) {
  auto a = arange<int>(20'000);
  const auto want = [](int i) { return i > 0 && (i - 1) % 3 == 0 ? 19'999 - i : i; };
  std::vector<int> list;
  for (int i = 0; i < 20'000; ++i) list.push_back(want(i));
  a(a % 3 == 1) = a(range(_, _, -1))(a % 3 == 1);
  EXPECT_EQ(values(a), list);

  auto b = arange<int>(20'000);
  copyto(b, b(range(_, _, -1)), b % 3 == 1);
  EXPECT_EQ(values(b), list);

  auto c = to_device({true, false, true, true});
  c(c) = to_device({false, true, false});
  EXPECT_EQ(test::read(c).list(), (std::vector<bool>{false, false, true, false}));
  auto d = arange<int>(12).reshape({4, 3});
  d(d(all, 0) > 0) = d(0);
  EXPECT_EQ(values(d), (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(Selections, of_other_shapes_are_refused_with_both) {
  auto a = zeros<int>({4, 3});
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const IndexError& e) {
      return e.what();
    } catch (const ShapeError& e) {
      return std::string("ShapeError: ") + e.what();
    }
    return "";
  };
  EXPECT_EQ(message([&] { eval(a(zeros<bool>({3}))); }),
            "boolean index did not match indexed array along axis 0; size of axis is 4 but size of "
            "corresponding boolean axis is 3");
  EXPECT_EQ(message([&] {
              eval(a(zeros<bool>({4, 1})));
            }),
            "boolean index did not match indexed array along axis 1; size of axis is 3 but size of "
            "corresponding boolean axis is 1");
  EXPECT_EQ(message([&] {
              a(zeros<bool>({4, 3, 1})) = 1;
            }),
            "a mask of shape (4, 3, 1) has more axes than the array, of shape (4, 3)");
  const auto mask = to_device({true, false, true, true});
  EXPECT_EQ(message([&] {
              a(mask) = zeros<int>({2, 3});
            }),
            "ShapeError: cannot assign values for 2 places to the 3 where the mask is true");
  EXPECT_EQ(message([&] { a(a == 0) = zeros<int>({11}); }),
            "ShapeError: cannot assign values for 11 places to the 12 where the mask is true");
  EXPECT_NE(message([&] { a(mask) = zeros<int>({2}); }), "");
  const auto rows = zeros<int>({4, 0});
  rows(mask) = zeros<int>({3, 0});
  EXPECT_EQ(message([&] {
              rows(mask) = zeros<int>({2, 0});
            }),
            "ShapeError: cannot assign values for 2 places to the 3 where the mask is true");
  EXPECT_EQ(message([&] {
              a(mask) += ones<int>({1, 3, 3});
            }),
            "ShapeError: values of shape (1, 3, 3) have more axes than the 2 of the elements");
  EXPECT_NE(message([&] { a(a == 0) += ones<int>({1, 12}); }), "");
  EXPECT_NE(message([&] { a(mask) -= ones<int>({1, 1, 1}); }), "");
  EXPECT_EQ(sum(a).item(), 0);
}

/// An axis of a mask that has no extent goes with any of the array, as in NumPy.
TEST(Selections, by_masks_without_elements_are_empty) {
  const auto a = arange<int>(15).reshape({5, 3});
  const auto none = [](const Shape& shape) { return zeros<bool>(shape); };
  EXPECT_EQ(eval(a(none({0}))).shape(), (Shape{0, 3}));
  EXPECT_EQ(eval(a(none({0, 3}))).shape(), (Shape{0}));
  EXPECT_EQ(eval(a(none({5, 0}))).shape(), (Shape{0}));
  EXPECT_EQ(eval((a + 1)(none({0}))).shape(), (Shape{0, 3}));
  EXPECT_EQ(eval(a(all, none({0}))).shape(), (Shape{5, 0}));
  EXPECT_EQ(eval(a(none({0}), 1)).shape(), (Shape{0}));
  EXPECT_THROW(eval(a(none({0, 2}))), IndexError);
  EXPECT_THROW(eval(a(all, none({2}))), IndexError);
  a(none({0})) = 7;
  a(none({0})) = zeros<int>({0, 3});
  a(none({0, 3})) = zeros<int>({1});
  a(none({5, 0})) += 1;
  EXPECT_THROW(a(none({0, 3})) = zeros<int>({2}), ShapeError);
  EXPECT_EQ(values(a), values(arange<int>(15)));
}

TEST(Selections, keep_no_more_memory_than_they_need) {
  const auto a = arange<float>(1 << 20);
  const auto most = [&](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
  const DeviceNDArray<float> few = a(a < 1000.f), many = a(a >= 1000.f), none = a(a < 0.f);
  EXPECT_EQ(few.buffer()->bytes(), most(1000));
  const bool is_shrinkable = DeviceNDArray<float>(Shape{8}).buffer()->shrink(4);
  EXPECT_EQ(many.buffer()->bytes(), most((1 << 20) - (is_shrinkable ? 1000 : 0)));
  EXPECT_EQ(none.buffer()->bytes(), 0u);
  EXPECT_EQ(values(few).back(), 999.f);
  EXPECT_TRUE(expr::is_counted_first(std::size_t{1} << 30, std::size_t{1} << 32));
  EXPECT_FALSE(expr::is_counted_first(std::size_t{1} << 30, std::size_t{1} << 34));
  EXPECT_FALSE(expr::is_counted_first(std::size_t{1} << 28, 0));
}

TEST(Selections, are_taken_of_read_only_arrays_and_broadcast_masks) {
  const DeviceNDArray<const int> a = arange<int>(6).reshape({2, 3}).broadcast_to({2, 3});
  EXPECT_EQ(values(eval(a(a > 2))), (std::vector<int>{3, 4, 5}));
  const auto mask = to_device({true, false, true}).broadcast_to({2, 3});
  EXPECT_EQ(values(eval(a(mask))), (std::vector<int>{0, 2, 3, 5}));
}

TEST(Selections, of_bools_of_the_host) {
  const auto a = arange<int>(6).reshape({3, 2});
  const std::vector<bool> mask = {true, false, true};
  EXPECT_EQ(values(a(mask)), (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(values(a(mask, 1)), (std::vector<int>{1, 5}));
  EXPECT_EQ(values(compress(mask, a, 0)), (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(values(compress(std::vector<bool>{false, true}, a)), (std::vector<int>{1}));
  a(mask) = -1;
  a(std::vector<bool>{false, true, false}, 0) += 10;
  EXPECT_EQ(values(a), (std::vector<int>{-1, -1, 12, 3, -1, -1}));
  EXPECT_THROW(eval(a(std::vector<bool>{true})), IndexError);
}

}  // namespace
}  // namespace quarry
