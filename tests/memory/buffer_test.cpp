// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"
#include "runtime/inventory.hpp"

namespace quarry {
namespace {

PoolStatistics now() { return pool_statistics(get_current_device()); }

TEST(Buffer, KnowsItsBytesStreamAndDevice) {
  const Stream s = stream();
  const auto buffer = Buffer::allocate(1000, s);
  EXPECT_EQ(buffer->bytes(), 1000u);
  EXPECT_EQ(buffer->stream(), s);
  EXPECT_EQ(buffer->device(), s.device());
  EXPECT_NE(buffer->data(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 256, 0u);
}

TEST(Buffer, IsPrivateUntilSomebodyAsksForItsAddress) {
  const Stream s = stream();
  EXPECT_TRUE(Buffer::allocate(1000, s)->is_private());
  EXPECT_NE(Buffer::allocate(1000, s)->address(), nullptr);
  const auto buffer = Buffer::allocate(1000, s);
  EXPECT_NE(buffer->data(), nullptr);
  EXPECT_FALSE(buffer->is_private());
  EXPECT_FALSE(Buffer::allocate(1000, s, current_resource())->is_private());
  const auto a = zeros<float>({100});
  EXPECT_TRUE(a.buffer()->is_private());
  EXPECT_NE(a(range(1, 3)).device_pointer(), nullptr);
  EXPECT_FALSE(a.buffer()->is_private());
  EXPECT_FALSE(managed_array<float>({100}).buffer()->is_private());
  auto owner = std::make_shared<std::vector<float>>(3);
  EXPECT_FALSE(
      Buffer::adopt(owner->data(), 12, default_stream(Device::cpu()), owner)->is_private());
}

TEST(Buffer, ZeroBytesTakeNoMemory) {
  const auto before = now();
  const auto buffer = Buffer::allocate(0, default_stream());
  EXPECT_EQ(buffer->bytes(), 0u);
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_EQ(now().active_bytes, before.active_bytes);
  EXPECT_EQ(now().allocations, before.allocations);
}

TEST(Buffer, FreedMemoryIsUsedAgainInItsStream) {
  const Stream s = stream();
  auto buffer = Buffer::allocate(5000, s);
  const auto* const address = buffer->data();
  buffer.reset();
  const auto before = now();
  buffer = Buffer::allocate(4990, s);
  EXPECT_EQ(buffer->data(), address);
  EXPECT_EQ(now().allocations, before.allocations);
  EXPECT_LT(now().held_bytes, before.held_bytes);
  const auto second = Buffer::allocate(5000, s);
  EXPECT_NE(second->data(), address);
}

TEST(Buffer, MemoryOfAStreamThatIsGoneIsUsedByOthers) {
  trim_pool(get_current_device());
  const std::byte* address = nullptr;
  {
    const Stream s = stream();
    address = Buffer::allocate(3'000'000, s)->data();
  }
  const Stream other = stream();
  EXPECT_EQ(Buffer::allocate(3'000'000, other)->data(), address);
}

TEST(Buffer, StatisticsAddUpAndTrimGivesBack) {
  trim_pool(get_current_device());
  const auto before = now();
  EXPECT_EQ(before.held_bytes, 0u);
  std::size_t taken = 0;
  {
    const auto a = Buffer::allocate(1 << 20, default_stream());
    EXPECT_EQ(now().active_bytes, before.active_bytes + (1 << 20));
    EXPECT_EQ(now().allocations, before.allocations + 1);
    taken = now().active_bytes + now().held_bytes;
  }
  EXPECT_EQ(now().active_bytes, before.active_bytes);
  EXPECT_EQ(now().active_bytes + now().held_bytes, taken);
  EXPECT_GE(now().largest_free_bytes, std::size_t{1} << 20);
  trim_pool(get_current_device());
  EXPECT_EQ(now().held_bytes, 0u);
}

TEST(Buffer, TheSizeOfABlockLosesAtMostAnEighthOr255Bytes) {
  for (std::size_t bytes = 513; bytes < 10'000'000; bytes = bytes * 5 / 4 + 7) {
    const auto before = now().active_bytes;
    const auto buffer = Buffer::allocate(bytes, default_stream());
    const std::size_t taken = now().active_bytes - before;
    EXPECT_GE(taken, bytes);
    EXPECT_LE(taken, bytes + std::max<std::size_t>(bytes / 8 + 1, 255));
  }
  trim_pool(get_current_device());
}

TEST(Buffer, MoreThanTheDeviceHasIsAMemoryErrorThatSaysHowMuch) {
  const auto before = now();
  const std::size_t total = get_current_device().memory_info().total;
  const std::size_t asked = total > (std::size_t{1} << 55) ? std::size_t{1} << 61 : total * 64;
  try {
    Buffer::allocate(asked, default_stream());
    FAIL();
  } catch (const MemoryError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find(std::to_string(asked)), std::string::npos) << text;
    EXPECT_NE(text.find(to_string(get_current_device())), std::string::npos) << text;
    EXPECT_NE(text.find("free"), std::string::npos) << text;
  }
  EXPECT_EQ(now().active_bytes, before.active_bytes);
  EXPECT_EQ(sum(ones<int>({10})).item(), 10);  // the next kernel works
}

TEST(Buffer, AnArrayLargerThanTheDeviceIsAMemoryError) {
  const auto huge = static_cast<std::int64_t>(get_current_device().memory_info().total) * 8;
  EXPECT_THROW(zeros<double>({huge}), MemoryError);
  auto a = ones<double>({3});
  EXPECT_THROW(a = zeros<double>({huge}), MemoryError);
  EXPECT_EQ(sum(a).item(), 3.0);  // the destination of a failed assignment stays as it was
}

TEST(Buffer, SizesThatRoundingUpWouldWrapAreRefused) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {most, most - 100, most / 2, (most >> 2) + 2}) {
    EXPECT_THROW(Buffer::allocate(bytes, default_stream()), SizeOverflow);
  }
}

