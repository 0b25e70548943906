// SPDX-License-Identifier: BSD-3-Clause
#include "array/index_model.hpp"
#include "message_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include <Eigen/Core>

namespace quarry {
namespace {

using test::Host;
using test::Ints;
using test::Model;
using test::Random;
using test::values;

int rounds() { return test::kind_is_slow() ? 30 : 300; }

/// Calls f(random, array, its elements, model, selection) for arrays of drawn shapes, with up to
/// `Most` arrays of positions: the code at so many of them is the same for all types of elements.
template <class T, std::size_t Most, class F>
void for_drawn(unsigned seed, const F& f) {
  Random random(seed);
  for (int round = 0; round < rounds(); ++round) {
    const Ints shape = [&] {
      Ints list;
      for (auto d = random.between(1, 3); d > 0; --d) list.push_back(random.between(1, 5));
      return list;
    }();
    const auto entries = test::drawn_entries(random, shape, false);
    const Model selected = test::selected(shape, entries);
    const auto host = test::counted<T>(shape);
    const auto array = to_device(host, {.order = random.coin() ? Order::f : Order::c});
    SCOPED_TRACE("round " + std::to_string(round));
    test::with_selection<int, Most>(array, entries, [&](const auto& selection) {
      f(random, array, host.list(), selected, selection);
    });
    if (::testing::Test::HasFailure()) return;
  }
}

template <class T>
Host<T> drawn_values(Random& random, const Ints& shape) {
  Host<T> host(shape);
  for (std::size_t k = 0; k < host.count(); ++k) host[k] = static_cast<T>(random.between(-9, 9));
  return host;
}

template <class T, std::size_t Most>
void check_integers(unsigned seed) {
  for_drawn<T, Most>(seed, [](Random& random, const auto& array, std::vector<T> want,
                              const Model& model, const auto& selection) {
    const auto host = drawn_values<T>(random, model.shape);
    const auto v = to_device(host);
    const auto each = [&](const auto& meet) {
      for (std::size_t k = 0; k < host.count(); ++k) {
        T& element = want[std::size_t(model.at[k])];
        element = static_cast<T>(meet(element, host[k]));
      }
    };
    each([](T a, T b) { return a + b; });
    add_at(selection(), v);
    ASSERT_EQ(values(array), want);
    each([](T a, T b) { return a - b; });
    subtract_at(selection(), v + T(0));
    ASSERT_EQ(values(array), want);
    each([](T a, T b) { return a * b; });
    multiply_at(selection(), v);
    ASSERT_EQ(values(array), want);
    each([](T a, T b) { return std::max(a, b); });
    maximum_at(selection(), v);
    ASSERT_EQ(values(array), want);
    each([](T a, T b) { return std::min(a, b); });
    minimum_at(selection(), v);
    ASSERT_EQ(values(array), want);
    each([](T a, T b) { return a ^ b; });
    bitwise_xor_at(selection(), v);
    each([](T a, T b) { return a | b; });
    bitwise_or_at(selection(), v);
    each([](T a, T b) { return a & b; });
    bitwise_and_at(selection(), v);
    ASSERT_EQ(values(array), want);
  });
}

TEST(Put, IntegersMeetInAnyOrder) {
  check_integers<std::int8_t, 3>(1);
  check_integers<std::int16_t, 1>(2);
  check_integers<std::int64_t, 2>(3);
}

template <class T, std::size_t Most>
void check_sums(unsigned seed) {
  for_drawn<T, Most>(seed, [](Random& random, const auto& array, const std::vector<T>& before,
                              const Model& model, const auto& selection) {
    const auto host = drawn_values<T>(random, model.shape);
    std::vector<double> want(before.begin(), before.end());
    for (std::size_t k = 0; k < host.count(); ++k) {
      want[std::size_t(model.at[k])] += static_cast<double>(host[k]);
    }
    add_at(selection(), to_device(host));
    const auto got = values(array);
    for (std::size_t k = 0; k < want.size(); ++k) ASSERT_EQ(double(got[k]), want[k]);
    subtract_at(selection(), to_device(host));
    ASSERT_EQ(values(array), before);
  });
}

TEST(Put, SmallFloatingSumsAreExact) {
  check_sums<float, 3>(11);
  check_sums<double, 2>(12);
  check_sums<Eigen::half, 1>(13);
}

/// Against long double; the same bits in any order.
template <class T>
void check_rounding(unsigned seed, int widest) {
  Random random(seed);
  const std::int64_t n = 20000, bins = 7;
  std::vector<T> list;
  std::vector<int> at;
  std::vector<long double> want(bins, 0), scale(bins, 0);
  for (std::int64_t k = 0; k < n; ++k) {
    at.push_back(int(random.between(0, bins - 1)));
    list.push_back(
        std::ldexp(T(random.between(-1000000, 1000000)), int(random.between(-widest, 0))));
    want[std::size_t(at.back())] += list.back();
    scale[std::size_t(at.back())] += std::abs(list.back());
  }
  const auto a = zeros<T>({bins}), b = zeros<T>({bins});
  add_at(a(at), list);
  std::reverse(at.begin(), at.end()), std::reverse(list.begin(), list.end());
  add_at(b(at), list);
  const auto got = values(a);
  EXPECT_EQ(got, values(b));
  for (std::size_t k = 0; k < got.size(); ++k) {
    const long double half = std::numeric_limits<T>::epsilon() * (std::abs(want[k]) * 0.5001L);
    EXPECT_LE(std::abs(got[k] - want[k]), half + scale[k] * 0x1p-70L) << "bin " << k;
  }
}

TEST(Put, FloatingSumsAreRoundedOnceInAnyOrder) {
  check_rounding<float>(21, 8);
  check_rounding<double>(22, 40);
}

TEST(Put, PartsOfComplexValuesAddUp) {
  using C = std::complex<float>;
  Random random(24);
  for (int round = 0; round < rounds(); ++round) {
    const std::int64_t bins = random.between(1, 6), count = random.between(0, 30);
    std::vector<C> list(static_cast<std::size_t>(count)), want(static_cast<std::size_t>(bins));
    std::vector<std::int64_t> at;
    for (C& v : list) {
      v = C(float(random.between(-50, 50)), float(random.between(-50, 50)));
      at.push_back(random.between(-bins, bins - 1));
    }
    const auto a = zeros<C>({2, bins}).T();
    const auto row = a(all, 1);
    add_at(row(at), list);
    add_at(row(at), to_device(list) * C(0, 2));
    add_at(row(at), 3.f);
    subtract_at(row(at), C(1, 1));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int64_t p = at[i] < 0 ? at[i] + bins : at[i];
      want[static_cast<std::size_t>(p)] += list[i] + list[i] * C(0, 2) + C(2, -1);
    }
    EXPECT_EQ(values(row), want);
    EXPECT_EQ(values(a(all, 0)), std::vector<C>(static_cast<std::size_t>(bins)));
  }
  const auto a = arange<float>(3).astype<C>();
  add_at(a(to_device({0, 0})), a(to_device({1, 2})) * C(0, 1));
  EXPECT_EQ(values(a), (std::vector<C>{{0, 3}, 1, 2}));
}

/// Values in an array; with Forms also of an expression, in a list, and one by one.
template <class T, bool Forms, class V>
void check_differences(const std::vector<V>& list) {
  std::vector<T> want;
  for (const V v : list) want.push_back(static_cast<T>(1) - static_cast<T>(static_cast<double>(v)));
  const auto count = std::int64_t(list.size());
  const auto check = [&](const auto& subtract) {
    const auto a = ones<T>({count});
    subtract(a);
    EXPECT_EQ(values(a), want) << dtype_of<T> << " less " << dtype_of<V>;
  };
  const auto at = arange<std::int64_t>(count);
  const auto v = array(list);
  check([&](const auto& a) { subtract_at(a(at), v); });
  if constexpr (Forms) {
    check([&](const auto& a) { subtract_at(a(at), where(at >= 0, v, v)); });
    if constexpr (!std::is_same_v<V, bool>) check([&](const auto& a) { subtract_at(a(at), list); });
    check([&](const auto& a) {
      for (std::int64_t i = 0; i < count; ++i)
        subtract_at(a(to_device({i})), V(list[std::size_t(i)]));
    });
  }
}

TEST(Put, DifferencesOfValuesWithoutAMinusOfTheirOwn) {
  check_differences<double, true, std::uint8_t>({0, 1, 255});
  check_differences<double, true, std::uint64_t>({0, 1, std::uint64_t{1} << 63});
  check_differences<double, true, bool>({true, false});
  check_differences<double, false, std::int8_t>({-128, 127, 3});
  check_differences<double, false, std::int32_t>({std::numeric_limits<std::int32_t>::min(), 5});
  check_differences<float, true, std::uint64_t>({0, 1, std::uint64_t{1} << 63});
  check_differences<float, false, std::int32_t>({std::numeric_limits<std::int32_t>::min(), 5});
  check_differences<std::complex<double>, true, std::uint64_t>({0, 1, std::uint64_t{1} << 63});
  check_differences<std::complex<double>, false, bool>({true, false});
  const auto a = zeros<double>({3});
  subtract_at(a(to_device({0, 0, 2})), to_device<std::uint8_t>({1, 2, 3}));
  EXPECT_EQ(values(a), std::vector<double>({-3, 0, -3}));
}

TEST(Put, ExtremesOfValuesOfOtherTypes) {
  const auto a = zeros<std::int32_t>({3});
  const auto at = to_device({0, 1, 2});
  maximum_at(a(at), to_device<std::uint8_t>({200, 0, 1}));
  minimum_at(a(at), to_device<std::int16_t>({300, -300, 0}));
  EXPECT_EQ(values(a), std::vector<std::int32_t>({200, -300, 0}));
  EXPECT_THROW(maximum_at(a(at), std::int64_t{1} << 40), DTypeError);
  const auto f = zeros<float>({2});
  maximum_at(f(to_device({0, 1})), to_device<double>({1e300, -1}));
  EXPECT_EQ(values(f), std::vector<float>({std::numeric_limits<float>::infinity(), 0}));
}

TEST(Put, InfinitiesNaNsAndExtremeMagnitudes) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto sum = [](const std::vector<double>& list) {
    const auto a = ones<double>({1});
    add_at(a(std::vector<int>(list.size(), 0)), list);
    return a.item();
  };
  EXPECT_EQ(sum({inf, 1, inf}), inf);
  EXPECT_EQ(sum({-1, -inf}), -inf);
  EXPECT_TRUE(std::isnan(sum({inf, -inf})));
  EXPECT_TRUE(std::isnan(sum({1, std::nan(""), inf})));
  EXPECT_EQ(sum({1e308, 1e308}), inf);
  EXPECT_EQ(sum({1e308, 1e308, -1e308, -1e308}), 1);
  EXPECT_EQ(sum({0, 0}), 1);
  const auto a = zeros<double>({2});
  add_at(a(to_device({0, 0, 1})), std::vector<double>{5e-324, 1e-323, -5e-324});
  EXPECT_EQ(values(a), std::vector<double>({1.5e-323, -5e-324}));
  const auto f = zeros<float>({1});
  add_at(f(to_device({0, 0})), std::vector<float>{3e38f, -2e38f});
  EXPECT_EQ(f.item(), 3e38f - 2e38f);
  minimum_at(f(to_device({0, 0})), std::vector<float>{NAN, 1});
  EXPECT_TRUE(std::isnan(f.item()));
}

