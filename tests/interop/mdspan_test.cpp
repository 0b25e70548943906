// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/mdspan.hpp>
#include <quarry/pinned.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;
template <class T, std::size_t rank, class L = md::layout_right>
using Span = md::mdspan<T, md::dextents<std::int64_t, rank>, L>;

template <class M, class... I>
decltype(auto) at(const M& m, I... indices) {
  return m.data_handle()[m.mapping()(indices...)];
}

TEST(Mdspan, IsCopiedBothWays) {
  std::vector<double> memory(24);
  std::iota(memory.begin(), memory.end(), 0.);
  const Span<double, 2> c(memory.data(), 4, 6);
  const Span<double, 2, md::layout_left> f(memory.data(), 6, 4);
  EXPECT_EQ(to_device(c).shape(), (Shape{4, 6}));
  EXPECT_EQ(values(to_device(c)), memory);
  EXPECT_TRUE(to_device(f).is_f_contiguous());
  EXPECT_EQ(values(to_device(f).transpose()), memory);
  EXPECT_EQ(values(to_device<float>(Span<const double, 1>(memory.data(), 2))),
            (std::vector<float>{0, 1}));
  using Extents = md::dextents<std::int64_t, 2>;
  using Mapping = md::layout_stride::mapping<Extents>;
  const Span<double, 2, md::layout_stride> strided(
      memory.data() + 1, Mapping(Extents(2, 3), detail::MdspanArray<2>{12, 2}));
  EXPECT_EQ(values(to_device(strided)), (std::vector<double>{1, 3, 5, 13, 15, 17}));
  const md::mdspan<double, md::extents<int, 2, 3>> fixed(memory.data());
  EXPECT_EQ(to_device(fixed).shape(), (Shape{2, 3}));
  EXPECT_EQ(to_device(Span<double, 0>(memory.data() + 7)).item(), 7);

  full<double>({2, 3}, -1.).copy_to_host(strided);
  EXPECT_EQ(memory[17], -1);
  EXPECT_EQ(memory[16], 16);
  const auto a = zeros<double>({2, 3});
  a.copy_to_device(strided);
  EXPECT_EQ(values(a), std::vector<double>(6, -1));
  a(0) = Span<double, 1>(memory.data() + 6, 3);
  EXPECT_EQ(values(a(0)), (std::vector<double>{6, 7, 8}));
  EXPECT_THROW(a.copy_to_host(c), ShapeError);
  EXPECT_THROW(a.copy_to_device(c), ShapeError);
  static_assert(!WritableHostArray<Span<const double, 2>>);
}

TEST(Mdspan, SeesArraysInHostMemory) {
  const auto mapped = mapped_array<float>({3, 4});
  mapped.fill(0);
  mapped.stream().synchronize();
  const auto m = as_mdspan<2>(mapped);
  at(m, 1, 2) = 5;
  EXPECT_EQ(mapped(1, 2).item(), 5);
  const auto turned = as_mdspan<2>(mapped.transpose()(range(_, _, 2), range(1, 3)));
  EXPECT_EQ(turned.extent(0), 2);
  EXPECT_EQ(at(turned, 1, 0), 5);
  const auto right = as_mdspan<2, md::layout_right>(mapped);
  static_assert(std::is_same_v<decltype(right), const Span<float, 2>>);
  EXPECT_EQ(at(right, 1, 2), 5);
  EXPECT_EQ(at(as_mdspan<2, md::layout_left>(mapped.transpose()), 2, 1), 5);
  EXPECT_EQ(*as_mdspan<0>(mapped(1, 2)).data_handle(), 5);
}

TEST(Mdspan, RefusesWhatItCannotSee) {
  const auto mapped = mapped_array<float>({3, 4});
  EXPECT_THROW(as_mdspan<1>(mapped), ShapeError);
  EXPECT_THROW(as_mdspan<3>(mapped), ShapeError);
  EXPECT_THROW(as_mdspan<2>(mapped(all, range(_, _, -1))), LogicError);
  EXPECT_THROW((as_mdspan<2, md::layout_right>(mapped.transpose())), LogicError);
  EXPECT_THROW((as_mdspan<2, md::layout_left>(mapped)), LogicError);
  EXPECT_THROW((as_mdspan<2, md::layout_right>(mapped(all, range(2)))), LogicError);

  const auto array = full<float>({2, 3}, 3.f);
  array.stream().synchronize();
  if (array.device().is_cpu()) {
    EXPECT_EQ(at(as_mdspan<2>(array), 1, 2), 3);
    const DeviceNDArray<const float> constant = array;
    static_assert(std::is_same_v<decltype(as_mdspan<2>(constant))::element_type, const float>);
    EXPECT_THROW(as_mdspan<2>(constant(0).broadcast_to({2, 3})), LogicError);
    EXPECT_THROW(as_mdspan<2>(sliding_window_view(array(0), Shape{2})), LogicError);
    EXPECT_EQ(as_mdspan<2>(zeros<float>({0, 3})).extent(1), 3);
    EXPECT_EQ(as_mdspan<2>(array(range(1)).broadcast_to({1, 3})).stride(0), 1);
  } else {
    EXPECT_THROW(as_mdspan<2>(array), LogicError);
  }
}

TEST(Mdspan, SeesPinnedArrays) {
  auto pinned = pinned_array<int>({2, 3});
  std::iota(pinned.begin(), pinned.end(), 0);
  const auto m = as_mdspan<2>(pinned);
  EXPECT_EQ(at(m, 1, 1), 4);
  at(m, 1, 1) = 9;
  EXPECT_EQ(pinned(1, 1), 9);
  const auto& constant = pinned;
  static_assert(std::is_same_v<decltype(as_mdspan<2>(constant))::element_type, const int>);
  EXPECT_EQ(values(to_device(m)), (std::vector{0, 1, 2, 3, 9, 5}));
}

TEST(Mdspan, DrawnViewsAgreeWithTheArray) {
  std::mt19937 random(7);
  const auto mapped = mapped_array<int>({5, 6, 7});
  mapped.assign(arange<int>(210).reshape({5, 6, 7}));
  mapped.stream().synchronize();
  const auto draw = [&](std::int64_t extent) {
    const auto from = std::uniform_int_distribution<std::int64_t>(0, extent - 1)(random);
    return range(from, _, std::uniform_int_distribution<std::int64_t>(1, 3)(random));
  };
  for (int round = 0; round < 30; ++round) {
    std::array<std::int64_t, 3> axes{0, 1, 2};
    std::shuffle(axes.begin(), axes.end(), random);
    const auto view = mapped(draw(5), draw(6), draw(7)).transpose(axes);
    const auto m = as_mdspan<3>(view);
    const auto want = values(view);
    std::size_t position = 0;
    for (std::int64_t i = 0; i < m.extent(0); ++i)
      for (std::int64_t j = 0; j < m.extent(1); ++j)
        for (std::int64_t k = 0; k < m.extent(2); ++k) EXPECT_EQ(at(m, i, j, k), want[position++]);
    EXPECT_EQ(position, want.size());
    EXPECT_EQ(values(to_device(m)), want);
  }
}

}  // namespace
}  // namespace quarry
