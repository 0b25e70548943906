// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

namespace quarry {
namespace {

using test::counted;
using test::values;

struct Pixel {
  std::uint8_t red, green, blue;
};

TEST(Shape, ViewsWriteThrough) {
  const auto a = zeros<int>({3, 4});
  flip(a)(0, 0) = 1;
  EXPECT_EQ(a(2, 3).item(), 1);
  diagonal(a) = to_device({5, 6, 7});
  EXPECT_EQ(values(a), (std::vector{5, 0, 0, 0, 0, 6, 0, 0, 0, 0, 7, 1}));
  split(a, 2, 1)[1].fill(9);
  EXPECT_EQ(values(a), (std::vector{5, 0, 9, 9, 0, 6, 9, 9, 0, 0, 9, 9}));
  rot90(a)(0) += 1;  // the last column
  EXPECT_EQ(values(a), (std::vector{5, 0, 9, 10, 0, 6, 9, 10, 0, 0, 9, 10}));
  expand_dims(a, 1).fill(0);
  EXPECT_EQ(sum(a).item(), 0);
}

TEST(Shape, ManyPlacesAreReadOnly) {
  const auto a = to_device({1, 2, 3});
  static_assert(std::is_same_v<decltype(broadcast_to(a, {2, 3})), DeviceNDArray<const int>>);
  static_assert(
      std::is_same_v<decltype(sliding_window_view(a, 2)), DeviceNDArray<const std::int32_t>>);
  EXPECT_TRUE(sliding_window_view(a, 2).is_read_only());
  EXPECT_EQ(values(sliding_window_view(a, 2)), (std::vector{1, 2, 2, 3}));
  EXPECT_EQ(values(sum(sliding_window_view(a * 2, 2), 1)), (std::vector<std::int64_t>{6, 10}));
}

TEST(Shape, ConstArraysGiveConstViews) {
  const DeviceNDArray<const int> a = to_device({1, 2, 3});
  static_assert(std::is_same_v<decltype(flip(a)), DeviceNDArray<const int>>);
  static_assert(std::is_same_v<decltype(a.view<float>()), DeviceNDArray<const float>>);
  EXPECT_TRUE(flip(a).is_read_only());
  EXPECT_TRUE(a.view<float>().is_read_only());
}

TEST(Shape, MappedArraysStayMapped) {
  const auto a = mapped_array<int>({2, 3});
  a.fill(4);
  const auto back = flip(a, 1), turned = rot90(a), moved = moveaxis(a, 0, 1);
  static_assert(std::is_same_v<decltype(back), const MappedNDArray<int>>);
  a.stream().synchronize();
  back.at(0, 0) = 7;
  EXPECT_EQ(a.at(0, 2), 7);
  EXPECT_EQ(turned.at(0, 0), 7);
  EXPECT_EQ(moved.at(2, 0), 7);
  EXPECT_EQ(a.transpose(1, 0).at(2, 0), 7);
  EXPECT_EQ(a(newaxis).squeeze(0).at(0, 2), 7);
  const auto bytes = a.view<std::uint8_t>();
  static_assert(std::is_same_v<decltype(bytes), const MappedNDArray<std::uint8_t>>);
  EXPECT_EQ(bytes.at(0, 8), 7);
  for (const MappedNDArray<int>& part : split(a, 3, 1)) EXPECT_EQ(part.shape(), (Shape{2, 1}));
}

TEST(Shape, ViewsKeepTheStream) {
  const Stream stream;
  const auto a = zeros<int>({2, 3}).bind(stream);
  EXPECT_EQ(flip(a).stream(), stream);
  EXPECT_EQ(a.view<float>().stream(), stream);
  EXPECT_EQ(eval(flip(a + 1)).stream(), stream);
}

TEST(Shape, OfAnExpressionStaysOne) {
  const auto a = to_device(counted<int>({2, 3}));
  const auto e = flip(a + 10, 1);
  static_assert(Expression<decltype(e)>);
  EXPECT_EQ(values(e), (std::vector{12, 11, 10, 15, 14, 13}));
  const auto row = to_device({1, 2, 3});
  EXPECT_EQ(values(transpose(a * 0 + row)), (std::vector{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(values(expand_dims(row + 1, 1) * row), (std::vector{2, 4, 6, 3, 6, 9, 4, 8, 12}));
  EXPECT_EQ(values(flip(take(row, to_device({2, 0})) * 2)), (std::vector{2, 6}));
  EXPECT_EQ(values(flip(row(to_device({2, 0, 0})))), (std::vector{1, 1, 3}));
  EXPECT_EQ(values(split(row(to_device({2, 0})), 2)[0]), std::vector{3});
}

TEST(Shape, OfRecords) {
  const auto a = full<Pixel>({2, 2}, Pixel{1, 2, 3});
  diagonal(flip(a)) = Pixel{7, 8, 9};
  const auto bytes = values(a.view<std::uint8_t>());
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{7, 8, 9, 1, 2, 3, 1, 2, 3, 7, 8, 9}));
  EXPECT_EQ(a.view<std::uint8_t>().view<Pixel>().shape(), (Shape{2, 2}));
}

TEST(Shape, WithoutAxesOrElementsAndOfTheHighestRank) {
  const auto scalar = full<int>({}, 3);
  EXPECT_EQ(flip(scalar).item(), 3);
  EXPECT_EQ(transpose(scalar).item(), 3);
  EXPECT_EQ(expand_dims(scalar, {0, 1}).shape(), (Shape{1, 1}));
  const auto none = zeros<int>({0, 3, 2});
  EXPECT_EQ(flip(none).shape(), (Shape{0, 3, 2}));
  EXPECT_EQ(diagonal(none, 1, 1, 2).shape(), (Shape{0, 1}));
  EXPECT_EQ(split(none, 3, 1)[2].shape(), (Shape{0, 1, 2}));
  Shape ones;
  ones.assign(max_rank, 1);
  const auto deep = full<int>(ones, 4);
  EXPECT_EQ(values(flip(moveaxis(deep, 0, -1))), std::vector{4});
  EXPECT_THROW(expand_dims(deep, 0), ShapeError);
  EXPECT_THROW(sliding_window_view(deep, 1, 0), ShapeError);
}

TEST(Shape, ErrorsNameTheValues) {
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const ShapeError& e) {
      return e.what();
    }
    return "";
  };
  const auto a = zeros<int>({2, 5});
  EXPECT_EQ(message([&] { swapaxes(a, 0, 2); }), "axis 2 is out of range for 2 dimensions");
  EXPECT_EQ(message([&] { split(a, 2, 1); }),
            "axis 1 of extent 5 does not split into 2 equal parts");
  EXPECT_EQ(message([&] { dsplit(a, 1); }),
            "dsplit of an array of shape (2, 5); it must have 3 axes or more");
  EXPECT_EQ(message([&] { sliding_window_view(a, 3, 0); }),
            "a window of 3 along axis 0 of extent 2");
  EXPECT_EQ(message([&] { rot90(a, 1, {1, -1}); }), "rot90 wants two different axes, got 1 and -1");
  EXPECT_EQ(message([&] { a.view<double>(); }),
            "elements of 4 bytes seen as 8: 20 bytes are no whole number of them");
  EXPECT_EQ(message([&] { a.transpose().view<char>(); }),
            "elements of 4 bytes seen as 1: the last axis has stride 20, not 4");
}

TEST(ViewAs, ShowsTheSameBytes) {
  const auto a = to_device(counted<std::uint32_t>({3, 4}));
  const auto wide = a.view<std::uint64_t>();
  EXPECT_EQ(wide.shape(), (Shape{3, 2}));
  EXPECT_EQ(wide(1, 1).item(), 6 + (std::uint64_t{7} << 32));
  const auto narrow = a(range(_, _, -2)).view<std::uint16_t>();
  EXPECT_EQ(narrow.shape(), (Shape{2, 8}));
  EXPECT_EQ(values(narrow(0)), (std::vector<std::uint16_t>{8, 0, 9, 0, 10, 0, 11, 0}));
  a.view<float>()(0, 0) = 1.f;
  EXPECT_EQ(a(0, 0).item(), 0x3f800000u);
}

TEST(ViewAs, HasNumPysRules) {
  const auto a = zeros<std::int32_t>({4, 6});
  EXPECT_EQ(a.transpose().view<float>().shape(), (Shape{6, 4}));  // of one size: any layout
  EXPECT_EQ(a(all, range(0, 1)).view<std::int8_t>().shape(),
            (Shape{4, 4}));  // one element is dense
  EXPECT_EQ(a(range(0, 0)).transpose().view<std::int8_t>().shape(), (Shape{6, 0}));
  EXPECT_THROW(a(all, range(_, _, 2)).view<std::int8_t>(), ShapeError);
  EXPECT_THROW(a(all, range(_, _, -1)).view<std::int64_t>(), ShapeError);
  EXPECT_THROW(a(all, range(0, 3)).view<std::int64_t>(), ShapeError);
  EXPECT_THROW(full<int>({}, 1).view<std::int8_t>(), ShapeError);
  EXPECT_THROW(a.view<Pixel>(), ShapeError);  // 3 bytes do not divide 4
  EXPECT_EQ(a.view<std::int8_t>().view<Pixel>().shape(), (Shape{4, 8}));
  EXPECT_EQ(full<int>({}, 1).view<float>().shape(), Shape{});
}

}  // namespace
}  // namespace quarry