TEST(Put, RowsAndNumbers) {
  const auto m = zeros<float>({3, 2});
  add_at(m(to_device({2, 0, 2})), arange<float>(2) + 1.f);
  EXPECT_EQ(values(m), std::vector<float>({1, 2, 0, 0, 2, 4}));
  add_at(m(to_device({1, 1}), 0), 0.5f);
  EXPECT_EQ(values(m), std::vector<float>({1, 2, 1, 0, 2, 4}));
  add_at(m(to_device({0, 0}), 0), m(to_device({2, 2}), 1));
  EXPECT_EQ(values(m), std::vector<float>({9, 2, 1, 0, 2, 4}));
  add_at(m(zeros<int>({0})), 7);
  EXPECT_EQ(values(m), std::vector<float>({9, 2, 1, 0, 2, 4}));
  EXPECT_THROW(add_at(m(to_device({0, 0})), zeros<float>({3})), ShapeError);
  EXPECT_EQ(values(m), std::vector<float>({9, 2, 1, 0, 2, 4}));
}

TEST(Put, ValuesThatMeetHaveNoMoreAxes) {
  const auto m = zeros<float>({3, 2});
  const auto n = zeros<int>({3, 2});
  const auto at = to_device({0, 2});
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              add_at(m(at), zeros<float>({1, 2, 2}));
            }),
            "values of shape (1, 2, 2) have more axes than the elements, of shape (2, 2)");
  EXPECT_THROW(add_at(n(at), zeros<int>({1, 1, 1})), ShapeError);
  EXPECT_THROW(minimum_at(m(at), zeros<float>({1, 1, 1})), ShapeError);
  const auto none = zeros<float>({3, 0});
  EXPECT_THROW(add_at(none(to_device({1})), zeros<float>({2, 0})), ShapeError);
  add_at(none(at), zeros<float>({2, 1}));
}

