// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <quarry/array/mapped.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/backend.hpp"
#include "gate.hpp"

namespace quarry {
namespace {

MappedNDArray<int> counted(std::int64_t n) {
  const auto a = mapped_array<int>({n});
  std::iota(a.begin(), a.end(), 0);
  return a;
}

TEST(Mapped, KernelsSeeWhatTheHostWroteAndTheHostWhatKernelsWrote) {
  const auto a = mapped_array<std::uint32_t>({10});
  std::fill(a.begin(), a.end(), 123u);
  EXPECT_EQ(sum(a).item(), 1230u);
  a.fill(0);
  a.stream().synchronize();
  for (const std::uint32_t v : a) EXPECT_EQ(v, 0u);
  a.at(3) = 7;
  std::vector<std::uint32_t> got(10);
  a.copy_to_host(got);
  EXPECT_EQ(got[3], 7u);
}

TEST(Mapped, BytesSetByTheDevice) {
  const auto a = mapped_array<std::uint8_t>({32});
  a.fill(0xAB);
  a.stream().synchronize();
  EXPECT_EQ(std::count(a.begin(), a.end(), 0xAB), 32);
  std::fill(a.begin(), a.end(), std::uint8_t{32});
  std::vector<std::uint8_t> got(32);
  a.copy_to_host(got);
  EXPECT_EQ(got, std::vector<std::uint8_t>(32, 32));
}

TEST(Mapped, IsAnOperandOfEveryExpression) {
  const auto a = counted(10);
  EXPECT_EQ(sum(a + 1).item(), 55);
  EXPECT_EQ(sum((a + 1) * 2 - 1).item(), 100);
  EXPECT_EQ(sum(astype<int>(a < 5)).item(), 5);
  EXPECT_EQ(sum(astype<int>(a <= 5)).item(), 6);
  EXPECT_EQ(sum(astype<int>(a > 6)).item(), 3);
  EXPECT_EQ(sum(astype<int>(a >= 6)).item(), 4);
  EXPECT_EQ(sum(a * a).item(), 285);
  EXPECT_EQ(sum(floor_divide(a, 2)).item(), 20);
  EXPECT_EQ(sum(a / 2.0).item(), 22.5);
  EXPECT_EQ(sum(a % 2).item(), 5);
}

TEST(Mapped, GoesAsADeviceArrayWithoutACopy) {
  const auto a = counted(4);
  const DeviceNDArray<int> plain = a;
  EXPECT_EQ(plain.buffer(), a.buffer());
  plain += 10;
  plain.stream().synchronize();
  EXPECT_EQ(a.at(2), 12);
  EXPECT_EQ(a.buffer()->space(), MemorySpace::mapped);
}

TEST(Mapped, ViewsHaveBothPointers) {
  const auto a = mapped_array<int>({4, 6});
  std::iota(a.begin(), a.end(), 0);
  const auto part = a(range(1, 3), range(_, _, -2));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(part)>, MappedNDArray<int>>);
  ASSERT_NE(part.device_pointer(), nullptr);
  EXPECT_EQ(part.host_pointer(), a.host_pointer() + 6 + 5);
  EXPECT_EQ(reinterpret_cast<std::byte*>(part.host_pointer()) -
                reinterpret_cast<std::byte*>(a.host_pointer()),
            part.device_pointer() - a.device_pointer());
  EXPECT_EQ(part.at(1, 2), 13);
  EXPECT_EQ(sum(part).item(), 11 + 9 + 7 + 17 + 15 + 13);
  a(2).fill(-1);
  a(1, range(0, 2)) = 100;
  a(0, range(0, 2)) = a(1, range(0, 2));  // one view into another: elements, not handles
  a[3] = a(0) + 1;
  a.stream().synchronize();
  EXPECT_EQ(a.at(2, 5), -1);
  EXPECT_EQ(a.at(0, 1), 100);
  EXPECT_EQ(a.at(3, 0), 101);
  EXPECT_EQ(a.at(3, 5), 6);
}

TEST(Mapped, ReshapeTransposeSplitAndBind) {
  const auto a = counted(12);
  const auto m = a.reshape({3, -1});
  EXPECT_EQ(m.at(2, 1), 9);
  EXPECT_EQ(m.transpose().at(1, 2), 9);
  EXPECT_EQ(m.T().at(1, 2), 9);
  EXPECT_EQ(m.transpose({1, 0}).host_pointer(), a.host_pointer());
  EXPECT_EQ(m.ravel().at(11), 11);
  EXPECT_THROW(m.transpose().ravel(), ShapeError);
  EXPECT_EQ(m.reshape({1, 12}).squeeze().shape(), (Shape{12}));
  const auto parts = a.split(5);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].at(1), 11);
  EXPECT_EQ(parts[2].len(), 2);
  const Stream s = stream();
  EXPECT_EQ(a.bind(s).stream(), s);
  EXPECT_EQ(a.bind(s).host_pointer(), a.host_pointer());
}