TEST(Buffer, AdoptedMemoryIsKeptByItsOwnerAndNotFreed) {
  const Device cpu = Device::cpu();
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> watch = owner;
  {
    const auto buffer = Buffer::adopt(owner->data(), 12, default_stream(cpu), owner);
    const DeviceNDArray<float> a({Shape{3}, Strides{4}}, buffer->data(), buffer);
    a += 1.f;
    a.stream().synchronize();
    EXPECT_EQ((*owner)[2], 4.f);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(sum(a).item(), 9.f);
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_THROW(Buffer::adopt(nullptr, 0, default_stream(cpu), nullptr), LogicError);
}

/// An owner that says when it is dropped.
struct Owner {
  explicit Owner(std::atomic<bool>& over) : is_over(over) {}
  ~Owner() { is_over = true; }
  std::atomic<bool>& is_over;
  std::shared_ptr<Buffer> memory = Buffer::allocate(4000, default_stream(), device_resource());
};

/// What uses adopted memory when its last handle goes.
struct AdoptedUse {
  const char* name;
  bool reads_in_home, writes, drops_streams;
};
constexpr AdoptedUse adopted_uses[] = {{"the home stream reads it", true, false, false},
                                       {"another stream reads it", false, false, false},
                                       {"another stream writes it", false, true, false},
                                       {"a stream without handles reads it", false, false, true}};

/// Streams whose work waits until `open`: behind gates, or on the fake driver until somebody waits.
class HeldStreams {
 public:
  HeldStreams() {
    if (is_fake()) fake::set_behaviour({.eagerness = 0, .polls_run_work = false});
  }
  ~HeldStreams() {
    if (is_fake()) fake::set_behaviour(before_);
  }
  HeldStreams(const HeldStreams&) = delete;
  HeldStreams& operator=(const HeldStreams&) = delete;

  Stream make() {
    const Stream s = stream({.non_blocking = true});
    if (!is_fake()) gates_.push_back(std::make_unique<test::Gate>(s));
    return s;
  }
  void open() { gates_.clear(); }

 private:
  static bool is_fake() { return test::kind() == test::Kind::fake; }
  const fake::Behaviour before_ = is_fake() ? fake::behaviour() : fake::Behaviour();
  std::vector<std::unique_ptr<test::Gate>> gates_;
};

void expect_owner_until_done(const AdoptedUse& use) {
  const auto values = full<float>({1000}, 2.f);
  values.stream().synchronize();
  std::atomic<bool> is_over = false;
  HeldStreams streams;
  Event done;
  std::vector<Stream> kept;
  {
    const Stream home = streams.make();
    const Stream user = use.reads_in_home ? home : streams.make();
    if (!use.drops_streams) kept = {home, user};
    auto owner = std::make_shared<Owner>(is_over);
    std::byte* const memory = owner->memory->data();
    const DeviceNDArray<float> a({Shape{1000}, Strides{4}}, memory,
                                 Buffer::adopt(memory, 4000, home, std::move(owner)));
    use.writes ? a.copy_to_device(values, user) : values.copy_to_device(a, user);
    done.record(user);
  }
  EXPECT_FALSE(is_over) << "work that uses it is queued";
  stream();
  EXPECT_FALSE(is_over);
  streams.open();
  done.synchronize();
  synchronize();
  EXPECT_TRUE(is_over);
}

TEST(Buffer, TheOwnerOfAdoptedMemoryLivesUntilTheWorkOfAllItsStreamsIsDone) {
  for (const AdoptedUse& use : adopted_uses) {
    SCOPED_TRACE(use.name);
    expect_owner_until_done(use);
  }
}

/// Nothing of the home stream is at work, whatever other streams hold.
TEST(Buffer, ToDropAdoptedMemoryWaitsForNoOtherStream) {
  const auto memory = Buffer::allocate(4000, default_stream());
  for (const Stream& home : {default_stream(), stream(), stream({.non_blocking = true})}) {
    auto owner = std::make_shared<int>();
    const std::weak_ptr<int> is_alive = owner;
    auto buffer = Buffer::adopt(memory->data(), 4000, home, std::move(owner));
    const Stream other = stream();
    test::Gate gate(other);
    buffer.reset();
    EXPECT_FALSE(other.is_done());
    gate.open();
    synchronize();
    EXPECT_TRUE(is_alive.expired());
  }
}

TEST(Buffer, WhoSettlesADeviceMeetsNoOwnersOfOtherDevices) {
  if (test::kind() != test::Kind::fake || gpus.size() < 2) GTEST_SKIP() << "wants two devices";
  std::atomic<bool> is_over = false, others_are_over = false;
  const auto drop_in_use = [](const Stream& s, std::atomic<bool>& over) {
    const DeviceGuard guard(s.device());
    auto owner = std::make_shared<Owner>(over);
    std::byte* const memory = owner->memory->data();
    const DeviceNDArray<float> a({Shape{1000}, Strides{4}}, memory,
                                 Buffer::adopt(memory, 4000, s, std::move(owner)));
    a.bind(s).fill(1.f);
  };
  const Stream s = stream({.device = Device::cuda(1)}), t = stream();
  test::Gate gate(s);
  for (int i = 0; i < 40; ++i) drop_in_use(s, others_are_over);
  drop_in_use(t, is_over);
  runtime::owned_inventory(Device::cuda(0));
  EXPECT_TRUE(is_over);
  EXPECT_FALSE(others_are_over);
  gate.open();
  runtime::owned_inventory(Device::cuda(1));
  EXPECT_TRUE(others_are_over);
}

TEST(Buffer, TheOwnerOfAdoptedMemoryMayGoInACallback) {
  std::atomic<bool> is_over = false;
  const Stream s = stream({.non_blocking = true});
  auto owner = std::make_shared<Owner>(is_over);
  std::byte* const memory = owner->memory->data();
  auto buffer = Buffer::adopt(memory, 4000, s, std::move(owner));
  s.add_callback([&buffer](const Stream&) { buffer.reset(); });
  s.synchronize();
  synchronize();
  EXPECT_TRUE(is_over);
}

TEST(Buffer, WhatTheDeviceCannotUseIsNotAdopted) {
  const Stream home = default_stream();
  const auto owner = std::make_shared<std::vector<float>>(1000);
  const auto adopt = [&](void* memory, std::size_t bytes, MemorySpace space) {
    return Buffer::adopt(memory, bytes, home, owner, space);
  };
  for (const auto space : {MemorySpace::device, MemorySpace::mapped, MemorySpace::managed}) {
    EXPECT_THROW(adopt(nullptr, 4, space), LogicError);
    if (home.device().is_cpu()) continue;
    try {
      adopt(owner->data(), 4000, space);
      ADD_FAILURE();
    } catch (const LogicError& e) {
      EXPECT_NE(std::string(e.what()).find("pageable"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(adopt(owner->data(), 4000, MemorySpace::host)->bytes(), 4000u) << "for copies";
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const auto space : {MemorySpace::device, MemorySpace::host}) {
    EXPECT_THROW(adopt(owner->data(), most, space), LogicError) << "beyond the last address";
  }
  const auto known = Buffer::allocate(4096, home, device_resource());
  const auto again = Buffer::adopt(known->data(), 4096, home, known);
  EXPECT_EQ(again->data(), known->data());
  if (!home.device().is_cpu()) {
    EXPECT_THROW(Buffer::adopt(known->data(), 5 << 20, home, known), LogicError) << "too large";
  }
}

TEST(Buffer, MemoryFreedWhileAnotherStreamUsesItIsReusedOnlyAfterwards) {
  const Stream home = stream(), other = stream();
  std::vector<int> got(1000);
  const auto result = zeros<int>({1000}, {.stream = other});
  other.synchronize();
  test::Gate gate(other);
  {
    const auto a = full<int>({1000}, 1, {.stream = home});
    home.synchronize();
    result.copy_to_device(a, other);  // waits behind the gate
  }
  // the freed memory may not be written by its home stream before the other stream has read it
  const auto b = full<int>({1000}, 2, {.stream = home});
  gate.open();
  other.synchronize();
  result.copy_to_host(got);
  EXPECT_EQ(got, std::vector<int>(1000, 1));
  EXPECT_EQ(sum(b).item(), 2000);
}

TEST(Buffer, MemoryFreedOnItsOwnStreamIsReusedWithoutWaiting) {
  const Stream home = stream();
  const auto result = zeros<int>({1000}, {.stream = home});
  {
    const auto a = full<int>({1000}, 1, {.stream = home});
    result(all) = a + 1;
  }
  const auto b = full<int>({1000}, 7, {.stream = home});
  EXPECT_EQ(sum(result).item(), 2000);
  EXPECT_EQ(sum(b).item(), 7000);
}

TEST(Buffer, ManyThreadsAllocateAndFree) {
  const auto before = now();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &wrong] {
      const Stream s = stream();
      std::vector<int> host(300);
      for (int i = 0; i < 40; ++i) {
        const auto a = full<int>({300}, t * 1000 + i, {.stream = s});
        const auto b = a.copy();
        b.copy_to_host(host);
        wrong += host[299] != t * 1000 + i;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(now().active_bytes, before.active_bytes);
}

TEST(Buffer, FreedByAnotherThreadThanTheOneThatAllocated) {
  auto a = std::make_unique<DeviceNDArray<int>>(full<int>({100}, 4));
  const auto before = now().active_bytes;
  std::thread([&a] { a.reset(); }).join();
  EXPECT_LT(now().active_bytes, before);
}

}  // namespace
}  // namespace quarry