TEST(Put, InCOrderWithValuesRepeated) {
  Random random(31);
  for (int round = 0; round < rounds(); ++round) {
    const Ints shape{random.between(1, 5), random.between(1, 5)};
    const auto host = test::counted<float>(shape);
    const auto a = to_device(host, {.order = random.coin() ? Order::f : Order::c});
    std::vector<float> want = host.list();
    const std::int64_t n = shape[0] * shape[1];
    Host<std::int64_t> at({random.between(0, 4), random.between(1, 3)});
    Host<float> v({random.between(1, 9)});
    for (std::size_t k = 0; k < v.count(); ++k) v[k] = float(100 + k);
    for (std::size_t k = 0; k < at.count(); ++k) {
      at[k] = random.between(-n, n - 1);
      want[std::size_t(at[k] < 0 ? at[k] + n : at[k])] = v[k % v.count()];
    }
    put(a, to_device(at), to_device(v));
    ASSERT_EQ(values(a), want) << "round " << round;
  }
  const auto a = zeros<int>({4});
  put<IndexMode::wrap>(a, to_device({5, -3}), to_device({1, 2}));
  put<IndexMode::clip>(a, to_device({9, -9}), 7);
  EXPECT_EQ(values(a), std::vector<int>({7, 2, 0, 7}));
  EXPECT_THROW(put(a, to_device({4}), 1), IndexError);
  put(a, to_device({0}), zeros<int>({0}));
  EXPECT_THROW(put(zeros<int>({0}), to_device({0}), zeros<int>({0})), IndexError);
  put(zeros<int>({0}), zeros<int>({0}), 1);
  EXPECT_EQ(values(a), std::vector<int>({7, 2, 0, 7}));
}

