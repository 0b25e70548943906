// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// Shapes and orders: what is assigned where, what is a view, which order an array has.
namespace quarry {
namespace {

using test::values;

constexpr std::int64_t huge = std::int64_t{1} << 62;

TEST(Assignment, LeadingExtentsOfOneAreDropped) {
  const auto c = zeros<float>({2});
  c(all) = to_device({1.f, 2.f}).reshape({1, 2});
  EXPECT_EQ(values(c), (std::vector{1.f, 2.f}));
  c(all) = to_device({3.f, 4.f}).reshape({1, 1, 2}) + 1;
  EXPECT_EQ(values(c), (std::vector{4.f, 5.f}));
  c(all) = to_device({5, 6}).reshape({1, 2});  // converts
  EXPECT_EQ(values(c), (std::vector{5.f, 6.f}));
  c(all) = ones<float>({1, 1, 1});
  EXPECT_EQ(values(c), (std::vector{1.f, 1.f}));
  const auto scalar = zeros<float>({});
  scalar() = full<float>({1, 1}, 7.f);
  EXPECT_EQ(scalar.item(), 7.f);
  zeros<float>({0})(all) = ones<float>({1, 0});
  const auto matrix = zeros<int>({2, 3});
  matrix(all) = arange(3).reshape({1, 1, 3}) + to_device({10, 20}).reshape({2, 1});
  EXPECT_EQ(values(matrix), (std::vector{10, 11, 12, 20, 21, 22}));
}

TEST(Assignment, OtherLeadingExtentsAreRefusedAndNamed) {
  const auto c = full<float>({2}, 3.f);
  const auto refused = [&](const auto& e) {
    try {
      c(all) = e;
      ADD_FAILURE();
    } catch (const ShapeError& error) {
      EXPECT_NE(std::string(error.what()).find("(2,)"), std::string::npos) << error.what();
    }
    EXPECT_EQ(values(c), (std::vector{3.f, 3.f}));
  };
  refused(ones<float>({2, 2}));
  refused(ones<float>({2, 2}) + 1);
  refused(ones<float>({2, 1}));
  refused(ones<float>({1, 3}));
  refused(ones<float>({1, 3}) + 1);
  refused(ones<float>({1, 2, 1}));
}

TEST(Assignment, OverlapWithMoreAxesIsAsIfThroughATemporary) {
  const auto a = arange(6);
  a(range(1, _)) = a(range(_, -1)).reshape({1, 5}) + 0;
  EXPECT_EQ(values(a), (std::vector{0, 0, 1, 2, 3, 4}));
  a(range(1, _)) = a(range(_, -1)).reshape({1, 1, 5});
  EXPECT_EQ(values(a), (std::vector{0, 0, 0, 1, 2, 3}));
}

TEST(Assignment, InPlaceOperatorsKeepTheShape) {  // as NumPy's, which have an `out`
  const auto c = ones<float>({2});
  EXPECT_THROW(c += ones<float>({1, 2}), ShapeError);
  EXPECT_THROW(c *= ones<float>({3, 2}), ShapeError);
  EXPECT_EQ(values(c), (std::vector{1.f, 1.f}));
  c += ones<float>({1});
  EXPECT_EQ(values(c), (std::vector{2.f, 2.f}));
}

TEST(Ravel, IsAViewOfContiguousArraysOnlyAsNumPys) {
  const auto a = arange(24).reshape({4, 6});
  const auto shares = [](const auto& x, const auto& y) { return x.buffer() == y.buffer(); };
  EXPECT_TRUE(shares(a.ravel(), a));
  EXPECT_TRUE(shares(a(range(1, 3)).ravel(), a));
  EXPECT_TRUE(shares(a.transpose().ravel(Order::f), a));
  EXPECT_TRUE(shares(a.transpose().ravel(Order::a), a));
  for (const auto& view : {a(all, range(_, _, 2)), a(range(_, _, 2)), a(range(_, _, -1)),
                           a.transpose(), a(all, range(0, 5)), a(range(0, 2), 1)}) {
    const auto flat = view.ravel();
    EXPECT_FALSE(shares(flat, a)) << to_string(view.strides());
    EXPECT_EQ(values(flat), values(view));
    EXPECT_EQ(flat.shape(), Shape{view.size()});
  }
  const auto line = arange(10)(range(_, _, 2));
  EXPECT_TRUE(shares(line.reshape({-1}), line));  // reshape gives a view where it can
  line.ravel()(0) = 99;
  EXPECT_EQ(values(line), (std::vector{0, 2, 4, 6, 8}));
  EXPECT_EQ(values(a.transpose().ravel(Order::f)), values(a));
  EXPECT_FALSE(shares(a.ravel(Order::f), a));
}

TEST(Ravel, OfHostVisibleArraysIsAViewOrRefused) {
  const auto m = mapped_array<int>({2, 6});
  EXPECT_EQ(m.ravel().host_pointer(), m.host_pointer());
  EXPECT_THROW(m(all, range(_, _, 2)).ravel(), ShapeError);
  EXPECT_THROW(m(0, range(_, _, 2)).ravel(), ShapeError);
  EXPECT_EQ(m(0, range(_, _, 2)).reshape({-1}).size(), 3);
}

TEST(Orders, AreTakenByEveryWayToAnArray) {
  const auto host = test::counted<int>({2, 3});
  const auto like = device_array<int>({2, 3});
  const auto fortran = device_array<int>({2, 3}, {.order = Order::f});
  for (const Order order : {Order::c, Order::f}) {
    const bool c = order == Order::c;
    const auto check = [&](const auto& array) {
      EXPECT_EQ(array.is_c_contiguous(), c);
      EXPECT_EQ(array.is_f_contiguous(), !c);
    };
    check(to_device(host, {.order = order}));
    check(to_device<double>(host, {.order = order}));
    check(device_array_like(like, {.order = order}));
    check(device_array_like(fortran, {.order = order}));
    check(mapped_array_like(fortran, {.order = order}));
    check(managed_array_like(fortran, {.order = order}));
    check(mapped_array_like(host, {.order = order}));
    EXPECT_EQ(values(to_device(host, {.order = order})), host.list());
  }
  EXPECT_TRUE(device_array_like(fortran).is_f_contiguous());
  EXPECT_TRUE(device_array_like(like, {.order = Order::a}).is_c_contiguous());
  EXPECT_TRUE(device_array_like(fortran, {.order = Order::a}).is_f_contiguous());
}

TEST(Extents, BesideZeroDoNotOverflow) {
  const auto a = zeros<float>({huge, 0});
  EXPECT_EQ(a(huge - 1).shape(), Shape{0});
  EXPECT_EQ(a(-1).size(), 0);
  for (const auto step : {std::int64_t{1}, std::int64_t{-1}, std::int64_t{3}, -huge,
                          std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(a(range(_, _, step)).size(), 0);
    EXPECT_EQ(a(range(huge - 5, _, step), all).size(), 0);
    EXPECT_EQ(zeros<double>({huge, huge, 0})(range(_, _, step), huge - 1).size(), 0);
  }
  EXPECT_EQ(values(zeros<float>({0, huge})).size(), 0u);
  EXPECT_EQ(values(zeros<float>({huge, 0, huge})(huge - 1)).size(), 0u);
  EXPECT_EQ((zeros<float>({0, huge}) + 1).size(), 0);
  EXPECT_EQ(zeros<float>({0, huge}).nbytes(), 0u);
}

TEST(Extents, BytesOfABroadcastViewThatDoNotFitAreRefused) {
  const auto wide = zeros<double>({1}).broadcast_to({huge});
  EXPECT_EQ(wide.size(), huge);
  EXPECT_THROW(wide.nbytes(), SizeOverflow);
  EXPECT_THROW(mem_alloc_like(wide), SizeOverflow);
  EXPECT_THROW(device_array_like(wide), SizeOverflow);
  EXPECT_THROW(wide.copy(), SizeOverflow);
  EXPECT_EQ(zeros<double>({1}).broadcast_to({1 << 20}).nbytes(), std::size_t{8} << 20);
}

}  // namespace
}  // namespace quarry
