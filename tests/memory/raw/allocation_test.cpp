// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <deque>
#include <numeric>
#include <thread>
#include <vector>

namespace quarry {
namespace {

TEST(DeviceAllocation, IsMemoryOfTheCurrentDevice) {
  const auto memory = mem_alloc(1000);
  EXPECT_EQ(memory.size(), 1000u);
  EXPECT_EQ(memory.device(), Device());
  EXPECT_EQ(static_cast<std::uintptr_t>(memory) % 256, 0u);
  EXPECT_EQ(static_cast<std::uintptr_t>(memory),
            reinterpret_cast<std::uintptr_t>(memory.device_pointer()));
  EXPECT_EQ((memory + 4).address(), static_cast<std::uintptr_t>(memory) + 4);
}

TEST(DeviceAllocation, IsFreedOnce) {
  auto memory = mem_alloc(100);
  memory.free();
  EXPECT_THROW(memory.free(), LogicError);
  EXPECT_THROW(memory.device_pointer(), LogicError);
  EXPECT_THROW(memory.view(0), LogicError);
  EXPECT_THROW(memory.as_buffer(1), LogicError);
  EXPECT_THROW(DeviceAllocation().free(), LogicError);
}

TEST(DeviceAllocation, OfNoBytesIsEmpty) {
  auto memory = mem_alloc(0);
  EXPECT_EQ(memory.size(), 0u);
  EXPECT_EQ(memory.device_pointer(), nullptr);
  memcpy_htod(memory, std::vector<int>());
  memset_d32(memory, 1, 0);
  EXPECT_EQ(memory.view(0, 0).size(), 0u);
  memory.free();
  EXPECT_THROW(memory.free(), LogicError);
}

TEST(DeviceAllocation, CopiesAndViewsShareIt) {
  for (const std::size_t offset : {0u, 1u}) {
    auto memory = mem_alloc(64);
    EXPECT_EQ(memory.use_count(), 1u);
    {
      const auto first = memory.view(offset);
      EXPECT_EQ(memory.use_count(), 2u);
      EXPECT_EQ(first.device_pointer(), memory.device_pointer() + offset);
      const auto second = first.view(offset, 10);
      EXPECT_EQ(memory.use_count(), 3u);
      EXPECT_EQ(second.device_pointer(), memory.device_pointer() + 2 * offset);
      EXPECT_EQ(second.size(), 10 - offset);
      EXPECT_EQ(second.buffer(), memory.buffer());
    }
    EXPECT_EQ(memory.use_count(), 1u);
  }
}

TEST(DeviceAllocation, AViewKeepsTheMemory) {
  auto memory = mem_alloc(16);
  memcpy_htod(memory, std::vector<int>{1, 2, 3, 4});
  const auto part = memory.view(8);
  memory = DeviceAllocation();
  std::vector<int> back(2);
  memcpy_dtoh(back, part);
  EXPECT_EQ(back, (std::vector<int>{3, 4}));
}

TEST(DeviceAllocation, AViewIsWithinIt) {
  const auto memory = mem_alloc(100).view(10, 90);
  EXPECT_THROW(memory.view(81), IndexError);
  EXPECT_THROW(memory.view(0, 81), IndexError);
  EXPECT_THROW(memory.view(5, 4), IndexError);
  EXPECT_EQ(memory.view(80).size(), 0u);
  EXPECT_THROW(memory.as_buffer(81), IndexError);
  EXPECT_THROW(memory.as_buffer(1, 80), IndexError);
  EXPECT_THROW(memory.as_buffer(2, ~std::size_t{0}), IndexError);
}

TEST(DeviceAllocation, FreeEndsItForAllWhoShareIt) {
  auto memory = mem_alloc(100);
  auto copy = memory;
  auto part = memory.view(10);
  EXPECT_THROW(part.free(), LogicError);
  copy.free();
  EXPECT_THROW(memory.free(), LogicError);
  EXPECT_THROW(memory.device_pointer(), LogicError);
  EXPECT_THROW(part.device_pointer(), LogicError);
}

TEST(DeviceAllocation, ArraysStandOnIt) {
  auto memory = mem_alloc(48);
  memcpy_htod(memory, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const auto buffer = memory.as_buffer(16, 8);
  EXPECT_EQ(buffer->data(), memory.device_pointer() + 8);
  const DeviceNDArray<float> a({Shape{4}, Strides{4}}, buffer->data(), buffer);
  memory.free();  // the array keeps the memory
  EXPECT_EQ(sum(a).item(), 2 + 3 + 4 + 5);
}

TEST(DeviceAllocation, ExternalMemoryIsSeenThroughAnArray) {
  const auto memory = mem_alloc(1024);
  memset_d8(memory, 0xAB, 1024);
  {
    const auto buffer = memory.as_buffer(1024);
    const DeviceNDArray<std::uint8_t> a({Shape{1024}, Strides{1}}, buffer->data(), buffer);
    std::vector<std::uint8_t> back(1024);
    a.copy_to_host(back);
    EXPECT_EQ(back, std::vector<std::uint8_t>(1024, 0xAB));
  }
  EXPECT_EQ(memory.use_count(), 1u);
  EXPECT_NE(memory.device_pointer(), nullptr);
}

TEST(MemAlloc, LikeAnArray) {
  EXPECT_EQ(mem_alloc_like(zeros<double>({3, 4})).size(), 96u);
  EXPECT_EQ(mem_alloc_like(std::vector<short>(5)).size(), 10u);
}

TEST(MemAlloc, MoreThanThereIsIsAMemoryError) {
  const std::size_t total = mem_get_info().total;
  EXPECT_GT(total, 0u);
  EXPECT_LE(mem_get_info().free, total);
  const std::size_t asked = total > (std::size_t{1} << 55) ? std::size_t{1} << 61 : total * 64;
  EXPECT_THROW(mem_alloc(asked), MemoryError);
  EXPECT_THROW(mem_alloc_pitch(asked / 64, 64), MemoryError);
  EXPECT_NO_THROW(mem_alloc(1000));
}

TEST(MemAlloc, TakesWhatThePoolOfArraysCaches) {
  if (Device().is_cpu()) GTEST_SKIP() << "the CPU device takes what the system promises";
  const std::size_t most = mem_get_info().free / 4 * 3;
  Buffer::allocate(most, default_stream());
  EXPECT_NO_THROW(mem_alloc(most));
  Buffer::allocate(most, default_stream());
  EXPECT_NO_THROW(mem_alloc_pitch(most / 1024, 1024));
}

TEST(MemAlloc, MemoryOfTwoDevicesIsFreedUnderEither) {
  auto first = mem_alloc(50);
  const DeviceGuard guard(Device::cpu());
  auto second = mem_alloc(60);
  EXPECT_EQ(second.device(), Device::cpu());
  first.free();
  second.free();
}

TEST(MemAllocPitch, GivesRowsForTheAccessSize) {
  for (const unsigned access : {4u, 8u, 16u}) {
    for (const std::size_t width : {1u, 100u, 4096u}) {
      const auto [memory, pitch] = mem_alloc_pitch(width, 7, access);
      EXPECT_GE(pitch, width);
      EXPECT_EQ(pitch % access, 0u);
      EXPECT_GE(memory.size(), 6 * pitch + width);
      memset_d2d8(memory, pitch, 3, width, 7);
      EXPECT_NE(static_cast<std::uintptr_t>(memory), 0u);
    }
  }
  for (const unsigned access : {0u, 1u, 2u, 12u, 32u}) {
    EXPECT_THROW(mem_alloc_pitch(10, 10, access), LogicError);
  }
  EXPECT_EQ(mem_alloc_pitch(0, 10).allocation.size(), 0u);
  EXPECT_EQ(mem_alloc_pitch(10, 0).allocation.size(), 0u);
  EXPECT_THROW(mem_alloc_pitch(~std::size_t{0} / 2, 16), Error);
}

TEST(MemGetAddressRange, IsTheAllocationOfAPointer) {
  const auto memory = mem_alloc(1000);
  const auto range = mem_get_address_range(memory + 10);
  EXPECT_EQ(range.base, DevicePtr(memory));
  EXPECT_EQ(range.bytes, 1000u);
  EXPECT_EQ(mem_get_address_range(memory.view(100)).base, DevicePtr(memory));
  const int local = 0;
  EXPECT_THROW(mem_get_address_range(DevicePtr(&local)), LogicError);
  if (Device().is_cpu()) return;
  const auto of_driver = mem_get_address_range(DevicePtr((memory + 10).address()));
  EXPECT_EQ(of_driver.base, DevicePtr(memory));
  EXPECT_GE(of_driver.bytes, 1000u);
}

TEST(DevicePtr, IsAnAddressThatKnowsItsMemory) {
  auto memory = mem_alloc(1000);
  const DevicePtr p = memory, bare(static_cast<std::uintptr_t>(memory));
  EXPECT_EQ(p, bare);
  EXPECT_EQ((p + 8) - 8, p);
  EXPECT_TRUE(static_cast<bool>(p));
  EXPECT_FALSE(static_cast<bool>(DevicePtr()));
  EXPECT_EQ(p.buffer(), memory.buffer());
  EXPECT_EQ(bare.buffer(), nullptr);
  const auto array = zeros<int>({3});
  EXPECT_EQ(DevicePtr(array).get(), array.device_pointer());
  memory.free();
  EXPECT_THROW(p.buffer(), LogicError);
  EXPECT_THROW(memset_d8(p, 0, 1), LogicError);
}

TEST(DevicePtr, MovesByAnyDistance) {
  const DevicePtr p(std::uintptr_t{1000});
  for (const std::ptrdiff_t bytes :
       {std::ptrdiff_t{0}, std::ptrdiff_t{-1}, std::ptrdiff_t{999}, PTRDIFF_MIN, PTRDIFF_MAX}) {
    EXPECT_EQ(p + bytes - bytes, p) << bytes;
    EXPECT_EQ((p - bytes).address(), 1000 - static_cast<std::uintptr_t>(bytes)) << bytes;
  }
}

TEST(PointerInfo, TellsTheKindsOfMemoryApart) {
  const int local = 0;
  const PointerInfo pageable = pointer_info(&local);
  EXPECT_EQ(pageable.kind, PointerKind::pageable);
  EXPECT_EQ(pageable.device, std::nullopt);
  if (Device().is_cpu()) GTEST_SKIP() << "all memory of the CPU device is the program's";
  const auto memory = mem_alloc(1000);
  const PointerInfo device = pointer_info(memory + 10);
  EXPECT_EQ(device.kind, PointerKind::device);
  EXPECT_EQ(device.device, Device());
  EXPECT_EQ(device.base, static_cast<std::uintptr_t>(memory));
  EXPECT_EQ(device.device_pointer, static_cast<std::uintptr_t>(memory) + 10);
  const auto managed = Buffer::allocate(100, default_stream(), managed_resource());
  EXPECT_EQ(pointer_info(managed->data()).kind, PointerKind::managed);
  const auto pinned = Buffer::allocate(100, default_stream(), pinned_resource());
  EXPECT_EQ(pointer_info(pinned->data()).kind, PointerKind::page_locked);
  EXPECT_EQ(to_string(pageable.kind), "pageable host memory");
}

}  // namespace
}  // namespace quarry
