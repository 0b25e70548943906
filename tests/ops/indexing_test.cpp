// SPDX-License-Identifier: BSD-3-Clause
#include "array/index_model.hpp"

#include <gtest/gtest.h>

#include <complex>

#include "message_of.hpp"

namespace quarry {
namespace {

using test::as_shape;
using test::counted;
using test::Host;
using test::Ints;
using test::message_of;
using test::Model;
using test::Random;
using test::Seen;
using test::values;

int rounds() { return test::kind_is_slow() ? 40 : 400; }

/// A view of drawn shape and layout, of elements that are all different.
template <class T>
Seen<T> drawn(Random& random) {
  Ints shape;
  const auto rank = random.between(1, 4);
  for (auto d = rank; d > 0; --d) shape.push_back(random.between(random.between(0, 5) ? 1 : 0, 5));
  Seen<T> seen{to_device(counted<T>(shape)), test::whole(shape)};
  seen = random.shuffle(seen);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t n = seen.model.shape[d];
    seen = random.cut(seen, d, random.exactly(random.between(std::min<std::int64_t>(n, 1), n), n));
  }
  return seen;
}

/// The elements of the whole array under a view, and which of them an index selects.
struct Case {
  Model view, selected;
  std::int64_t of(std::size_t k) const { return view.at[static_cast<std::size_t>(selected.at[k])]; }
};

/// Calls f(random, array, case, part) for drawn ones, with up to `Most` arrays of positions: the
/// code at so many of them is the same for all types of elements.
template <class T, class I, std::size_t Most, class F>
void for_drawn(unsigned seed, const F& f) {
  Random random(seed);
  for (int round = 0; round < rounds(); ++round) {
    const Seen<T> from = drawn<T>(random);
    const auto entries = test::drawn_entries(random, from.model.shape, std::is_unsigned_v<I>);
    const Case c{from.model, test::selected(from.model.shape, entries)};
    SCOPED_TRACE("round " + std::to_string(round) + " of " + to_string(from.array.shape()) +
                 " with strides " + to_string(from.array.strides()));
    test::with_selection<I, Most>(from.array, entries,
                                  [&](const auto& part) { f(random, from.array, c, part); });
    if (::testing::Test::HasFailure()) return;
  }
}

template <class T, class I, std::size_t Most>
void check_reading(unsigned seed) {
  for_drawn<T, I, Most>(seed, [](Random&, const auto&, const Case& c, const auto& part) {
    const auto result = part();
    ASSERT_EQ(result.shape(), as_shape(c.selected.shape));
    std::vector<T> want;
    for (std::size_t k = 0; k < c.selected.at.size(); ++k) want.push_back(T(c.of(k)));
    ASSERT_EQ(values(result), want);
    ASSERT_EQ(values(result + T(1)), values(eval(result) + T(1)));
  });
}

TEST(Indexing, ReadsWhatNumPysRulesSelect) {
  check_reading<float, std::int64_t, 3>(1);
  check_reading<std::int16_t, std::int32_t, 2>(2);
  check_reading<double, std::uint8_t, 1>(3);
}

/// The base array of a view, whose elements are 0, 1, ... in C order.
template <class T>
std::vector<T> base_of(const DeviceNDArray<T>& view) {
  const auto n = std::int64_t(view.buffer()->bytes() / sizeof(T));
  return values(
      DeviceNDArray<T>(Layout{Shape{n}, Strides{sizeof(T)}}, view.buffer()->data(), view.buffer()));
}

template <class T, class I, std::size_t Most>
void check_writing(unsigned seed) {
  for_drawn<T, I, Most>(
      seed, [](Random& random, const auto& array, const Case& c, const auto& part) {
        Ints shape = c.selected.shape;
        const auto from = random.between(0, std::int64_t(shape.size()));
        if (random.coin()) shape.erase(shape.begin(), shape.begin() + from);
        for (std::int64_t& extent : shape) extent = random.between(0, 4) ? extent : 1;
        Host<T> host(shape);
        for (std::size_t k = 0; k < host.count(); ++k) host[k] = T(1000 + k);
        std::vector<T> want = base_of(array);
        Ints at(c.selected.shape.size(), 0);
        for (std::size_t k = 0; k < c.selected.at.size(); ++k) {
          want[std::size_t(c.of(k))] =
              host[test::broadcast_position(at, 0, c.selected.shape.size(), shape)];
          for (std::size_t d = at.size(); d-- > 0 && ++at[d] == c.selected.shape[d];) at[d] = 0;
        }
        const auto v = to_device(host);
        if (random.coin())
          part() = v;
        else
          part() = v + T(0);
        ASSERT_EQ(base_of(array), want) << "values of shape " << v.shape();
      });
}

TEST(Indexing, WritesTheLastOfSeveralValues) {
  check_writing<float, std::int64_t, 3>(11);
  check_writing<std::int16_t, std::int32_t, 1>(12);
  check_writing<double, std::uint8_t, 2>(13);
}

TEST(Indexing, WritesNumbers) {
  for_drawn<float, std::int64_t, 3>(
      21, [](Random&, const auto& array, const Case& c, const auto& part) {
        std::vector<float> want = base_of(array);
        for (std::size_t k = 0; k < c.selected.at.size(); ++k) want[std::size_t(c.of(k))] = -3;
        part() = -3;
        ASSERT_EQ(base_of(array), want);
      });
}

TEST(Indexing, InPlaceEveryElementChangesOnce) {
  for_drawn<double, std::int32_t, 3>(
      22, [](Random&, const auto& array, const Case& c, const auto& part) {
        const std::vector<double> before = base_of(array);
        std::vector<double> want = before;
        Host<double> host(c.selected.shape);
        for (std::size_t k = 0; k < host.count(); ++k) {
          const auto at = std::size_t(c.of(k));
          host[k] = double(k);
          want[at] = before[at] * 2 + host[k];
        }
        part() += to_device(host) + part();
        ASSERT_EQ(base_of(array), want);
        for (double& w : want) w = w * 1;
        for (std::size_t k = 0; k < host.count(); ++k) {
          want[std::size_t(c.of(k))] = base_of(array)[std::size_t(c.of(k))] - 5;
        }
        part() -= 5;
        ASSERT_EQ(base_of(array), want);
      });
}

TEST(Indexing, WritesItsOwnElementsAsThroughATemporary) {
  Random random(23);
  for (int round = 0; round < rounds(); ++round) {
    const std::int64_t n = random.between(1, 300), m = random.between(1, 300);
    const auto a = arange<float>(float(n));
    Host<std::int64_t> to({m}), from({m});
    std::vector<float> want = values(a);
    for (std::size_t k = 0; k < to.count(); ++k) {
      to[k] = random.between(-n, n - 1), from[k] = random.between(-n, n - 1);
      want[std::size_t(to[k] < 0 ? to[k] + n : to[k])] =
          float(from[k] < 0 ? from[k] + n : from[k]) * 3;
    }
    if (random.coin())
      a(to_device(to)) = a(to_device(from)) * 3.f;
    else
      a(to_device(to)) = 3.f * a(from) + 0;
    ASSERT_EQ(values(a), want) << "round " << round;
    const auto i = arange<int>(int(n));
    i(i(range(_, _, -1))) = i;
    ASSERT_EQ(values(i), values(eval(int(n) - 1 - arange<int>(int(n)))));
    const auto shifted = arange<int>(int(n));
    shifted(arange<int>(int(n)) - 1) = shifted(range(_, _, -1));
    ASSERT_EQ(values(shifted(arange<int>(int(n)) - 1)), values(i));
  }
}

TEST(Indexing, IsOneKernelWithWhatStandsAroundIt) {
  const auto a = arange<float>(12).reshape({3, 4});
  const auto i = to_device(std::vector<int>{2, 0}), j = to_device({1, -1});
  EXPECT_EQ(values(a(i, j) * 2.f + i), std::vector<double>({20, 6}));
  EXPECT_EQ(values(sum(a(i), 0)), std::vector<float>({8, 10, 12, 14}));
  EXPECT_EQ(values(a(i)(0, range(1, 3))), std::vector<float>({9, 10}));
  const auto [x, y] = eval(a(i, 0) + 1.f, a(1, j) + i);
  EXPECT_EQ(values(x), std::vector<float>({9, 1}));
  EXPECT_EQ(values(y), std::vector<double>({7, 7}));
  a(i + 0, 1) = a(i, 2) + j.astype<std::int8_t>();
  EXPECT_EQ(values(a), std::vector<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 10, 11}));
  const auto [u, v] = eval(a(i), a(i) * 2.f);
  EXPECT_EQ(values(v), values(u * 2.f));
}

