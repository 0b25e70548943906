// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <quarry/array/managed.hpp>
#include <quarry/array/mapped.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<xtensor/core/xmath.hpp>)
#include <xtensor/core/xmath.hpp>
#include <xtensor/core/xnoalias.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xview.hpp>
#endif

#include "backend/backend.hpp"

namespace quarry {
namespace {

bool is_pinned(const void* memory) { return detail::find_host_buffer(memory, 1) != nullptr; }
/// By the driver's word.
bool is_locked(const void* memory) {
  return Device().backend().pointer_info(memory).kind == PointerKind::page_locked;
}

TEST(PinnedArray, IsAnXtensorContainer) {
  auto a = pinned_array<int>({10});
  for (std::size_t i = 0; i < 10; ++i) a(i) = static_cast<int>(i);
  EXPECT_TRUE(is_pinned(a.data()));
  const auto total = [](const auto& e) { return static_cast<double>(xt::sum(e)()); };
  EXPECT_EQ(total(a + 1), 55);
  EXPECT_EQ(total((a + 1) * 2 - 1), 100);
  EXPECT_EQ(total(xt::cast<int>(a < 5)), 5);
  EXPECT_EQ(total(a * a), 285);
  EXPECT_EQ(total(a / 2), 20);
  EXPECT_EQ(total(a / 2.0), 22.5);
  EXPECT_EQ(total(a % 2), 5);
}

TEST(PinnedArray, GoesToTheDeviceAndStaysAsItIs) {
  auto a = pinned_array<std::uint32_t>({10});
  a.fill(123);
  const auto d = to_device(a);
  d.fill(0);
  d.stream().synchronize();
  EXPECT_EQ(a(9), 123u);
  d.copy_to_host(a);
  EXPECT_EQ(a(9), 0u);
}

TEST(PinnedArray, OrdersShapesAndLikes) {
  const auto c = pinned_array<float>({2, 3});
  EXPECT_EQ(c.layout(), xt::layout_type::row_major);
  const auto f = pinned_array<float>({2, 3}, {.order = Order::f, .portable = true});
  EXPECT_EQ(f.layout(), xt::layout_type::column_major);
  EXPECT_EQ(f.strides()[1], 2);
  EXPECT_TRUE(f.storage().get_allocator().options().portable);
  EXPECT_EQ(pinned_array_like(f).strides()[1], 2);
  const auto middle = zeros<float>({2, 3, 4}).transpose({1, 0, 2});
  const auto like = pinned_array_like(middle);
  EXPECT_EQ(like.shape(), (xt::dynamic_shape<std::size_t>{3, 2, 4}));
  EXPECT_EQ(like.strides()[0], 4);
  EXPECT_EQ(like.strides()[1], 12);
  EXPECT_TRUE(is_pinned(like.data()));
  EXPECT_EQ(pinned_array<int>({}).size(), 1u);
  EXPECT_EQ(pinned_array<int>({0, 3}).size(), 0u);
  EXPECT_THROW(pinned_array<int>({-1}), ShapeError);
  EXPECT_THROW(pinned_array<double>({std::int64_t{1} << 50}), MemoryError);
}

TEST(PinnedArray, HasTheStridesThatAreGiven) {
  const auto a = pinned_array<int>({2, 3, 4}, {.strides = Strides{16, 32, 4}});
  EXPECT_EQ(a.strides()[0], 4);
  EXPECT_EQ(a.strides()[1], 8);
  EXPECT_EQ(a.strides()[2], 1);
  EXPECT_EQ(pinned_array_like(a, {.strides = Strides{48, 16, 4}}).strides()[0], 12);
  EXPECT_THROW(pinned_array<int>({2, 3}, {.strides = Strides{16, 4}}), LogicError);
  EXPECT_THROW(pinned_array<int>({2, 3}, {.strides = Strides{0, 4}}), LogicError);
  EXPECT_THROW(pinned_array<int>({3}, {.strides = Strides{-4}}), LogicError);
  EXPECT_THROW(pinned_array<int>({3}, {.strides = Strides{4, 4}}), ShapeError);
}

TEST(PinnedArray, RoundTripsInEveryOrder) {
  for (const Order order : {Order::c, Order::f}) {
    auto a = pinned_array<double>({5, 7}, {.order = order});
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 7; ++j) a(i, j) = static_cast<double>(10 * i + j);
    }
    const auto d = to_device(a);
    EXPECT_EQ(d.is_f_contiguous(), order == Order::f);
    EXPECT_EQ(d(3, 4).item(), 34);
    EXPECT_EQ(d(4, 3).item(), 43);
    const auto back = pinned_array_like(d);
    auto sink = back;
    d.copy_to_host(sink);
    EXPECT_EQ(sink, a);
    EXPECT_EQ(d.copy_to_host(), a);
  }
}

TEST(PinnedArray, ExpressionsAreWrittenIntoItOrIntoNewPinnedMemory) {
  auto a = pinned_array<float>({100}, {.portable = true});
  a.fill(1);
  const float* const address = a.data();
  xt::noalias(a) = a * 3.f;
  EXPECT_EQ(a.data(), address);
  EXPECT_EQ(a(99), 3.f);
  a = a + 1.f;
  EXPECT_TRUE(is_pinned(a.data()));
  EXPECT_EQ(a(0), 4.f);
  const auto copy = a;
  EXPECT_TRUE(is_pinned(copy.data()));
  EXPECT_EQ(copy, a);
}

