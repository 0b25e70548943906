// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/ranked.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;
using Matrix = RankedNDArray<float, 2>;
using Row = RankedNDArray<float, 1>;

Matrix counted() { return arange<float>(12).reshape({3, 4}); }

TEST(Ranked, IndicesGiveTheRank) {
  const Matrix a = counted();
  static_assert(std::is_same_v<decltype(a(0)), Row>);
  static_assert(std::is_same_v<decltype(a[0]), Row>);
  static_assert(std::is_same_v<decltype(a(0, 1)), RankedNDArray<float, 0>>);
  static_assert(std::is_same_v<decltype(a(range(2), all)), Matrix>);
  static_assert(std::is_same_v<decltype(a(newaxis, 0)), Matrix>);
  static_assert(std::is_same_v<decltype(a(ellipsis, 0)), Row>);
  static_assert(std::is_same_v<decltype(a(ellipsis)), Matrix>);
  static_assert(std::is_same_v<decltype(a(Index(0))), DeviceNDArray<float>>);
  EXPECT_EQ(values(a(1)), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(values(a[-1](range(1, 3))), (std::vector<float>{9, 10}));
  EXPECT_EQ(values(a(ellipsis, 2)), (std::vector<float>{2, 6, 10}));
  EXPECT_EQ(a(all, newaxis, range(2)).shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(a(2, 3).item(), 11);
  EXPECT_EQ(a(std::vector<Index>{1, all}).shape(), Shape{4});
  EXPECT_EQ(values(eval(a(std::vector<int>{2, 0}, 1))), (std::vector<float>{9, 1}));
  EXPECT_EQ(values(eval(a(a > 8.f))), (std::vector<float>{9, 10, 11}));
  EXPECT_THROW(a(3), IndexError);
}

TEST(Ranked, IsADeviceNDArray) {
  Matrix a = counted();
  const Matrix b = a * 2.f + 1.f;
  EXPECT_EQ(values(b(0)), (std::vector<float>{1, 3, 5, 7}));
  EXPECT_EQ(a.sum().item(), 66);
  EXPECT_EQ(sum(a, 0).shape(), Shape{4});
  static_assert(std::is_same_v<decltype(expand_dims(a, 0)), DeviceNDArray<float>>);
  EXPECT_EQ(expand_dims(a, 0).shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(concatenate({a, b}, 1).shape(), (Shape{3, 8}));
  const DeviceNDArray<float> handle = a;
  EXPECT_EQ(handle.buffer(), a.buffer());
  EXPECT_EQ(values(a.copy_to_host<std::vector<std::vector<float>>>().size() == 3 ? a(0) : a(1)),
            (std::vector<float>{0, 1, 2, 3}));
  std::array<std::array<float, 4>, 3> host{};
  a.copy_to_host(host);
  EXPECT_EQ(host[2][1], 9);
}

TEST(Ranked, ViewsAreWrittenThroughAndNamesRebound) {
  Matrix a = counted();
  const Matrix same = a;
  a(0) = 7.f;
  a(1, range(2)) = a(2, range(2)) * 2.f;
  a(2) += 1.f;
  a(all, 3) = std::vector<float>{1, 2, 3};
  a(a > 10.f) = 0.f;
  EXPECT_EQ(values(same), (std::vector<float>{7, 7, 7, 1, 0, 0, 6, 2, 9, 10, 0, 3}));
  a = a + 1.f;
  EXPECT_EQ(values(a(1)), (std::vector<float>{1, 1, 7, 3}));
  EXPECT_EQ(values(same(1)), (std::vector<float>{0, 0, 6, 2}));
  a = same;
  EXPECT_EQ(a.buffer(), same.buffer());
  a(range(1)) = same(range(1, 2));
  EXPECT_EQ(values(same(0)), (std::vector<float>{0, 0, 6, 2}));
}

TEST(Ranked, ConversionsAreChecked) {
  const auto three = zeros<float>({2, 3, 4});
  try {
    const Matrix a = three;
    FAIL();
  } catch (const ShapeError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("3 axes"), std::string::npos);
    EXPECT_NE(text.find("(2, 3, 4)"), std::string::npos);
    EXPECT_NE(text.find("RankedNDArray of 2"), std::string::npos);
  }
  Matrix a = three(0);
  const auto before = a.buffer();
  EXPECT_THROW(a = three, ShapeError);
  EXPECT_THROW(a = three * 2.f, ShapeError);
  EXPECT_THROW(a = sum(three), ShapeError);
  EXPECT_EQ(a.buffer(), before);  // nothing has changed
  EXPECT_EQ(a.shape(), (Shape{3, 4}));
  EXPECT_THROW(Matrix(Shape{3}), ShapeError);
  EXPECT_THROW((RankedNDArray<double, 2>(DeviceNDArray<double>())), ShapeError);
  a = zeros<float>({5, 6});
  EXPECT_EQ(a.shape(), (Shape{5, 6}));
  EXPECT_EQ(Matrix(Shape{2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ((RankedNDArray<float, 3>().shape()), (Shape{0, 0, 0}));
  const RankedNDArray<float, 0> total = sum(ones<float>({4}));
  EXPECT_EQ(total.item(), 4);
}

TEST(Ranked, MembersKeepTheRankTheyKnow) {
  const Matrix a = counted();
  static_assert(std::is_same_v<decltype(a.transpose(1, 0)), Matrix>);
  static_assert(std::is_same_v<decltype(a.T()), Matrix>);
  static_assert(std::is_same_v<decltype(a.copy()), Matrix>);
  static_assert(std::is_same_v<decltype(a.astype<int>()), RankedNDArray<int, 2>>);
  static_assert(std::is_same_v<decltype(a.ravel()), Row>);
  static_assert(std::is_same_v<decltype(a.flatten()), Row>);
  static_assert(std::is_same_v<decltype(a.view<int>()), RankedNDArray<int, 2>>);
  EXPECT_EQ(values(a.transpose(1, 0)(0)), (std::vector<float>{0, 4, 8}));
  EXPECT_EQ(values(a.T().ravel()), values(a.T().copy().flatten()));
  EXPECT_EQ(a.astype<int>()(1, 1).item(), 5);
  const RankedNDArray<const float, 2> constant = a;
  static_assert(std::is_same_v<decltype(constant(0)), RankedNDArray<const float, 1>>);
  static_assert(std::is_same_v<decltype(constant.copy()), Matrix>);
  EXPECT_EQ(values(constant(2)), (std::vector<float>{8, 9, 10, 11}));
  const Stream stream;
  EXPECT_TRUE(a.bind(stream).stream() == stream);
}

}  // namespace
}  // namespace quarry