TEST(Indexing, TakesHostArraysAndBrackets) {
  const auto a = arange<float>(6);
  EXPECT_EQ(values(a[std::vector<int>{5, -6}]), std::vector<float>({5, 0}));
  a[std::vector<long>{1, 2}] = std::vector<float>{10, 20};
  EXPECT_EQ(values(a), std::vector<float>({0, 10, 20, 3, 4, 5}));
  const auto m = mapped_array<float>({3});
  m.fill(1);
  m(to_device({0, 2})) = 4;
  EXPECT_EQ(values(m), std::vector<float>({4, 1, 4}));
}

TEST(Indexing, ANameOfAnIndexedArrayIsLazy) {
  const auto a = zeros<int>({4});
  const auto i = to_device({1, 2});
  auto part = a(i);
  part = a(to_device({0, 3}));
  EXPECT_EQ(values(a), std::vector<int>({0, 0, 0, 0}));
  part.assign(7);
  EXPECT_EQ(values(a), std::vector<int>({7, 0, 0, 7}));
}

struct Point {
  float x;
  char tag;
  bool operator==(const Point& other) const { return x == other.x && tag == other.tag; }
};

TEST(Indexing, Records) {
  DeviceNDArray<Point> a(Shape{4});
  a.copy_to_device(std::vector<Point>{{0, 'a'}, {1, 'b'}, {2, 'c'}, {3, 'd'}});
  const auto i = to_device({3, 0, 3});
  const DeviceNDArray<Point> b = a(i);
  EXPECT_EQ(values(b), std::vector<Point>({{3, 'd'}, {0, 'a'}, {3, 'd'}}));
  a(i) = a(range(0, 3));
  EXPECT_EQ(values(a), std::vector<Point>({{1, 'b'}, {1, 'b'}, {2, 'c'}, {2, 'c'}}));
  a(to_device({1})) = Point{9, 'z'};
  a(range(2, 4)) = a(to_device({1, 0}));
  EXPECT_EQ(values(a), std::vector<Point>({{1, 'b'}, {9, 'z'}, {9, 'z'}, {1, 'b'}}));
}

