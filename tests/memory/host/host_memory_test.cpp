// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/registered.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "gate.hpp"
#include "memory/host_layouts.hpp"

namespace quarry {
namespace {

using detail::find_host_buffer;

template <class T>
using PinnedVector = std::vector<T, PinnedAllocator<T>>;

/// Whole pages of the program's own.
class Pages {
 public:
  explicit Pages(std::size_t count) : memory_(page * count, std::byte{0}, Allocator(page)) {}
  static constexpr std::size_t page = 4096;
  std::byte* at(std::size_t offset) { return memory_.data() + offset; }

 private:
  using Allocator = AlignedAllocator<std::byte>;
  std::vector<std::byte, Allocator> memory_;
};

/// The library's word on what is page-locked, by the driver's.
bool is_locked(const void* memory) {
  return Device().backend().pointer_info(memory).kind == PointerKind::page_locked;
}

TEST(PinnedAllocator, ItsMemoryIsKnownInsideAndNotOutside) {
  PinnedVector<float> v(1000, 2.f);
  EXPECT_TRUE(is_locked(v.data()));
  const auto buffer = find_host_buffer(v.data(), 4000);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(find_host_buffer(v.data() + 10, 100), buffer);
  EXPECT_EQ(find_host_buffer(v.data() + 999, 4), buffer);
  EXPECT_NE(find_host_buffer(v.data() + 999, 4001), buffer);
  EXPECT_NE(find_host_buffer(v.data() - 1, 8), buffer);
  EXPECT_EQ(find_host_buffer(v.data(), 0), nullptr);
  const std::vector<float> ordinary(10);
  EXPECT_EQ(find_host_buffer(ordinary.data(), 40), nullptr);
}

TEST(PinnedAllocator, WhatIsDroppedIsNotFoundAnyMore) {
  const float* address = nullptr;
  {
    const PinnedVector<float> v(100);
    address = v.data();
    EXPECT_NE(find_host_buffer(address, 4), nullptr);
  }
  EXPECT_EQ(find_host_buffer(address, 4), nullptr);
}

TEST(PinnedAllocator, ContainersCopyMoveAndSwap) {
  const PinnedAllocator<int> portable({.portable = true});
  PinnedVector<int> a({1, 2, 3}, portable), b(2, 7);
  PinnedVector<int> c = a;
  EXPECT_EQ(c, a);
  EXPECT_EQ(c.get_allocator(), portable);
  EXPECT_NE(b.get_allocator(), portable);
  std::swap(a, b);
  EXPECT_EQ(a, (PinnedVector<int>{7, 7}));
  EXPECT_TRUE(b.get_allocator().options().portable);
  a = std::move(b);
  EXPECT_EQ(a, c);
  EXPECT_EQ(PinnedAllocator<double>(portable), portable);
}

TEST(PinnedAllocator, NoElementsTakeNoMemory) {
  PinnedAllocator<double> allocator;
  EXPECT_EQ(allocator.allocate(0), nullptr);
  allocator.deallocate(nullptr, 0);
  EXPECT_TRUE(PinnedVector<double>().empty());
}

TEST(PinnedAllocator, MoreThanThereIsIsAnError) {
  PinnedAllocator<double> allocator;
  EXPECT_THROW(allocator.allocate(std::numeric_limits<std::size_t>::max() / 8), SizeOverflow);
  EXPECT_THROW(allocator.allocate(std::size_t{1} << 50), MemoryError);
  EXPECT_EQ(PinnedVector<int>(3, 1).size(), 3u);
}

TEST(PinnedAllocator, MemoryDroppedWhileACopyReadsItIsNotHandedOut) {
  const Stream s = stream();
  const auto device = zeros<int>({1000}, {.stream = s});
  s.synchronize();
  test::Gate gate(s);
  const int* address = nullptr;
  {
    const PinnedVector<int> source(1000, 5);
    address = source.data();
    if (!Device().is_cpu()) {
      device.copy_to_device(source, s);
    } else {  // the CPU copies at once; the stream is named all the same
      find_host_buffer(address, 4000)->used_on(s);
    }
  }
  {
    PinnedVector<int> next(1000, -1);  // written by the host, which asks no stream
    EXPECT_NE(next.data(), address);
  }
  gate.open();
  s.synchronize();
  std::vector<int> got(1000);
  device.copy_to_host(got);
  EXPECT_EQ(got, std::vector<int>(1000, Device().is_cpu() ? 0 : 5));
  const PinnedVector<int> again(1000, 1), more(1000, 1);
  EXPECT_TRUE(again.data() == address || more.data() == address);
}

TEST(PinnedAllocator, TheDefaultStreamIsWaitedForToo) {
  const Stream s = default_stream();
  const auto device = zeros<int>({500}, {.stream = s});
  for (int i = 1; i <= 20; ++i) {
    const PinnedVector<int> source(500, i);
    device.copy_to_device(source, s);
    device += 1;
    PinnedVector<int> sink(500, 0);
    device.copy_to_host(sink, s);
    s.synchronize();
    ASSERT_EQ(sink[499], i + 1);
  }
}

TEST(PinnedAllocator, TrimmingGivesItBack) {
  { const PinnedVector<char> v(1 << 20); }
  detail::trim_host_memory(get_current_device());
  const PinnedVector<char> v(1 << 20);
  EXPECT_TRUE(is_locked(v.data()));
}

TEST(PinnedAllocator, ThreadsMayAllocateAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (std::size_t i = 1; i < 200; ++i) {
        const PinnedVector<int> v(i * 7, t);
        ASSERT_NE(find_host_buffer(v.data(), v.size() * 4), nullptr);
        ASSERT_EQ(v.back(), t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(AlignedAllocator, AlignsAndRefusesWhatIsNoPowerOfTwo) {
  for (const std::size_t alignment : {1u, 64u, 4096u, 1u << 16}) {
    const std::vector<double, AlignedAllocator<double>> v(33, 1.5,
                                                          AlignedAllocator<double>(alignment));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data()) % alignment, 0u);
    EXPECT_EQ(v.back(), 1.5);
  }
  EXPECT_EQ(AlignedAllocator<int>().alignment(), 4096u);
  EXPECT_THROW(AlignedAllocator<int>(0), LogicError);
  EXPECT_THROW(AlignedAllocator<int>(3), LogicError);
  EXPECT_THROW(AlignedAllocator<int>(4095), LogicError);
  EXPECT_THROW(AlignedAllocator<int>().allocate(std::numeric_limits<std::size_t>::max() / 2),
               SizeOverflow);
}

TEST(RegisteredHostMemory, LocksAnyAddressAndSize) {
  Pages pages(4);
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{0, 1},
                                      {1, 1},
                                      {4095, 2},
                                      {100, 8000},
                                      {0, 4 * Pages::page}}) {
    RegisteredHostMemory memory(pages.at(offset), bytes);
    EXPECT_TRUE(is_locked(pages.at(offset)));
    EXPECT_TRUE(is_locked(pages.at(offset + bytes - 1)));
    EXPECT_NE(find_host_buffer(pages.at(offset), bytes), nullptr);
    EXPECT_EQ(find_host_buffer(pages.at(offset), bytes + 1), nullptr);
    memory.unregister();
    EXPECT_FALSE(is_locked(pages.at(offset)));
    EXPECT_EQ(find_host_buffer(pages.at(offset), bytes), nullptr);
  }
}

TEST(RegisteredHostMemory, IsUnregisteredOnce) {
  Pages pages(1);
  RegisteredHostMemory memory(pages.at(10), 20);
  EXPECT_EQ(memory.data(), pages.at(10));
  EXPECT_EQ(memory.bytes(), 20u);
  EXPECT_TRUE(memory.is_registered());
  memory.unregister();
  EXPECT_FALSE(memory.is_registered());
  EXPECT_THROW(memory.unregister(), LogicError);
  EXPECT_THROW(memory.device_pointer(), LogicError);
}

TEST(RegisteredHostMemory, RegistrationsThatShareAPageDoNotUnlockEachOther) {
  Pages pages(6);
  std::optional<RegisteredHostMemory> a, b, c;
  a.emplace(pages.at(0), 5000);
  b.emplace(pages.at(6000), 100);      // on the second page, as the end of a
  c.emplace(pages.at(100), 4 * 4096);  // a part of a, and all of b
  a.reset();
  EXPECT_TRUE(is_locked(pages.at(0)) && is_locked(pages.at(6000)) && is_locked(pages.at(16000)));
  c.reset();
  EXPECT_TRUE(is_locked(pages.at(6000)));
  EXPECT_FALSE(is_locked(pages.at(16000)));
  b.reset();
  EXPECT_FALSE(is_locked(pages.at(0)) || is_locked(pages.at(6000)));
}

TEST(RegisteredHostMemory, CopiesMayCrossFromOneRegistrationToTheNext) {
  Pages pages(6);
  const RegisteredHostMemory first(pages.at(0), 4096), all_of_it(pages.at(0), 6 * 4096);
  std::vector<std::byte> want(6 * 4096);
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = *pages.at(i) = static_cast<std::byte>(i * 7);
  }
  const Stream s = stream();
  const auto device = device_array<std::uint8_t>({6 * 4096}, {.stream = s});
  const std::span<std::uint8_t> host(reinterpret_cast<std::uint8_t*>(pages.at(0)), 6 * 4096);
  device.copy_to_device(host, s);
  s.synchronize();
  std::fill(host.begin(), host.end(), std::uint8_t{0});
  device.copy_to_host(host, s);
  s.synchronize();
  EXPECT_TRUE(std::equal(want.begin(), want.end(), pages.at(0)));
}