TEST(Put, AlongAnAxis) {
  Random random(32);
  for (int round = 0; round < rounds(); ++round) {
    const Ints shape{random.between(1, 4), random.between(1, 4), random.between(1, 4)};
    const auto axis = std::size_t(random.between(0, 2));
    Ints of = shape, full = shape;
    for (std::size_t d = 0; d < 3; ++d) {
      if (d == axis) of[d] = full[d] = random.between(0, 5);
      if (d != axis && shape[d] == 1) of[d] = full[d] = random.between(1, 3);  // repeated places
      if (d != axis && shape[d] > 1 && random.coin()) of[d] = 1;
    }
    const auto host = test::counted<float>(shape);
    const auto a = to_device(host, {.order = random.coin() ? Order::f : Order::c});
    Host<int> at(of);
    Host<float> v(full);
    for (std::size_t k = 0; k < at.count(); ++k) {
      at[k] = int(random.between(-shape[axis], shape[axis] - 1));
    }
    for (std::size_t k = 0; k < v.count(); ++k) v[k] = float(1000 + k);
    std::vector<float> want = host.list();
    Ints i(3, 0);
    for (std::size_t k = 0; k < v.count(); ++k) {
      Ints to = i;
      const int p = at[test::broadcast_position(i, 0, 3, of)];
      to[axis] = p < 0 ? p + shape[axis] : p;
      want[test::broadcast_position(to, 0, 3, shape)] = v[k];
      for (std::size_t d = 3; d-- > 0 && ++i[d] == full[d];) i[d] = 0;
    }
    put_along_axis(a, to_device(at), to_device(v), std::int64_t(axis));
    ASSERT_EQ(values(a), want) << "round " << round;
  }
  const auto a = arange<float>(6).reshape({2, 3});
  put_along_axis(a, argmax(a, 1, {.keepdims = true}), -1, 1);
  EXPECT_EQ(values(a), std::vector<float>({0, 1, -1, 3, 4, -1}));
  EXPECT_THROW(put_along_axis(a, to_device({0}), 1, 1), ShapeError);
}