TEST(Indexing, OddElementsAndReadOnlyOnes) {
  const auto z =
      eval((arange<float>(5) * std::complex<float>(1, -2)).astype<std::complex<double>>());
  z(to_device({0, 0, 4})) = z(to_device({1, 2, 3}));
  const std::vector<std::complex<double>> want = {{2, -4}, {1, -2}, {2, -4}, {3, -6}, {3, -6}};
  EXPECT_EQ(values(z), want);
  const DeviceNDArray<const double> seen = arange<double>(3);
  EXPECT_EQ(values(seen(to_device({2, 1}))), std::vector<double>({2, 1}));
  const auto bytes = zeros<std::uint8_t>({8 * 9});
  const DeviceNDArray<double> odd(Layout{Shape{8}, Strides{9}}, bytes.device_pointer() + 1,
                                  bytes.buffer());
  odd(to_device({7, 1})) = arange<double>(2) + 5;
  EXPECT_EQ(values(odd), std::vector<double>({0, 6, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(values(odd(to_device({7, 1}))), std::vector<double>({5, 6}));
}

TEST(Indexing, RunsInTheStreamOfTheArray) {
  const Stream stream;
  const auto a = arange<float>(5).bind(stream);
  const DeviceNDArray<float> c = a(arange<int>(3) + 1);
  EXPECT_EQ(c.stream(), stream);
  a(arange<int>(2)) = 7;
  EXPECT_EQ(values(a), std::vector<float>({7, 7, 2, 3, 4}));
}

TEST(Indexing, RefusesWhatDoesNotFit) {
  const auto a = zeros<float>({2, 3, 4});
  const auto at = [](std::int64_t p) { return to_device(std::vector<std::int64_t>{0, p}); };
  EXPECT_EQ(message_of<IndexError>([&] { a(all, at(-4)); }),
            "position -4 is outside of axis 1 of extent 3");
  EXPECT_EQ(message_of<IndexError>([&] { a(1, ellipsis, at(4)) = 1; }),
            "position 4 is outside of axis 2 of extent 4");
  EXPECT_EQ(message_of<IndexError>([&] { a(0, 0, 0, at(0)); }), "4 indices for an array of 3 axes");
  EXPECT_EQ(
      message_of<IndexError>([&] {
        a(at(0), to_device({0, 1, 2}));
      }),
      "shape mismatch: indexing arrays could not be broadcast together with shapes (2,) (3,)");
  EXPECT_EQ(message_of<ShapeError>([&] {
              a(at(1)) = zeros<float>({5, 4});
            }),
            "cannot write shape (5, 4) into shape (2, 3, 4)");
  EXPECT_EQ(message_of<ShapeError>([&] {
              a(at(1)) += zeros<float>({2, 2, 3, 4});
            }),
            "an operation in place on shape (2, 3, 4) would give shape (2, 2, 3, 4)");
  a(at(1)) = zeros<float>({1, 2, 3, 4}) + 2.f;
  EXPECT_EQ(values(sum(a)), std::vector<float>({48}));
  EXPECT_THROW((a(at(0)) = std::uint64_t{1} << 40, zeros<std::int8_t>({2})(at(0)) = 300),
               DTypeError);
}

TEST(Indexing, ArraysWithoutElements) {
  const auto none = zeros<float>({0, 3});
  const auto no_positions = zeros<int>({0});
  EXPECT_EQ(none(no_positions).shape(), Shape({0, 3}));
  EXPECT_EQ(none(all, to_device({2})).shape(), Shape({0, 1}));
  none(no_positions) = 1;
  EXPECT_THROW(none(to_device({0})), IndexError);
  EXPECT_THROW(zeros<float>({3, 0})(to_device({7})), IndexError);
  const auto some = zeros<float>({3, 4});
  EXPECT_EQ(some(to_device({5}), no_positions).shape(), Shape({0}));
  EXPECT_THROW(some(full<int>({}, 5), no_positions), IndexError);
  const auto a = arange<float>(3);
  EXPECT_EQ(a(zeros<int>({0, 2})).shape(), Shape({0, 2}));
  EXPECT_EQ(a.reshape({3, 1})(to_device({7}), no_positions).shape(), Shape({0}));
  a(no_positions) = zeros<float>({0});
  EXPECT_EQ(values(a(full<int>({}, 2))), std::vector<float>({2}));
  EXPECT_EQ(a(full<int>({}, 2)).shape(), Shape());
  a(full<int>({}, -1)) = 8;
  EXPECT_EQ(values(a), std::vector<float>({0, 1, 8}));
}

/// As NumPy, which leaves leading axes out where that leaves as many elements.
TEST(Indexing, ValuesWithoutElementsMayHaveMoreAxes) {
  const auto a = arange<float>(12).reshape({3, 4});
  const auto none = zeros<int>({0});
  const auto column = zeros<float>({3, 1});
  a(0)(none) = zeros<float>({3, 0});
  a(none) = zeros<float>({2, 0, 4});
  a(none) = zeros<float>({5, 2, 0, 1}) + 1.f;
  a(0)(none) = column + zeros<float>({0});
  a(to_device({false, true, false}), none) = zeros<float>({2, 3, 0});
  EXPECT_EQ(values(a), values(arange<float>(12)));
  const auto refused = [&](const auto& place, const Shape& shape) {
    EXPECT_EQ(message_of<ShapeError>([&] { place.assign(zeros<float>(shape)); }),
              "cannot write shape " + to_string(shape) + " into shape " + to_string(place.shape()));
  };
  for (const Shape& shape : {Shape{3, 1}, {3, 5}, {2, 1}, {0, 3}, {5}}) refused(a(0)(none), shape);
  refused(a(none), {0, 5, 1, 4});
  refused(a(zeros<int>({0, 1}), 0), {3, 0});
  refused(a(to_device({1})), {3, 0, 4});
  refused(a(to_device({1})), {3, 1, 0});
}

}  // namespace
}  // namespace quarry