/// To the device and back, in calls that wait and calls that do not.
void expect_round_trips(std::byte* memory, std::size_t bytes) {
  const std::span<std::uint8_t> host(reinterpret_cast<std::uint8_t*>(memory), bytes);
  const Stream s = stream();
  const auto device = device_array<std::uint8_t>({static_cast<std::int64_t>(bytes)}, {.stream = s});
  for (const bool waits : {true, false}) {
    std::iota(host.begin(), host.end(), static_cast<std::uint8_t>(waits));
    const std::vector<std::uint8_t> want(host.begin(), host.end());
    waits ? device.copy_to_device(host) : device.copy_to_device(host, s);
    s.synchronize();
    std::fill(host.begin(), host.end(), std::uint8_t{0});
    waits ? device.copy_to_host(host) : device.copy_to_host(host, s);
    s.synchronize();
    EXPECT_TRUE(std::equal(want.begin(), want.end(), host.begin())) << bytes << " bytes, " << waits;
  }
}

TEST(RegisteredHostMemory, NeighboursAreCopiedAndWhatCrossesIntoThem) {
  for (const bool is_tiny : {false, true}) {
    std::optional<test::TinyStagingPool> pool;
    if (is_tiny) pool.emplace();
    Pages pages(4);
    const RegisteredHostMemory a(pages.at(100), 300), next(pages.at(400), 1000);
    for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{0, 100},
                                        {1400, 60},
                                        {1400, 9000},
                                        {100, 300},  // all of one
                                        {150, 50},   // a part
                                        {90, 20},    // from a neighbour into one
                                        {0, 200},
                                        {1350, 2000},  // and out of it
                                        {390, 20},     // from one into the other
                                        {100, 1300},
                                        {0, 4 * Pages::page}}) {
      SCOPED_TRACE(std::to_string(offset) + (is_tiny ? ", tiny pool" : ""));
      expect_round_trips(pages.at(offset), bytes);
    }
  }
}