TEST(Put, WhereAMaskSelects) {
  const auto a = arange<int>(6).reshape({2, 3});
  add_at(a(a > 3), 10);
  subtract_at(a(to_device({true, false})), to_device({1, 2, 3}));
  maximum_at(a(a < 0), 0);
  minimum_at(a(a > 14), to_device({7}));
  multiply_at(a(a == 3), 5);
  EXPECT_EQ(values(a), std::vector<int>({0, 0, 0, 15, 14, 7}));
}

TEST(Put, PositionsInTheFormsThatCallersHave) {
  const auto a = zeros<int>({2, 3});
  put(a, 1, 5);
  put(a, {0, -1}, std::vector<int>{7, 8});
  put(a, std::vector<int>{3}, 9);
  EXPECT_EQ(values(a), std::vector<int>({7, 5, 0, 9, 0, 8}));
  const std::vector<int> columns = {2, 0};
  EXPECT_EQ(values(take(a, {1, 5})), std::vector<int>({5, 8}));
  EXPECT_EQ(values(take(a, {1, 0}, 0)), std::vector<int>({9, 0, 8, 7, 5, 0}));
  EXPECT_EQ(values(take(a, columns, 1)), std::vector<int>({0, 7, 8, 9}));
  EXPECT_EQ(take(a, 1, 0).shape(), Shape({3}));
  EXPECT_EQ(values(take(a, -1, 0)), std::vector<int>({9, 0, 8}));
  EXPECT_EQ(take(a, 3).shape(), Shape({}));
  EXPECT_THROW(take(a, 3, 1), IndexError);
  EXPECT_EQ(values(take_along_axis(a(0), columns, 0)), std::vector<int>({0, 7}));
  EXPECT_EQ(values(choose(to_device({1, 0, 2}), a(0), -1, a(1))), std::vector<int>({-1, 5, 8}));
}

TEST(Put, Choose) {
  const auto i = to_device({2, 0, 1, 0});
  const auto a = arange<float>(4), b = eval(a + 10.f);
  EXPECT_EQ(values(choose(i, a, b, a * 0.5)), std::vector<float>({0, 1, 12, 3}));
  EXPECT_EQ(values(choose<IndexMode::clip>(i - 1, a, b)), std::vector<float>({10, 1, 2, 3}));
  EXPECT_EQ(values(choose<IndexMode::wrap>(i - 1, a, b)), std::vector<float>({10, 11, 2, 13}));
  EXPECT_EQ(values(choose(to_device({1}).reshape({1, 1}), a, a(1))), std::vector<float>(4, 1));
  EXPECT_THROW(choose(i, a, b), IndexError);
  EXPECT_THROW(choose(i - 1, a, b, a), IndexError);
}

TEST(Put, OpenGrids) {
  const auto a = arange<int>(12).reshape({3, 4});
  const auto i = to_device({2, 0}), j = to_device({3, 1, 0});
  EXPECT_EQ(values(std::apply(a, ix_(i, j))), std::vector<int>({11, 9, 8, 3, 1, 0}));
  std::apply(a, ix_(i, j)) = 0;
  EXPECT_EQ(values(sum(a)), std::vector<std::int64_t>({2 + 4 + 5 + 6 + 7 + 10}));
}

}  // namespace
}  // namespace quarry
