// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/host_allocation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "gate.hpp"

namespace quarry {
namespace {

static_assert(DeviceMemory<HostPointer> && DeviceMemory<PagelockedHostAllocation> &&
              DeviceMemory<ManagedAllocation>);
static_assert(!std::is_copy_constructible_v<PagelockedHostAllocation> &&
              !std::is_copy_constructible_v<ManagedAllocation> &&
              !std::is_copy_constructible_v<AlignedHostAllocation>);

template <class A>
std::span<int> ints(const A& allocation) {
  return {reinterpret_cast<int*>(allocation.data()), allocation.size() / sizeof(int)};
}

PointerKind kind_of(const void* memory) { return Device().backend().pointer_info(memory).kind; }

TEST(PagelockedHostAllocation, IsPageLockedUntilItIsFreed) {
  PagelockedHostAllocation block(4000);
  EXPECT_EQ(block.size(), 4000u);
  EXPECT_EQ(block.device(), Device());
  EXPECT_EQ(kind_of(block.data()), PointerKind::page_locked);
  std::ranges::fill(ints(block), 5);
  const auto a = zeros<int>({1000});
  memcpy_htod(a, ints(block));
  EXPECT_EQ(sum(a).item(), 5000);
  const void* const address = block.data();
  block.free();
  EXPECT_EQ(detail::find_host_buffer(address, 4), nullptr);
  EXPECT_THROW(block.free(), LogicError);
  EXPECT_THROW(block.data(), LogicError);
  EXPECT_THROW(block.size(), LogicError);
  EXPECT_THROW(block.get_device_pointer(), LogicError);
  EXPECT_THROW(block.get_flags(), LogicError);
}

TEST(PagelockedHostAllocation, HasTheFlagsThatWereAskedFor) {
  for (int bits = 0; bits < 8; ++bits) {
    const HostMemoryOptions asked{
        .portable = (bits & 1) != 0, .write_combined = (bits & 2) != 0, .mapped = (bits & 4) != 0};
    const PagelockedHostAllocation block(100, asked);
    const HostMemoryOptions got = block.get_flags();
    EXPECT_GE(got.portable, asked.portable) << bits;  // a driver may give more
    EXPECT_EQ(got.write_combined, asked.write_combined) << bits;
    EXPECT_GE(got.mapped, asked.mapped) << bits;
  }
}

TEST(PagelockedHostAllocation, MappedOnesAreDeviceMemory) {
  PagelockedHostAllocation block(4000, {.mapped = true});
  std::iota(ints(block).begin(), ints(block).end(), 0);
  const auto a = zeros<int>({1000});
  memcpy_dtod(a, block, 4000);
  EXPECT_EQ(sum(a).item(), 499500);
  const auto over = DeviceNDArray<int>(Layout{Shape{1000}, Strides{4}}, block.get_device_pointer(),
                                       block.buffer());
  over.fill(2);
  synchronize();
  EXPECT_EQ(ints(block)[999], 2);
  EXPECT_EQ(block.device_pointer(), block.get_device_pointer());
}

TEST(PagelockedHostAllocation, FreedWhileACopyReadsItIsNotGivenBack) {
  const Stream s = stream();
  const auto a = zeros<int>({1000}, {.stream = s});
  s.synchronize();
  PagelockedHostAllocation block(4000);
  std::ranges::fill(ints(block), 7);
  {
    test::Gate held(s);
    if (!Device().is_cpu()) {
      memcpy_htod_async(a, ints(block), s);
    } else {  // the CPU copies at once; the stream is named all the same
      block.buffer()->used_on(s);
    }
    block.free();  // does not wait
  }
  s.synchronize();
  if (Device().is_cpu()) return;
  EXPECT_EQ(sum(a).item(), 7000);
}

TEST(PagelockedHostAllocation, ArraysKeepTheMemory) {
  std::optional<DeviceNDArray<int>> over;
  {
    PagelockedHostAllocation block(40, {.mapped = true});
    over.emplace(Layout{Shape{10}, Strides{4}}, block.get_device_pointer(), block.buffer());
    block.free();
  }
  over->fill(3);
  EXPECT_EQ(sum(*over).item(), 30);
}

TEST(PagelockedHostAllocation, MovesItsMemory) {
  PagelockedHostAllocation a(40), b(80);
  const void* const address = a.data();
  b = std::move(a);
  EXPECT_EQ(b.data(), address);
  EXPECT_EQ(b.size(), 40u);
  EXPECT_THROW(a.data(), LogicError);  // NOLINT(bugprone-use-after-move)
}

TEST(PagelockedHostAllocation, MoreThanThereIsIsAnError) {
  EXPECT_THROW(PagelockedHostAllocation(std::size_t{1} << 50), MemoryError);
  EXPECT_EQ(PagelockedHostAllocation(0).size(), 0u);
}

TEST(ManagedAllocation, HasOneAddress) {
  ManagedAllocation block(4000);
  std::ranges::fill(ints(block), 3);
  EXPECT_EQ(block.get_device_pointer(), block.data());
  EXPECT_EQ(kind_of(block.data()), PointerKind::managed);
  const DeviceNDArray<int> over(Layout{Shape{1000}, Strides{4}}, block.get_device_pointer(),
                                block.buffer());
  over += 4;
  synchronize();
  EXPECT_EQ(std::ranges::count(ints(block), 7), 1000);
  EXPECT_THROW(block.get_flags(), LogicError);
}

TEST(ManagedAllocation, IsAttachedPrefetchedAndAdvised) {
  ManagedAllocation block(std::size_t{1} << 16, Attach::host);
  std::ranges::fill(ints(block), 3);
  const Stream s = stream();
  block.attach(Attach::single, s);
  block.attach(Attach::global, s);
  s.synchronize();
  if (Device().is_cpu() || Device().attribute("CONCURRENT_MANAGED_ACCESS")) {
    block.advise(Advice::set_preferred_location, Device());
    block.prefetch(Device(), s);
    block.prefetch(Device::cpu(), s);
    s.synchronize();
  }
  EXPECT_EQ(ints(block)[100], 3);
  block.free();
  EXPECT_THROW(block.attach(Attach::global), LogicError);
  EXPECT_THROW(block.prefetch(Device()), LogicError);
  EXPECT_THROW(block.free(), LogicError);
  EXPECT_THROW(ManagedAllocation(100, Attach::single), LogicError);
}

TEST(AlignedHostAllocation, BeginsAtAMultiple) {
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}, std::size_t{1} << 16}) {
    AlignedHostAllocation block(1001, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % alignment, 0u);
    EXPECT_EQ(block.size(), 1001u);
    EXPECT_EQ(block.alignment(), alignment);
    block.data()[1000] = std::byte{1};
    block.free();
    EXPECT_THROW(block.data(), LogicError);
    EXPECT_THROW(block.size(), LogicError);
    EXPECT_THROW(block.free(), LogicError);
  }
  EXPECT_EQ(AlignedHostAllocation(10).alignment(), 4096u);
  EXPECT_THROW(AlignedHostAllocation(10, 3), LogicError);
  EXPECT_THROW(AlignedHostAllocation(10, 0), LogicError);
  EXPECT_NE(AlignedHostAllocation(0).data(), nullptr);
}

