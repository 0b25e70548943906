// SPDX-License-Identifier: BSD-3-Clause
#include "array/index_model.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "message_of.hpp"

namespace quarry {
namespace {

using test::counted;
using test::Ints;
using test::message_of;
using test::Model;
using test::Random;
using test::Seen;
using test::values;

int rounds() { return test::kind_is_slow() ? 40 : 500; }

/// A view of drawn shape and layout, whose elements are their numbers in the base array.
template <class T>
Seen<T> drawn(Random& random) {
  Ints shape;
  for (auto d = random.between(0, 5); d > 0; --d) {
    shape.push_back(random.between(random.between(0, 9) ? 1 : 0, 4));
  }
  Seen<T> seen{to_device(counted<T>(shape)), test::whole(shape)};
  seen = random.shuffle(seen);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t n = seen.model.shape[d];
    seen = random.cut(seen, d, random.exactly(random.between(std::min<std::int64_t>(n, 1), n), n));
  }
  return seen;
}

/// The elements of the view's base array.
template <class T>
std::vector<T> base_of(const DeviceNDArray<T>& view) {
  const auto n = std::int64_t(view.buffer()->bytes() / sizeof(T));
  return values(
      DeviceNDArray<T>(Layout{Shape{n}, Strides{sizeof(T)}}, view.buffer()->data(), view.buffer()));
}

/// Calls f(random, array, list of entries, numbers of the elements in the base array).
template <class T, class I, class F>
void for_drawn(unsigned seed, const F& f) {
  Random random(seed);
  for (int round = 0; round < rounds(); ++round) {
    const Seen<T> from = drawn<T>(random);
    const auto entries = test::drawn_list(random, from.model.shape);
    Model selected = test::selected(from.model.shape, entries);
    for (std::int64_t& at : selected.at) at = from.model.at[std::size_t(at)];
    SCOPED_TRACE("round " + std::to_string(round) + " of " + to_string(from.array.shape()) +
                 " with strides " + to_string(from.array.strides()));
    f(random, from.array, test::listed<I>(entries), selected);
    if (::testing::Test::HasFailure()) return;
  }
}

template <class T, class I>
void check_reading(unsigned seed) {
  for_drawn<T, I>(seed, [](Random&, const auto& array, const auto& index, const Model& selected) {
    ASSERT_EQ(array(index).shape(), test::as_shape(selected.shape));
    const std::vector<T> want(selected.at.begin(), selected.at.end());
    ASSERT_EQ(values(array(index)), want);
    ASSERT_EQ(values(DeviceNDArray<const T>(array)(index) + T(0)), want);
  });
}

TEST(IndexEntries, ReadWhatNumPysRulesSelect) {
  check_reading<float, std::int64_t>(1);
  check_reading<double, std::int16_t>(2);
}

TEST(IndexEntries, WriteTheLastOfSeveralValues) {
  for_drawn<std::int32_t, std::int32_t>(
      3, [](Random& random, const auto& array, const auto& index, const Model& selected) {
        std::vector<std::int32_t> want = base_of(array);
        const bool is_number = random.coin();
        std::int32_t next = 1000;
        for (const std::int64_t at : selected.at) want[std::size_t(at)] = is_number ? -7 : next++;
        if (is_number)
          array(index) = -7;
        else
          array(index) = to_device(counted<std::int32_t>(selected.shape)) + 1000;
        ASSERT_EQ(base_of(array), want);
      });
}

TEST(IndexEntries, ChangeEveryElementOnce) {
  for_drawn<std::int64_t, std::int64_t>(
      4, [](Random&, const auto& array, const auto& index, const Model& selected) {
        const auto before = base_of(array);
        std::vector<std::int64_t> want = before;
        std::int64_t next = 5;
        for (const std::int64_t at : selected.at) want[std::size_t(at)] = at - next++;
        array(index) -= to_device(counted<std::int64_t>(selected.shape)) + 5;
        ASSERT_EQ(base_of(array), want);
      });
}

template <class T>
void check_sums(unsigned seed) {
  for_drawn<T, std::int32_t>(
      seed, [](Random&, const auto& array, const auto& index, const Model& selected) {
        std::vector<T> want = base_of(array);
        T next = 3;
        for (const std::int64_t at : selected.at) want[std::size_t(at)] += next++;
        add_at(array(index), to_device(counted<T>(selected.shape)) + T(3));
        ASSERT_EQ(base_of(array), want);
      });
}

TEST(IndexEntries, AddUp) {
  check_sums<float>(5);
  check_sums<std::int16_t>(6);
}

TEST(IndexEntries, MasksAmongOtherEntries) {
  const auto a = arange<int>(24).reshape({2, 3, 4});
  const auto odd = to_device({false, true, false, true});
  const auto rows = to_device({true, false, true});
  EXPECT_EQ(values(a(0, rows, 1)), std::vector<int>({1, 9}));
  EXPECT_EQ(values(a(0, 0, odd)), std::vector<int>({1, 3}));
  EXPECT_EQ(values(a(range(1), rows, range(_, _, 3))), std::vector<int>({0, 3, 8, 11}));
  EXPECT_EQ(values(a(0, rows, odd)), std::vector<int>({1, 11}));
  EXPECT_EQ(values(a(1, rows, to_device({-1, 0}))), std::vector<int>({15, 20}));
  EXPECT_EQ(a(0, newaxis, rows).shape(), Shape({2, 1, 4}));
  EXPECT_EQ(a(all, rows, newaxis, odd).shape(), Shape({2, 2, 1}));
  const auto large = a(1) > 17;  // an expression
  EXPECT_EQ(values(a(0, large)), std::vector<int>({6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(a(all, large, newaxis).shape(), Shape({2, 6, 1}));
  EXPECT_EQ(values(a(1, a(0) % 5 == 0)), std::vector<int>({12, 17, 22}));
  EXPECT_EQ(values((a * 2)(1, rows, 0)), std::vector<int>({24, 40}));
  EXPECT_EQ(values(a(0)(rows, 0) + a(0)(rows, 1)), std::vector<int>({1, 17}));
  EXPECT_EQ(values(a(0, rows)(1)), std::vector<int>({8, 9, 10, 11}));

  a(0, rows, odd) = to_device({-1, -2});
  a(1, a(1) > 20) = 0;
  a(1, rows, 0) += 100;
  a(to_device({0, 0}), 1, odd) *= 2;
  EXPECT_EQ(values(a), std::vector<int>({0,   -1, 2,  3,  4,  10, 6,  14, 8,   9, 10, -2,  //
                                         112, 13, 14, 15, 16, 17, 18, 19, 120, 0, 0,  0}));
}

TEST(IndexEntries, MasksOfTheHostAndWithoutAxes) {
  const auto a = arange<int>(6).reshape({2, 3});
  const std::array<bool, 3> mask = {true, false, true};
  const std::array<bool, 2> rows = {false, true};
  EXPECT_EQ(values(a(all, mask)), std::vector<int>({0, 2, 3, 5}));
  EXPECT_EQ(values(a(rows)), std::vector<int>({3, 4, 5}));
  EXPECT_EQ(values(a(rows, std::vector<int>{2})), std::vector<int>({5}));
  EXPECT_EQ(values(a[rows]), std::vector<int>({3, 4, 5}));
  a(all, mask) = to_device({7, 8});
  EXPECT_EQ(values(a), std::vector<int>({7, 1, 8, 7, 4, 8}));
  EXPECT_EQ(a(true).shape(), Shape({1, 2, 3}));
  EXPECT_EQ(a(false).shape(), Shape({0, 2, 3}));
  EXPECT_EQ(a(full<bool>({}, true), 1).shape(), Shape({1, 3}));
  EXPECT_EQ(a(all, false, newaxis).shape(), Shape({2, 0, 1, 3}));
  EXPECT_EQ(values(a(true, to_device({1, 0}), 0)), std::vector<int>({7, 7}));
  a(false) = 9;
  a(true, 0) = 9;
  EXPECT_EQ(values(a), std::vector<int>({9, 9, 9, 7, 4, 8}));
  const auto point = full<int>({}, 3);
  EXPECT_EQ(values(point(true)), std::vector<int>({3}));
  point(true, newaxis) += 1;
  EXPECT_EQ(point.item(), 4);
  const auto mapped = mapped_array<float>({2, 3});
  mapped.fill(1);
  mapped(rows, 1) = 5;
  EXPECT_EQ(values(mapped), std::vector<float>({1, 1, 1, 1, 5, 1}));
  EXPECT_EQ(values(mapped(true, 1, mask)), std::vector<float>({1, 1}));
}

TEST(IndexEntries, ListsOfAnyEntries) {
  const auto a = arange<int>(12).reshape({3, 4});
  std::vector<IndexEntry> list;
  EXPECT_EQ(values(a(list)), values(a));
  EXPECT_EQ(a(list).shape(), a.shape());
  list = {1, range(1, 3)};
  EXPECT_EQ(values(a(list)), std::vector<int>({5, 6}));
  a(list) = -1;
  list = {ellipsis, to_device({0, 3}), newaxis};
  EXPECT_EQ(a(list).shape(), Shape({3, 2, 1}));
  EXPECT_EQ(values(a(list)), std::vector<int>({0, 3, 4, 7, 8, 11}));
  const auto mask = to_device({true, false, false});
  list = {mask, all};
  mask(2) = true;  // which the list sees
  EXPECT_EQ(values(a(list)), std::vector<int>({0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(values((a + 1)(list)), std::vector<int>({1, 2, 3, 4, 9, 10, 11, 12}));
  EXPECT_EQ(values(a(std::array<IndexEntry, 2>{mask, arange<std::uint8_t>(2)})),
            std::vector<int>({0, 9}));
}

TEST(IndexEntries, AMaskWritesInOneKernel) {
  const auto a = arange<int>(12).reshape({3, 4}), v = eval(a + 1);
  const auto writes = [&](const auto& place) {
    const auto before = detail::write_count();
    place.assign(v(range(0, 2)));
    return detail::write_count() - before;
  };
  if (detail::write_count() == 0) GTEST_SKIP() << "writes are counted in the checked mode";
  EXPECT_EQ(writes(a(to_device({true, false, true}), all)), 1u);
  if (a.device().is_cpu()) return;                   // it writes positions in order, too
  EXPECT_GT(writes(a(to_device({0, 2}), all)), 1u);  // which might be the same
}

struct Point {
  float x;
  char tag;
  bool operator==(const Point& other) const { return x == other.x && tag == other.tag; }
};

TEST(IndexEntries, RecordsAndOddElements) {
  DeviceNDArray<Point> a(Shape{4});
  a.copy_to_device(std::vector<Point>{{0, 'a'}, {1, 'b'}, {2, 'c'}, {3, 'd'}});
  a = a.reshape({2, 2});
  const auto right = to_device({false, true});
  EXPECT_EQ(values(DeviceNDArray<Point>(a(all, right))), std::vector<Point>({{1, 'b'}, {3, 'd'}}));
  a(right, to_device({1, 0})) = a(0);
  a(0, right) = Point{9, 'z'};
  EXPECT_EQ(values(a), std::vector<Point>({{0, 'a'}, {9, 'z'}, {1, 'b'}, {0, 'a'}}));
  const auto bytes = zeros<std::uint8_t>({8 * 9});
  const DeviceNDArray<double> odd(Layout{Shape{4, 2}, Strides{18, 9}}, bytes.device_pointer() + 1,
                                  bytes.buffer());
  odd(to_device({true, false, false, true}), 1) = to_device({5., 6.});
  EXPECT_EQ(values(odd), std::vector<double>({0, 5, 0, 0, 0, 0, 0, 6}));
}

TEST(IndexEntries, ThirtyTwoAxes) {
  Shape shape;
  for (int d = 0; d < 32; ++d) shape.push_back(d % 8 == 3 ? 2 : 1);
  const auto a = arange<int>(16).reshape(shape);
  const auto mask = full<bool>({1, 1, 1, 2, 1}, true);
  const auto picked = a(mask, ellipsis, to_device({-1}), 0);  // apart, so that they come first
  EXPECT_EQ(picked.ndim(), 26u);
  EXPECT_EQ(values(picked), values(a));
  a(mask, ellipsis) = -a(mask, ellipsis);
  EXPECT_EQ(values(a), values(eval(-arange<int>(16))));
  EXPECT_THROW(a(true), ShapeError);  // one more axis
}

TEST(IndexEntries, SumsOfThirtyTwoAxes) {
  Shape shape = Shape::filled(32, 1);
  shape[3] = 2, shape[20] = 3, shape[31] = 4;
  const auto a = zeros<float>(shape);
  const auto at = to_device({1, 1, -1});
  add_at(a(ellipsis, at), 1.f);
  EXPECT_EQ(values(a.ravel()), values(tile(array({0.f, 2.f, 0.f, 1.f}), 6)));
  const auto v = arange<float>(6).reshape({2, 3});
  add_at(moveaxis(a, {3, 20}, {30, 31})(ellipsis, at(range(2)), all), v);
  EXPECT_EQ(sum(a).item(), 18 + 4 * sum(v).item());
}

TEST(IndexEntries, StayInTheStreamOfTheArray) {
  const Stream stream;
  const auto a = arange<float>(6).reshape({2, 3}).bind(stream);
  const DeviceNDArray<float> c = a(1, to_device({true, false, true}));
  EXPECT_EQ(c.stream(), stream);
  EXPECT_EQ(values(c), std::vector<float>({3, 5}));
}

TEST(IndexEntries, OfAnotherDeviceAreRefused) {
  if (Device() == Device::cpu()) GTEST_SKIP() << "there is no other device";
  const auto a = zeros<float>({2, 3});
  const auto mask = to_device({true, true}, {.device = Device::cpu()});
  EXPECT_THROW(eval(a(mask, 0)), LogicError);
  EXPECT_THROW((a(mask, 0) = 1), LogicError);
}

TEST(IndexEntries, RefuseWhatDoesNotFit) {
  const auto a = zeros<float>({2, 3, 4});
  EXPECT_EQ(message_of<IndexError>([&] { a(0, zeros<bool>({2})); }),
            "boolean index did not match indexed array along axis 1; size of axis is 3 but size of "
            "corresponding boolean axis is 2");
  EXPECT_EQ(message_of<IndexError>([&] {
              a(ellipsis, zeros<bool>({3, 5})) = 1;
            }),
            "boolean index did not match indexed array along axis 2; size of axis is 4 but size of "
            "corresponding boolean axis is 5");
  EXPECT_EQ(message_of<IndexError>([&] {
              a(zeros<bool>({2, 3}), 0, 0);
            }),
            "4 indices for an array of 3 axes");
  EXPECT_EQ(message_of<IndexError>([&] { a(ones<bool>({2}), to_device({3})); }),
            "position 3 is outside of axis 1 of extent 3");
  EXPECT_EQ(
      message_of<IndexError>([&] { a(ones<bool>({2}), ones<bool>({3})); }),
      "shape mismatch: indexing arrays could not be broadcast together with shapes (2,) (3,)");
  EXPECT_EQ(message_of<ShapeError>([&] {
              a(ones<bool>({2}), 0) = zeros<float>({3, 4});
            }),
            "cannot write shape (3, 4) into shape (2, 4)");
  EXPECT_EQ(message_of<IndexError>([&] {
              a(std::vector<IndexEntry>{ellipsis, true, ellipsis});
            }),
            "an index can only have one ellipsis");
  const auto large = to_device<std::uint64_t>({0, ~std::uint64_t{0}});
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { eval(a(large)); },
           [&] { eval(a(std::vector<IndexEntry>{large})); },
           [&] { a(true, large) = 1; },
           [&] {
             eval(a(std::vector<IndexEntry>{large, to_device({true, false, true}), 0}));
           },
       }) {
    EXPECT_EQ(message_of<IndexError>(read),
              "position 18446744073709551615 is outside of axis 0 of extent 2");
  }
  EXPECT_EQ(values(sum(a)), std::vector<float>({0}));
}

}  // namespace
}  // namespace quarry