TEST(PinnedArray, AsynchronousCopiesOnOneStream) {
  constexpr std::int64_t n = 2 << 20;
  const Stream s = stream();
  auto source = pinned_array<std::uint64_t>({n});
  for (std::size_t i = 0; i < std::size_t{n}; ++i) source(i) = i;
  auto sink = pinned_array<std::uint64_t>({n});
  const auto d = device_array<std::uint64_t>({n}, {.stream = s});
  d.copy_to_device(source, s);
  d.copy_to_host(sink, s);
  s.synchronize();
  EXPECT_EQ(sink, source);
}

TEST(PinnedArray, MayBeDroppedWhileItIsCopied) {
  const Stream s = stream();
  const auto d = device_array<int>({4096}, {.stream = s});
  s.synchronize();
  std::promise<void> open;
  if (!Device().is_cpu()) {  // the CPU copies at once
    s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  }
  {
    auto a = pinned_array<int>({4096});
    a.fill(7);
    d.copy_to_device(a, s);
    auto sink = pinned_array<int>({4096});
    d.copy_to_host(sink, s);
  }
  auto next = pinned_array<int>({4096}), after = pinned_array<int>({4096});
  next.fill(-1);
  after.fill(-2);
  open.set_value();
  s.synchronize();
  EXPECT_EQ(sum(d).item(), 7 * 4096);
  EXPECT_EQ(next(17), -1);
  EXPECT_EQ(after(17), -2);
}

TEST(PageLocked, NamesOfPyCuda) {
  EXPECT_EQ(xt::sum(pagelocked_zeros<int>({3, 4}))(), 0);
  EXPECT_EQ(pagelocked_empty<float>({3}, {.order = Order::f}).size(), 3u);
  const xt::xarray<double, xt::layout_type::column_major> f = xt::ones<double>({2, 3});
  const auto like = pagelocked_zeros_like(f);
  EXPECT_EQ(like.strides()[1], 2);
  EXPECT_EQ(like(1, 2), 0.0);
  const auto strided = zeros<float>({4, 4})(all, range(_, _, 2));
  EXPECT_THROW(pagelocked_empty_like(strided), LogicError);
  EXPECT_NO_THROW(pinned_array_like(strided));
}

TEST(Aligned, StartsWhereItIsTold) {
  for (const std::size_t alignment : {16u, 4096u, 65536u}) {
    const auto a = aligned_zeros<float>({33, 5}, {.order = Order::f, .alignment = alignment});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % alignment, 0u);
    EXPECT_EQ(a(32, 4), 0.f);
    EXPECT_EQ(a.strides()[1], 33);
  }
  const auto page = aligned_empty_like(xt::xarray<int>::from_shape({3, 2}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page.data()) % 4096, 0u);
  EXPECT_EQ(aligned_zeros_like(page)(2, 1), 0);
  EXPECT_FALSE(is_pinned(page.data()));
  EXPECT_THROW(aligned_empty<int>({3}, {.alignment = 48}), LogicError);
  EXPECT_THROW(aligned_empty_like(zeros<float>({4, 4})(all, range(_, _, 2))), LogicError);
}

TEST(Registered, AnArrayStaysWhereItIs) {
  xt::xarray<float> a = xt::ones<float>({40, 50});
  {
    auto handle = register_host_memory(a);
    EXPECT_TRUE(is_pinned(a.data()));
    handle.array()(3, 4) = 9;
    EXPECT_EQ(handle.base(), nullptr);
    const Stream s = stream();
    const auto d = to_device(a, s);
    s.synchronize();
    EXPECT_EQ(d(3, 4).item(), 9.f);
    handle.unregister();
    EXPECT_FALSE(is_pinned(a.data()));
    EXPECT_THROW(handle.unregister(), LogicError);
  }
  EXPECT_EQ(a(3, 4), 9.f);
  const auto view = xt::view(a, xt::range(3, 5), xt::range(4, 8));
  const auto handle = register_host_memory(view);
  EXPECT_EQ(handle.array()(0, 0), 9.f);
  EXPECT_TRUE(is_locked(&a(4, 7)));
}

TEST(Registered, WhatIsHandedOverLivesWithIt) {
  auto handle = register_host_memory(std::vector<int>(1000, 3), {.mapped = true});
  EXPECT_NE(handle.base(), nullptr);
  EXPECT_EQ(handle.array()(999), 3);
  EXPECT_NE(handle.memory().device_pointer(), nullptr);
}

TEST(Scopes, OfXtensorArrays) {
  xt::xarray<int> a = xt::ones<int>({30, 40});
  const xt::xarray<int> b = 2 * a;
  {
    const auto scope = pinned(a, b);
    EXPECT_TRUE(is_locked(a.data()) && is_locked(b.data()));
  }
  EXPECT_FALSE(is_locked(a.data()));
  {
    const auto [x, y] = mapped(a, b);
    x += y;
  }
  EXPECT_EQ(a, xt::xarray<int>(3 * xt::ones<int>({30, 40})));
  auto column = xt::view(a, xt::all(), 7);
  {
    const auto x = mapped(column);
    mapped(column)(all) = 8;
  }
  EXPECT_EQ(a(3, 7), 8);
  EXPECT_EQ(a(3, 6), 3);
}

TEST(HostVisible, AdaptsForXtensor) {
  const auto a = mapped_array<float>({3, 4}, {.order = Order::f});
  auto x = xadapt(a);
  x.fill(2.f);
  EXPECT_EQ(sum(a).item(), 24.f);
  a(1) = 5.f;
  a.stream().synchronize();
  EXPECT_EQ(xadapt(a(range(1, 3), range(_, _, -1)))(0, 0), 5.f);
  EXPECT_EQ(xt::sum(xadapt(a))(), 36.f);
  const auto m = managed_zeros<int>({4});
  xadapt(m)(2) = 3;
  EXPECT_EQ(m.copy_to_host(), (xt::xarray<int>{0, 0, 3, 0}));
}

}  // namespace
}  // namespace quarry