TEST(RegisteredHostMemory, TheSameMemoryMayBeRegisteredAgain) {
  Pages pages(2);
  for (int i = 0; i < 3; ++i) {
    const RegisteredHostMemory once(pages.at(5), 5000), twice(pages.at(5), 5000);
    EXPECT_TRUE(is_locked(pages.at(5000)));
  }
  EXPECT_FALSE(is_locked(pages.at(5000)));
}

TEST(RegisteredHostMemory, WhatTheLibraryHasLockedIsLockedAlready) {
  PinnedVector<int> v(100, 3);
  {
    const RegisteredHostMemory memory(v.data(), 400, {.mapped = true});
    EXPECT_NE(memory.device_pointer(), nullptr);
  }
  EXPECT_TRUE(is_locked(v.data()));
}

TEST(RegisteredHostMemory, KeepsItsBase) {
  auto owner = std::make_shared<std::vector<int>>(100);
  const std::weak_ptr<std::vector<int>> watch = owner;
  {
    const RegisteredHostMemory memory(owner->data(), 400, {}, owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(memory.base(), watch.lock());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(RegisteredHostMemory, NothingIsRegisteredInNoBytes) {
  const RegisteredHostMemory nothing(nullptr, 0);
  EXPECT_EQ(nothing.bytes(), 0u);
  EXPECT_THROW(RegisteredHostMemory(nullptr, 8), LogicError);
  Pages pages(1);
  EXPECT_THROW(RegisteredHostMemory(pages.at(0), std::numeric_limits<std::size_t>::max()),
               SizeOverflow);
}

TEST(RegisteredHostMemory, ItsEndWaitsForTheStreamsThatHaveUsedIt) {
  const Stream s = stream();
  Pages pages(1);
  std::optional<RegisteredHostMemory> memory(std::in_place, pages.at(0), 100);
  find_host_buffer(pages.at(0), 100)->used_on(s);
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  auto end = std::async(std::launch::async, [&] { memory.reset(); });
  EXPECT_EQ(end.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  open.set_value();
  end.get();
  EXPECT_TRUE(s.is_done());
  s.synchronize();
}

TEST(RegisteredHostMemory, ReadOnlyMemoryIsNotWrittenByOthers) {
  Pages pages(1);
  const RegisteredHostMemory readable(pages.at(0), 10, {.read_only = true});
  EXPECT_NO_THROW(RegisteredHostMemory(pages.at(5), 10, {.read_only = true}));
  EXPECT_THROW(RegisteredHostMemory(pages.at(5), 10), LogicError);
}

TEST(Pinned, ScopesNestAndEndWithExceptions) {
  std::vector<float> a(5000), b(7, 1.f);
  for (int i = 0; i < 2; ++i) {
    const auto outer = pinned(a, b);
    {
      const auto inner = pinned(a);
      EXPECT_TRUE(is_locked(a.data()));
    }
    EXPECT_TRUE(is_locked(a.data()));
    try {
      const auto again = pinned(b, a);
      throw std::runtime_error("out of the scope");
    } catch (const std::runtime_error&) {
    }
    EXPECT_TRUE(is_locked(a.data()) && is_locked(b.data()));
  }
  EXPECT_FALSE(is_locked(a.data()));
}

TEST(Pinned, CopiesGoBothWays) {
  std::vector<int> a(100'000), b(100'000);
  std::iota(a.begin(), a.end(), 0);
  const auto scope = pinned(a, b);
  const Stream s = stream();
  const auto device = device_array<int>({100'000}, {.stream = s});
  device.copy_to_device(a, s);
  device.copy_to_host(b, s);
  s.synchronize();
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace quarry
