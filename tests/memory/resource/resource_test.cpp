// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/failing.hpp>
#include <quarry/memory/limit.hpp>
#include <quarry/memory/red_zone.hpp>
#include <quarry/memory/statistics.hpp>
#include <quarry/memory/tracking.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>
#include <stdlib.h>

#include <functional>
#include <string>
#include <thread>

#include "fake_driver/test_device.hpp"
#include "memory/source.hpp"

namespace quarry {
namespace {

using test::Source;

TEST(Resource, IsAValueThatNamesWhatItHolds) {
  const Resource a = Source(), b = a, c = Source();
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(a.name(), "source");
  EXPECT_EQ(a.space(), MemorySpace::device);
  EXPECT_EQ(a.device(), Device());
  EXPECT_EQ(Resource(Pool(a)).name(), "pool(source)");
}

TEST(Resource, OfNothingIsRefused) {
  EXPECT_THROW(Resource(std::shared_ptr<Resource::Interface>()), LogicError);
}

static_assert(MemoryResource<Source> && MemoryResource<Pool> && MemoryResource<Resource>);
static_assert(!MemoryResource<int>);

TEST(Resource, ArraysComeFromTheDevicesPoolWhenNobodyChooses) {
  const std::size_t before = pool_statistics(Device()).active_bytes;
  const auto array = zeros<float>({1000});
  EXPECT_GT(pool_statistics(Device()).active_bytes, before);
}

TEST(Resource, GuardsNestAndAreOfTheirThread) {
  const Source outer, inner;
  {
    const ResourceGuard a{Resource(outer)};
    const auto first = Buffer::allocate(100, default_stream());
    {
      const ResourceGuard b{Resource(inner)};
      EXPECT_EQ(current_resource(), *std::make_unique<Resource>(current_resource()));
      const auto second = Buffer::allocate(100, default_stream());
      EXPECT_EQ(inner.calls(), 1u);
    }
    const auto third = Buffer::allocate(100, default_stream());
    EXPECT_EQ(outer.calls(), 2u);
    const Device device;
    std::thread([&] { Buffer::allocate(100, default_stream(device)); }).join();
    EXPECT_EQ(outer.calls(), 2u);
  }
  EXPECT_EQ(outer.in_use() + inner.in_use(), 0u);
}

TEST(Resource, TheChosenOneIsForAllThreadsUntilReset) {
  const Source source;
  const Resource before = set_current_resource(source);
  EXPECT_EQ(current_resource().name(), "source");
  std::shared_ptr<Buffer> kept;
  const Device device;
  std::thread([&] { kept = Buffer::allocate(100, default_stream(device)); }).join();
  EXPECT_EQ(source.calls(), 1u);
  const Resource again = set_current_resource(before);
  EXPECT_EQ(again.name(), "source");
  EXPECT_EQ(current_resource(), before);
  reset_current_resource();
  EXPECT_EQ(current_resource(), before);
  kept.reset();
  EXPECT_EQ(source.in_use(), 0u);
}

TEST(Resource, AGuardOfOneDeviceLeavesTheOtherAlone) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "there is one CPU";
  const Source source;
  const ResourceGuard guard{Resource(source)};
  Buffer::allocate(100, default_stream(Device::cpu()));
  EXPECT_EQ(source.calls(), 0u);
}

TEST(Resource, MemoryThatKernelsCannotUseIsRefused) {
  if (get_current_device().is_cpu()) {
    const ResourceGuard guard(host_resource());  // the CPU's kernels can
    EXPECT_EQ(sum(ones<int>({10})).item(), 10);
    return;
  }
  EXPECT_THROW(set_current_resource(pinned_resource()), LogicError);
  EXPECT_THROW(ResourceGuard guard(pinned_resource()), LogicError);
  EXPECT_NE(current_resource().space(), MemorySpace::pinned);
}

TEST(Resource, KernelsRunInManagedAndMappedMemory) {
  for (const Resource& resource : {managed_resource(), mapped_resource()}) {
    const ResourceGuard guard(resource);
    const auto a = arange<int>(1000);
    EXPECT_EQ(a.buffer()->space(), resource.space());
    EXPECT_EQ(sum(a + 1).item(), 500'500);
    EXPECT_NE(a.buffer()->host_data(), nullptr);
  }
}

TEST(Resource, AResourceOfAnotherDeviceIsRefused) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "there is one CPU";
  EXPECT_THROW(Buffer::allocate(100, default_stream(Device::cpu()), Resource(Source())),
               LogicError);
}

/// A resource that does what it is told.
struct Rogue {
  std::function<void*()> answer;
  std::shared_ptr<int> frees = std::make_shared<int>(0);
  void* allocate(const Stream&, std::size_t, std::size_t) { return answer(); }
  void deallocate(const Stream&, void*, std::size_t, std::size_t) noexcept { ++*frees; }
  MemorySpace space() const { return MemorySpace::device; }
  Device device() const { return {}; }
};

TEST(Resource, ResourcesThatMisbehaveAreFoundOut) {
  const Stream s = default_stream();
  const Rogue null{[] { return nullptr; }};
  EXPECT_THROW(Buffer::allocate(100, s, null), MemoryError);
  EXPECT_EQ(*null.frees, 0);
  const Rogue odd{[] { return reinterpret_cast<void*>(0x1001); }};
  EXPECT_THROW(Buffer::allocate(100, s, odd), LogicError);
  EXPECT_EQ(*odd.frees, 1);
  const Rogue angry{[]() -> void* { throw IoError("no"); }};
  EXPECT_THROW(Buffer::allocate(100, s, angry), IoError);
  EXPECT_EQ(*angry.frees, 0);
}

/// Arrays straight on a resource of the program's.
TEST(Resource, MemoryThatIsHandedOutTwiceIsFoundOut) {
  const Resource source = device_resource();
  const Stream s = default_stream();
  void* const memory = source.allocate(s, 4096);
  {
    const Rogue repeating{[memory] { return memory; }};
    const ResourceGuard guard{Resource(repeating)};
    for (int i = 0; i < 2; ++i) {
      const auto first = full<int>({100}, i);
      EXPECT_THROW(full<int>({100}, 2), LogicError);
      EXPECT_THROW(full<int>({10}, 2), LogicError);
      std::vector<int> seen(100);
      first.copy_to_host(seen);
      EXPECT_EQ(seen, std::vector<int>(100, i));
      EXPECT_EQ(*repeating.frees, i);
    }
    EXPECT_EQ(*repeating.frees, 2);
  }
  source.deallocate(s, memory, 4096);
}

/// A resource may stand on an array.
TEST(Resource, PartsOfAnArrayMayBeHandedOut) {
  const ResourceGuard outer(device_resource());
  const DeviceNDArray<int> whole(Shape{1000});
  const Rogue parts{[&] { return whole.device_pointer(); }};
  const ResourceGuard guard{Resource(parts)};
  EXPECT_NO_THROW(full<int>({100}, 1));
}

TEST(Resource, FreesThatKnowNoOtherStreamsAreOrderedBehindThem) {
  const Source source;  // its deallocate takes one stream
  const Stream home = stream(), other = stream();
  auto buffer = Buffer::allocate(4096, home, Resource(source));
  {
    test::Gate gate(other);
    buffer->used_on(other);
    test::fill(*buffer, 1, other);
    gate.open();
  }
  buffer.reset();
  EXPECT_EQ(source.in_use(), 0u);
}

TEST(ResourceDeathTest, TheEnvironmentChooses) {
  if (test::kind() == test::Kind::cuda) GTEST_SKIP() << "a child would share the GPU's context";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto name_with = [](const char* choice) {
    setenv("QUARRY_MEMORY", choice, 1);
    try {
      std::fprintf(stderr, "it is %s", current_resource().name().c_str());
    } catch (const LogicError& e) {
      std::fprintf(stderr, "%s", e.what());
    }
    std::_Exit(1);
  };
  EXPECT_DEATH(name_with("device"), "it is device");
  EXPECT_DEATH(name_with("driver_pool"), "it is driver_pool");
  EXPECT_DEATH(name_with("pool"), "it is pool\\(device\\)");
  EXPECT_DEATH(name_with("heap"), "\"heap\"; the choices are pool, driver_pool, device");
}

/// What was moved from is a handle still, as a copy is.
template <class R>
void expect_usable_after_move(R resource) {
  const R taken = std::move(resource);
  for (const R* one : {&taken, static_cast<const R*>(&resource)}) {  // NOLINT: the subject
    const auto buffer = Buffer::allocate(1000, default_stream(), Resource(*one));
    EXPECT_NE(buffer->data(), nullptr);
    EXPECT_FALSE(Resource(*one).name().empty());
  }
  R again = taken;
  again = std::move(resource);  // NOLINT
  EXPECT_NE(Buffer::allocate(1000, default_stream(), Resource(resource))->data(), nullptr);
}

TEST(Resource, WhatWasMovedFromIsAHandleStill) {
  const Resource below = device_resource();
  expect_usable_after_move(below);
  expect_usable_after_move(Pool(below));
  expect_usable_after_move(Statistics(below));
  expect_usable_after_move(Limit(below, 1 << 20));
  expect_usable_after_move(Tracking(below));
  expect_usable_after_move(Failing(below));
  expect_usable_after_move(RedZone(below));
  expect_usable_after_move(DeviceMemoryPool(below));
}

}  // namespace
}  // namespace quarry