TEST(BaseOf, IsTheMemoryThatAnArrayLiesIn) {
  std::vector<int, PinnedAllocator<int>> pinned(1000, 4);
  const HostPointer base = base_of(pinned);
  EXPECT_EQ(base.data(), reinterpret_cast<std::byte*>(pinned.data()));
  EXPECT_EQ(base.size(), 4000u);
  EXPECT_EQ(base.buffer(), detail::find_host_buffer(pinned.data(), 4));
  std::vector<int> ordinary(10, 4);
  EXPECT_THROW(base_of(ordinary), LogicError);
  RegisteredHostMemory locked(ordinary.data(), 40, {.mapped = true});
  EXPECT_EQ(base_of(ordinary).get_device_pointer(), locked.device_pointer());
}

TEST(BaseOf, KeepsTheMemory) {
  std::optional<HostPointer> base;
  {
    std::vector<int, PinnedAllocator<int>> pinned(1000, 4);
    base = base_of(pinned);
  }
  const std::vector<int, PinnedAllocator<int>> next(1000, -1);
  EXPECT_EQ(ints(*base)[999], 4);
}

TEST(PinnedAllocator, CanBeMapped) {
  const PinnedAllocator<int> mapped({.mapped = true});
  EXPECT_NE(mapped, PinnedAllocator<int>());
  std::vector<int, PinnedAllocator<int>> v(1000, 4, mapped);
  const HostPointer base = base_of(v);
  EXPECT_TRUE(base.get_flags().mapped);
  const DeviceNDArray<int> over(Layout{Shape{1000}, Strides{4}}, base.get_device_pointer(),
                                base.buffer());
  over += 1;
  synchronize();
  EXPECT_EQ(v[999], 5);
}

}  // namespace
}  // namespace quarry
