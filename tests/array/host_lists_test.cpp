// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/host_lists.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <random>
#include <ranges>
#include <span>
#include <sstream>
#include <vector>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;
using Rows = std::vector<std::vector<float>>;

struct Pixel {
  std::uint8_t red, green, blue;
  friend bool operator==(const Pixel&, const Pixel&) = default;
};

TEST(CArrays, AreArraysOfTheirShape) {
  int x[3][4];
  for (int i = 0; i < 12; ++i) x[i / 4][i % 4] = 10 * i;
  const DeviceNDArray<int> a = to_device(x);
  ASSERT_EQ(a.shape(), (Shape{3, 4}));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(a(i, j).item(), x[i][j]);

  int y[4][3] = {};
  a.transpose().copy_to_host(y);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(y[j][i], x[i][j]);
  double row[12] = {};  // one axis takes any shape in C order
  a.copy_to_host(row);
  EXPECT_EQ(row[7], x[1][3]);

  const double constant[2][1][3] = {{{1, 2, 3}}, {{4, 5, 6}}};
  EXPECT_EQ(array(constant).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(values(to_device<float>(constant)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const Pixel pixels[2] = {{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(to_device(pixels)(1).item(), pixels[1]);
}

TEST(CArrays, AreWrittenThroughAndIndexed) {
  const auto a = zeros<int>({2, 3});
  const int x[2][3] = {{1, 2, 3}, {4, 5, 6}}, row[3] = {7, 8, 9}, columns[2] = {2, 0};
  a.copy_to_device(x);
  EXPECT_EQ(values(a), (std::vector{1, 2, 3, 4, 5, 6}));
  a(0) = row;
  EXPECT_EQ(values(a), (std::vector{7, 8, 9, 4, 5, 6}));
  a(all) = row;  // broadcasts
  EXPECT_EQ(values(a(1)), (std::vector{7, 8, 9}));
  EXPECT_EQ(values(a(1, columns)), (std::vector{9, 7}));
  EXPECT_EQ(mapped_array_like(x).shape(), (Shape{2, 3}));
  EXPECT_EQ(device_array_like<float>(x).shape(), (Shape{2, 3}));
  EXPECT_THROW(a.copy_to_device(columns), ShapeError);
}

TEST(CArrays, AreCopiedAsRawMemory) {
  const std::int16_t x[2][3] = {{1, 2, 3}, {4, 5, 6}};
  std::int16_t y[3][2] = {};
  const DeviceAllocation memory = mem_alloc(sizeof x);
  memcpy_htod(DevicePtr(memory), x);
  memcpy_dtoh(y, DevicePtr(memory));
  EXPECT_EQ(y[2][1], 6);
  EXPECT_EQ(y[0][1], 2);
}

TEST(HostLists, ArraysOfTheStandardLibraryAreAxes) {
  const std::vector<std::array<double, 3>> points{{1, 2, 3}, {4, 5, 6}};
  const auto a = to_device(points);
  ASSERT_EQ(a.shape(), (Shape{2, 3}));
  EXPECT_EQ(values(a), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ((a.copy_to_host<std::vector<std::array<double, 3>>>()), points);
  std::array<std::array<int, 2>, 3> nested{};
  arange<int>(6).reshape({3, 2}).copy_to_host(nested);
  EXPECT_EQ(nested[2][0], 4);
  EXPECT_EQ(to_device(std::span<const std::array<double, 3>>(points)).shape(), (Shape{2, 3}));
  EXPECT_EQ(to_device(std::vector<std::array<int, 5>>()).shape(), (Shape{0, 5}));
  EXPECT_THROW((a.copy_to_host<std::vector<std::array<double, 4>>>()), ShapeError);
  EXPECT_THROW((a.copy_to_host<std::array<double, 6>>()), ShapeError);
  EXPECT_EQ((to_device({1, 2}).copy_to_host<std::array<int, 2>>()[1]), 2);
}

TEST(HostLists, VectorsOfBoolGoThereAndBack) {
  std::mt19937 random(1);
  for (const std::size_t length : {0u, 1u, 63u, 64u, 65u, 1000u}) {
    std::vector<bool> bits(length);
    for (auto&& bit : bits) bit = random() % 2 != 0;
    const DeviceNDArray<bool> a = to_device(bits);
    EXPECT_EQ(values(a), bits);
    EXPECT_EQ(a.copy_to_host<std::vector<bool>>(), bits);
    EXPECT_EQ(a.copy_to_host(std::vector<bool>(length)), bits);
    const auto b = zeros<bool>({std::int64_t(length)});
    b.copy_to_device(bits);
    EXPECT_EQ(values(b), bits);
    b.fill(false);
    b(all) = bits;
    EXPECT_EQ(values(b), bits);
  }
  const std::vector<bool> six{true, false, true, true, false, false};
  EXPECT_EQ(values(to_device<int>(six)), (std::vector{1, 0, 1, 1, 0, 0}));
  std::vector<bool> row(6);  // any shape in C order
  to_device(six).reshape({2, 3}).transpose().copy_to_host(row);
  EXPECT_EQ(row, (std::vector<bool>{true, true, false, false, true, false}));
}

TEST(HostLists, NestedContainersGoThereAndBack) {
  const Rows rows{{1, 2}, {3, 4}, {5, 6}};
  const DeviceNDArray<float> a = to_device(rows);
  ASSERT_EQ(a.shape(), (Shape{3, 2}));
  EXPECT_EQ(values(a), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(array(rows)), values(a));
  EXPECT_EQ(values(to_device<double>(rows)), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(to_device(rows, {.order = Order::f}).is_f_contiguous());
  EXPECT_EQ(values(to_device(rows, {.order = Order::f})), values(a));
  EXPECT_EQ(a.copy_to_host<Rows>(), rows);
  Rows into(2, std::vector<float>(3));
  a.transpose().copy_to_host(into);
  EXPECT_EQ(into, (Rows{{1, 3, 5}, {2, 4, 6}}));
  a(all) = Rows{{7, 8}};
  EXPECT_EQ(values(a), (std::vector<float>{7, 8, 7, 8, 7, 8}));

  const std::list<std::deque<std::vector<bool>>> deep{{{true, false}}, {{false, true}}};
  EXPECT_EQ(to_device(deep).shape(), (Shape{2, 1, 2}));
  EXPECT_EQ((to_device(deep).copy_to_host<std::list<std::deque<std::vector<bool>>>>()), deep);
}

TEST(HostLists, ListsOfDifferentLengthsAreRefusedWithBoth) {
  const auto text = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const ShapeError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_NE(text([] {
              to_device(Rows{{1, 2}, {3}});
            }).find("lists of 2 and 1 elements at depth 1"),
            std::string::npos);
  const auto a = zeros<float>({2, 2});
  Rows ragged{{1, 2}, {3, 4, 5}}, smaller{{1, 2}};
  EXPECT_NE(text([&] { a.copy_to_host(ragged); }).find("lists of 2 and 3"), std::string::npos);
  EXPECT_EQ(ragged[1][2], 5);
  EXPECT_THROW(a.copy_to_host(smaller), ShapeError);
  EXPECT_THROW(a(0).copy_to_host<Rows>(), ShapeError);
  EXPECT_THROW(a.copy_to_host<std::vector<Rows>>(), ShapeError);
  EXPECT_THROW(a.copy_to_device(ragged), ShapeError);
}

TEST(HostLists, WithoutElementsHaveNumPysShape) {
  EXPECT_EQ(to_device(Rows{}).shape(), Shape{0});  // np.array([])
  EXPECT_EQ(to_device(Rows(3)).shape(), (Shape{3, 0}));
  EXPECT_EQ(zeros<float>({3, 0}).copy_to_host<Rows>(), Rows(3));
  EXPECT_EQ((zeros<float>({0, 3}).copy_to_host<Rows>()), Rows());
}

TEST(HostLists, ViewsAreRead) {
  const auto halves = std::views::iota(0, 5) | std::views::transform([](int i) { return i * .5; });
  const DeviceNDArray<double> a = to_device(halves);
  EXPECT_EQ(values(a), (std::vector<double>{0, .5, 1, 1.5, 2}));
  EXPECT_EQ(values(array(std::views::iota(3, 6))), (std::vector{3, 4, 5}));
  // a view that remembers its first element, so that a const one has no begin()
  const auto sevens =
      std::views::iota(0, 50) | std::views::filter([](int i) { return i % 7 == 0; });
  EXPECT_EQ(values(to_device(sevens)), (std::vector{0, 7, 14, 21, 28, 35, 42, 49}));
  std::vector<int> host{1, 2, 3, 4};
  EXPECT_EQ(values(to_device(host | std::views::reverse)), (std::vector{4, 3, 2, 1}));
  EXPECT_EQ(values(to_device(host | std::views::take(2))), (std::vector{1, 2}));
  const auto table =
      std::views::iota(0, 3) | std::views::transform([](int i) {
        return std::views::iota(0, 2) | std::views::transform([i](int j) { return 10 * i + j; });
      });
  EXPECT_EQ(to_device(table).shape(), (Shape{3, 2}));
  EXPECT_EQ(values(to_device(table)), (std::vector{0, 1, 10, 11, 20, 21}));
  a(range(1, 3)) = std::views::iota(8, 10);
  EXPECT_EQ(values(a), (std::vector<double>{0, 8, 9, 1.5, 2}));
  to_device({5, 6, 7, 8}).copy_to_host(host | std::views::reverse);
  EXPECT_EQ(host, (std::vector{8, 7, 6, 5}));
  EXPECT_EQ(values(to_device(std::list<Pixel>{{1, 2, 3}})(0)), (std::vector<Pixel>{{1, 2, 3}}));
}

TEST(HostLists, AreReadBeforeAQueuedCopyReturns) {
  const Stream stream;
  Rows rows{{1, 2}, {3, 4}};
  const auto a = to_device(rows, {.stream = stream});
  const auto b = zeros<float>({2, 2}, {.stream = stream});
  b.copy_to_device(rows, stream);
  rows = {};
  stream.synchronize();
  EXPECT_EQ(values(a), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values(b), values(a));
}

}  // namespace
}  // namespace quarry