TEST(Mapped, ElementsAreChecked) {
  const auto a = mapped_array<int>({2, 3});
  std::iota(a.begin(), a.end(), 0);
  EXPECT_EQ(a.at(-1, -1), 5);
  EXPECT_THROW(a.at(2, 0), IndexError);
  EXPECT_THROW(a.at(0, -4), IndexError);
  EXPECT_THROW(a.at(0), IndexError);
  try {
    a.at(1, 3);
    FAIL();
  } catch (const IndexError& e) {
    EXPECT_NE(std::string(e.what()).find("index 3 is outside axis 1 of extent 3"),
              std::string::npos);
  }
  EXPECT_THROW(a(all, 1).host_span(), LogicError);
  EXPECT_EQ(a(1).host_span().size(), 3u);
}

TEST(Mapped, OrdersAndLikes) {
  const auto f = mapped_array<double>({3, 4}, {.order = Order::f});
  EXPECT_TRUE(f.is_f_contiguous());
  EXPECT_EQ(&f.at(1, 0), f.host_pointer() + 1);
  EXPECT_EQ(mapped_array_like(f).strides(), f.strides());
  const Stream s = stream();
  const auto like = mapped_array_like(zeros<float>({2, 5}, {.stream = s}));
  EXPECT_EQ(like.shape(), (Shape{2, 5}));
  EXPECT_EQ(like.stream(), s);
  EXPECT_EQ(mapped_array_like(std::vector<int>(7)).shape(), (Shape{7}));
}

TEST(Mapped, ArraysWithoutElements) {
  const auto a = mapped_array<float>({0, 3});
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(a.begin(), a.end());
  EXPECT_NO_THROW(a.fill(1));
  EXPECT_THROW(a.at(0, 0), IndexError);
  EXPECT_THROW(mapped_array<float>({-1}), ShapeError);
}

struct Point {
  float x, y, z;
  friend bool operator==(const Point&, const Point&) = default;
};

TEST(Mapped, RecordsAndReadOnlyViews) {
  const auto a = mapped_array<Point>({3});
  std::fill(a.begin(), a.end(), Point{1, 2, 3});
  const MappedNDArray<const Point> view = a;
  static_assert(std::is_same_v<decltype(view.at(0)), const Point&>);
  EXPECT_EQ(view.at(2), (Point{1, 2, 3}));
  EXPECT_EQ(view(range(1, _)).host_pointer(), a.host_pointer() + 1);
  std::vector<Point> got(3);
  view.copy_to_host(got);
  EXPECT_EQ(got[1], (Point{1, 2, 3}));
}

TEST(Mapped, CopiesInAndOut) {
  const auto a = counted(6).reshape({2, 3});
  std::vector<int> got(6), want{0, 1, 2, 3, 4, 5};
  a.copy_to_host(got);
  EXPECT_EQ(got, want);
  const auto b = mapped_array<int>({2, 3});
  b.copy_to_device(want);
  b.copy_to_device(eval(a + 1));
  b.stream().synchronize();
  EXPECT_EQ(b.at(1, 2), 6);
  EXPECT_EQ(a.copy().buffer()->space(), MemorySpace::device);
}

