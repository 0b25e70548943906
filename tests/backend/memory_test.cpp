// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <quarry/base/error.hpp>

#include "backend/chosen_device.hpp"

namespace quarry::backend {
namespace {

using namespace test;

constexpr std::size_t too_much = std::size_t{1} << 50;

std::uintptr_t number(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(Memory, PitchedRowsAreAlignedAndDoNotOverlap) {
  Device& device = chosen_device();
  for (const unsigned access : {4U, 8U, 16U}) {
    for (const std::size_t width : {1U, 255U, 256U, 257U, 5000U}) {
      const Device::Pitched made = device.allocate_pitched(width, 7, access);
      ASSERT_NE(made.memory, nullptr);
      EXPECT_GE(made.pitch, width);
      EXPECT_EQ(made.pitch % access, 0U);
      EXPECT_EQ(number(made.memory) % 256, 0U);
      const Bytes from = random_bytes(7 * width, access);
      Bytes back(from.size());
      device.copy(
          {Direction::host_to_device, made.memory, from.data(), width, 7, made.pitch, width},
          nullptr, true);
      device.copy(
          {Direction::device_to_host, back.data(), made.memory, width, 7, width, made.pitch},
          nullptr, true);
      EXPECT_EQ(back, from);
      device.free(made.memory, 7 * made.pitch);
    }
  }
  EXPECT_THROW(device.allocate_pitched(16, 16, 2), LogicError);
}

TEST(Memory, OfEveryKindIsNullWhenThereIsNone) {
  Device& device = chosen_device();
  EXPECT_EQ(device.allocate(too_much), nullptr);
  EXPECT_EQ(device.allocate_pitched(std::size_t{1} << 30, std::size_t{1} << 20, 4).memory, nullptr);
  EXPECT_EQ(device.allocate_pooled(too_much, nullptr), nullptr);
  EXPECT_EQ(device.allocate_host(too_much, {}), nullptr);
}

TEST(Memory, OfEveryKindMayBeOfNoBytes) {
  Device& device = chosen_device();
  void* const pooled = device.allocate_pooled(0, nullptr);
  void* const host = device.allocate_host(0, {});
  void* const managed = device.allocate_managed(0, Attach::global);
  EXPECT_NE(pooled, nullptr);
  EXPECT_NE(host, nullptr);
  EXPECT_NE(managed, nullptr);
  device.free_pooled(pooled, 0, nullptr);
  device.free_host(host);
  device.free(managed, 0);
}

class PooledMemory : public Streams {};
INSTANTIATE_TEST_SUITE_P(DefaultAndCreated, PooledMemory, testing::Bool());

TEST_P(PooledMemory, IsUsedAndFreedInStreamOrder) {
  Device& device = chosen_device();
  const std::size_t used = device.driver_pool().used;
  const Bytes from = random_bytes(5000, 1);
  Bytes back(5000);
  for (int round = 0; round < 10; ++round) {
    void* const memory = device.allocate_pooled(5000, stream_);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(number(memory) % 256, 0U);
    EXPECT_GE(device.driver_pool().used, used + 5000);
    device.copy({Direction::host_to_device, memory, from.data(), 5000}, stream_, false);
    device.copy({Direction::device_to_host, back.data(), memory, 5000}, stream_, false);
    device.free_pooled(memory, 5000, stream_);
    device.synchronize(stream_);
    ASSERT_EQ(back, from);
  }
  EXPECT_EQ(device.driver_pool().used, used);
  EXPECT_GE(device.driver_pool().used_high, used + 5000);
  EXPECT_GE(device.driver_pool().reserved_high, device.driver_pool().used_high);
  device.trim_driver_pool(0);
  EXPECT_GE(device.driver_pool().reserved, device.driver_pool().used);
}

TEST(PageLockedMemory, IsHostMemoryWithTheFlagsAskedFor) {
  Device& device = chosen_device();
  for (const unsigned bits : {0U, 1U, 2U, 3U, 4U, 7U}) {
    const HostMemoryFlags flags{
        .portable = (bits & 1) != 0, .mapped = (bits & 2) != 0, .write_combined = (bits & 4) != 0};
    void* const memory = device.allocate_host(1000, flags);
    ASSERT_NE(memory, nullptr);
    std::memset(memory, 42, 1000);
    EXPECT_EQ(device.host_flags(memory) & bits, bits);
    if (flags.mapped) {
      EXPECT_NE(device.device_pointer(memory), nullptr);
    }
    device.free_host(memory);
  }
}

TEST(PageLockedMemory, ThatIsUnknownHasNoFlagsAndNoDevicePointer) {
  std::vector<int> pageable(100);
  EXPECT_THROW(chosen_device().host_flags(pageable.data()), Error);
  EXPECT_THROW(chosen_device().device_pointer(pageable.data()), Error);
}

TEST(RegisteredMemory, IsPageLockedUntilItIsNot) {
  Device& device = chosen_device();
  std::vector<unsigned char> memory(10000);
  for (const std::size_t offset : {0U, 1U, 4095U}) {
    void* const first = memory.data() + offset;
    device.register_host(first, 5000, {.portable = true, .mapped = true, .read_only = true});
    EXPECT_EQ(device.pointer_info(first).kind, PointerKind::page_locked);
    EXPECT_NE(device.device_pointer(first), nullptr);
    device.unregister_host(first);
    EXPECT_EQ(device.pointer_info(first).kind, PointerKind::pageable);
  }
}

TEST(RegisteredMemory, IsRegisteredOnce) {
  Device& device = chosen_device();
  std::vector<unsigned char> memory(10000);
  EXPECT_THROW(device.register_host(memory.data(), 0, {}), LogicError);
  EXPECT_THROW(device.register_host(nullptr, 10, {}), LogicError);
  device.register_host(memory.data(), memory.size(), {});
  EXPECT_THROW(device.register_host(memory.data(), memory.size(), {}), LogicError);
  device.unregister_host(memory.data());
  device.register_host(memory.data(), memory.size(), {});
  device.unregister_host(memory.data());
}

TEST(RegisteredMemory, OfTheCpuIsUnregisteredOnceAndHoldsNothingElse) {
  std::vector<unsigned char> memory(10000);
  EXPECT_THROW(cpu().unregister_host(memory.data()), LogicError);
  cpu().register_host(memory.data() + 1000, 1000, {});
  EXPECT_THROW(cpu().unregister_host(memory.data() + 1001), LogicError);
  EXPECT_THROW(cpu().register_host(memory.data(), 1001, {}), LogicError);
  EXPECT_THROW(cpu().register_host(memory.data() + 1999, 1, {}), LogicError);
  cpu().register_host(memory.data(), 1000, {});
  cpu().register_host(memory.data() + 2000, 1, {});
  for (const std::size_t at : {0U, 1000U, 2000U}) cpu().unregister_host(memory.data() + at);
  EXPECT_THROW(cpu().unregister_host(memory.data()), LogicError);
}

TEST(ManagedMemory, IsSeenByHostAndDevice) {
  Device& device = chosen_device();
  for (const Attach attach : {Attach::global, Attach::host}) {
    auto* const memory = static_cast<unsigned char*>(device.allocate_managed(1000, attach));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(device.pointer_info(memory + 10).kind, PointerKind::managed);
    EXPECT_EQ(device.pointer_info(memory + 10).host_pointer,
              reinterpret_cast<std::uintptr_t>(memory + 10));
    if (attach == Attach::host) {
      device.attach_managed(nullptr, memory, Attach::global);
      device.synchronize();
    }
    const unsigned char pattern = 7;
    device.fill(memory, &pattern, 1, 1000, nullptr);
    device.synchronize();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(memory[i], 7);
    device.free(memory, 1000);
    EXPECT_NE(device.pointer_info(memory).kind, PointerKind::managed);
  }
  EXPECT_THROW(device.allocate_managed(1000, Attach::single), LogicError);
}

TEST(ManagedMemory, TakesAdviceAndMovesWithoutAChangeOfItsBytes) {
  Device& device = chosen_device();
  const auto attributes = device.attributes();
  if (attributes.at("CONCURRENT_MANAGED_ACCESS") == 0) GTEST_SKIP() << "pages do not move here";
  const std::size_t bytes = std::size_t{1} << 20;
  auto* const memory = static_cast<unsigned char*>(device.allocate_managed(bytes, Attach::global));
  ASSERT_NE(memory, nullptr);
  const Bytes values = random_bytes(bytes, 3);
  std::memcpy(memory, values.data(), bytes);
  for (const Advice advice :
       {Advice::set_read_mostly, Advice::unset_read_mostly, Advice::set_preferred_location,
        Advice::unset_preferred_location, Advice::set_accessed_by, Advice::unset_accessed_by}) {
    device.advise(memory, bytes, advice, device);
    device.advise(memory, bytes, advice, cpu());
  }
  device.prefetch(memory, bytes, device, nullptr);
  device.prefetch(memory, bytes, cpu(), nullptr);
  device.prefetch(memory, 0, cpu(), nullptr);
  device.synchronize();
  EXPECT_EQ(std::memcmp(memory, values.data(), bytes), 0);
  device.free(memory, bytes);
}

TEST(ManagedMemory, MayBelongToOneStream) {
  Device& device = chosen_device();
  const Stream stream = device.create_stream({});
  void* const memory = device.allocate_managed(1000, Attach::global);
  device.attach_managed(stream, memory, Attach::single);
  device.synchronize(stream);
  device.attach_managed(stream, memory, Attach::global);
  device.synchronize(stream);
  device.free(memory, 1000);
  device.destroy_stream(stream);
  std::vector<int> pageable(100);
  if (device.info().is_cpu) {
    EXPECT_THROW(device.attach_managed(nullptr, pageable.data(), Attach::host), LogicError);
  }
}

TEST(PointerInfo, TellsTheKindsApart) {
  Device& device = chosen_device();
  std::vector<int> pageable(100);
  int local = 0;
  EXPECT_EQ(device.pointer_info(nullptr).kind, PointerKind::pageable);
  EXPECT_EQ(device.pointer_info(pageable.data()).kind, PointerKind::pageable);
  EXPECT_EQ(device.pointer_info(&local).kind, PointerKind::pageable);
  EXPECT_EQ(device.pointer_info(&local).device, -1);

  auto* const host = static_cast<char*>(device.allocate_host(1000, {}));
  const PointerInfo pinned = device.pointer_info(host + 500);
  EXPECT_EQ(pinned.kind, PointerKind::page_locked);
  EXPECT_EQ(pinned.device, -1);
  EXPECT_EQ(pinned.host_pointer, reinterpret_cast<std::uintptr_t>(host + 500));
  const PointerInfo seen = device.pointer_info(device.device_pointer(host));
  EXPECT_EQ(seen.host_pointer, reinterpret_cast<std::uintptr_t>(host));
  device.free_host(host);
  EXPECT_EQ(device.pointer_info(host).kind, PointerKind::pageable);

  auto* const memory = static_cast<char*>(device.allocate(1000));
  const PointerInfo info = device.pointer_info(memory + 500);
  if (!device.info().is_cpu) {
    EXPECT_EQ(info.kind, PointerKind::device);
    EXPECT_EQ(info.device, device.info().id);
    EXPECT_EQ(info.device_pointer, reinterpret_cast<std::uintptr_t>(memory + 500));
    EXPECT_EQ(info.host_pointer, 0U);
    EXPECT_EQ(info.base, reinterpret_cast<std::uintptr_t>(memory));
    EXPECT_GE(info.bytes, 1000U);
  } else {
    EXPECT_EQ(info.kind, PointerKind::pageable);
  }
  device.free(memory, 1000);
}

TEST(Sharing, TheCpuHasNoPeersAndNoOtherProcesses) {
  const IpcBytes handle{};
  int value = 0;
  EXPECT_THROW(cpu().export_memory(&value), LogicError);
  EXPECT_THROW(cpu().import_memory(handle), LogicError);
  EXPECT_THROW(cpu().close_imported(&value), LogicError);
  EXPECT_THROW(cpu().export_event(nullptr), LogicError);
  EXPECT_THROW(cpu().import_event(handle), LogicError);
  cpu().enable_peer_access(cpu());
  cpu().disable_peer_access(cpu());
  if (Device& device = chosen_device(); !device.info().is_cpu) {
    EXPECT_THROW(cpu().enable_peer_access(device), LogicError);
    EXPECT_THROW(cpu().copy_from_peer(&value, &value, device, 4, nullptr, true), LogicError);
    EXPECT_THROW(device.enable_peer_access(cpu()), LogicError);
    EXPECT_THROW(device.disable_peer_access(cpu()), LogicError);
    EXPECT_THROW(device.copy_from_peer(&value, &value, cpu(), 4, nullptr, true), LogicError);
  }
}

}  // namespace
}  // namespace quarry::backend