TEST(Mapped, MemoryDroppedWithWorkInItsStreamIsNotHandedToTheHost) {
  if (Device().is_cpu()) GTEST_SKIP() << "work on the CPU waits for what its stream waits for";
  const Stream s = stream();
  const auto result = zeros<int>({100}, {.stream = s});
  const int* address = nullptr;
  s.synchronize();
  test::Gate gate(s);
  {
    const auto a = mapped_array<int>({100}, {.stream = s});
    address = a.host_pointer();
    std::fill(a.begin(), a.end(), 5);
    result.assign(a);
  }
  const auto next = mapped_array<int>({100}, {.stream = s});
  EXPECT_NE(next.host_pointer(), address);
  std::fill(next.begin(), next.end(), -1);
  gate.open();
  s.synchronize();
  EXPECT_EQ(sum(result).item(), 500);
}

TEST(Mapped, OptionsReachTheDriver) {
  constexpr unsigned portable = 1, mapped_flag = 2, combined = 4;  // CU_MEMHOSTALLOC_*
  const auto has = [](const auto& a, unsigned flags) {
    return (Device().backend().host_flags(a.host_pointer()) & flags) == flags;
  };
  EXPECT_TRUE(has(mapped_array<int>({9}), mapped_flag));
  EXPECT_TRUE(has(mapped_array<int>({9}, {.portable = true}), mapped_flag | portable));
  const auto wc = mapped_array<int>({9}, {.wc = true});
  EXPECT_TRUE(has(wc, mapped_flag | combined));
  std::fill(wc.begin(), wc.end(), 2);
  EXPECT_EQ(sum(wc).item(), 18);
  wc += 1;
  wc.stream().synchronize();
  EXPECT_EQ(wc.at(8), 3);
}

TEST(MappedScope, KernelsWorkOnHostArrays) {
  std::vector<float> a(1000, 1.f);
  std::vector<int> b(17, 2);
  {
    const auto [x, y] = mapped(a, b);
    x += 1.f;
    y *= 3;
  }  // waits
  EXPECT_EQ(a, std::vector<float>(1000, 2.f));
  EXPECT_EQ(b, std::vector<int>(17, 6));
}

TEST(MappedScope, AgainAndAgainAndInsideOfOneAnother) {
  std::vector<int> a(100, 0);
  for (int i = 0; i < 3; ++i) {
    const auto outer = mapped(a);
    const auto scope = pinned(a);
    const auto inner = mapped(a);
    inner += 1;
    inner.stream().synchronize();
    outer += 1;
  }
  EXPECT_EQ(a, std::vector<int>(100, 6));
  try {
    const auto x = mapped(a);
    x += 1;
    throw std::runtime_error("out of the scope");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(a[99], 7);
}

TEST(MappedScope, InAStreamAndOfConstArrays) {
  const Stream s = stream();
  const std::vector<int> a(50, 4);
  const auto x = mapped(s, a);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(x)>, DeviceNDArray<const int>>);
  EXPECT_EQ(x.stream(), s);
  EXPECT_EQ(sum(x).item(), 200);
  std::vector<int> empty;
  EXPECT_EQ(mapped(empty).size(), 0);
}

TEST(MappedScope, AViewKeepsTheMemoryLocked) {
  std::vector<int> a(5000, 1);
  DeviceNDArray<int> kept;
  {
    const auto x = mapped(a);
    kept = x(range(1000, 2000));
  }
  EXPECT_NE(detail::find_host_buffer(a.data(), 4), nullptr);
  EXPECT_EQ(sum(kept).item(), 1000);
  kept = {};
  EXPECT_EQ(detail::find_host_buffer(a.data(), 4), nullptr);
}

}  // namespace
}  // namespace quarry
