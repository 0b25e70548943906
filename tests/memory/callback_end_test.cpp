// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/external_manager.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/memory/red_zone.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/memory/tracking.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <vector>

#include "fake_driver/test_device.hpp"

/// What owns memory or a handle of the driver may lose its last owner in a function that a stream
/// calls on the host: neither does that wait for the stream itself, nor is anything left behind
/// because the driver refuses calls there.
namespace quarry {
namespace {

using Owner = std::shared_ptr<void>;
template <class T>
Owner owner(T value) {
  return std::make_shared<T>(std::move(value));
}

struct Kind {
  const char* name;
  /// Made in this stream, and used in it.
  std::function<Owner(const Stream&)> make;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

Owner array_from(const Resource& resource, const Stream& s) {
  const ResourceGuard guard(resource);
  return owner(full<float>({1000}, 1, {.stream = s}));
}
Owner block_from(const Resource& resource, const Stream& s) {
  return Buffer::allocate(1000, s, resource);
}

class Plain : public HostOnlyMemoryManager {
 public:
  int interface_version() const override { return 1; }
  MemoryPointer memalloc(std::size_t bytes) override {
    const DeviceAllocation memory = mem_alloc(bytes, device());
    return {memory.device_pointer(), bytes, [memory] {}};
  }
  MemoryInfo get_memory_info() override { return {}; }
};

const std::vector<Kind> kinds = {
    {"Array", [](const Stream& s) { return owner(full<float>({1000}, 1, {.stream = s})); }},
    {"LargeArray", [](const Stream& s) { return owner(full<float>({1 << 20}, 1, {.stream = s})); }},
    {"ArrayUsedElsewhere",
     [](const Stream& s) {
       const auto a = full<float>({1000}, 1, {.stream = s});
       const Stream elsewhere = stream();
       elsewhere.wait_event(s.record());
       a.bind(elsewhere) += 1.f;
       return owner(a);
     }},
    {"DirectArray", [](const Stream& s) { return array_from(device_resource(), s); }},
    {"DriverPool", [](const Stream& s) { return array_from(driver_pool_resource(), s); }},
    {"TrackedArray", [](const Stream& s) { return array_from(Tracking(device_resource()), s); }},
    {"RedZones", [](const Stream& s) { return array_from(RedZone(device_resource()), s); }},
    {"Manager",
     [](const Stream& s) {
       return array_from(memory_manager_resource(std::make_shared<Plain>()), s);
     }},
    {"PoolAndArray", [](const Stream& s) { return array_from(Pool(device_resource()), s); }},
    {"PoolWithFreeMemory",
     [](const Stream& s) {
       const Pool pool(device_resource());
       array_from(pool, s);
       return owner(pool);
     }},
    {"MemoryPoolWithFreeBlocks",
     [](const Stream&) {
       DeviceMemoryPool pool;
       pool.allocate(1000);
       return owner(pool);
     }},
    {"PageLocked", [](const Stream& s) { return block_from(pinned_resource(), s); }},
    {"Mapped", [](const Stream& s) { return block_from(mapped_resource(), s); }},
    {"ManagedArray",
     [](const Stream& s) {
       const auto a = managed_array<float>({1000}, {.stream = s});
       a.fill(1.f);
       return owner(a);
     }},
    {"MappedArray",
     [](const Stream& s) { return owner(mapped_array<float>({1000}, {.stream = s})); }},
    {"UsedMappedArray",
     [](const Stream& s) {
       const auto a = mapped_array<float>({1000}, {.stream = s});
       a.fill(1.f);
       return owner(a);
     }},
    {"PageLockedVector",
     [](const Stream& s) {
       std::vector<float, PinnedAllocator<float>> host(1000);
       full<float>({1000}, 1, {.stream = s}).copy_to_device(host, s);
       return owner(std::move(host));
     }},
    {"RegisteredMemory",
     [](const Stream& s) {
       const auto host = std::make_shared<std::vector<float>>(1000);
       RegisteredHostMemory locked(host->data(), 4000, {}, host);
       full<float>({1000}, 1, {.stream = s}).copy_to_device(*host, s);
       return owner(std::move(locked));
     }},
    {"Allocation", [](const Stream&) { return owner(mem_alloc(1000)); }},
    {"PooledAllocation", [](const Stream&) { return owner(DeviceMemoryPool().allocate(1000)); }},
    {"CudaArray", [](const Stream&) { return owner(CudaArray({.width = 16})); }},
    {"Stream", [](const Stream&) { return owner(stream()); }},
    {"Event", [](const Stream& s) { return owner(s.record()); }},
};

class EndInACallback : public testing::TestWithParam<Kind> {};

/// The callback's stream and that of the memory, which wait for each other in different ways.
TEST_P(EndInACallback, OfTheLastOwner) {
  const Stream own = stream(), beside = stream({.non_blocking = true});
  const Stream streams[] = {own, beside, default_stream()};
  for (const Stream& home : streams) {
    for (const Stream& calling : streams) {
      auto last = std::make_shared<Owner>(GetParam().make(home));
      const std::weak_ptr<void> object = *last;
      calling.add_callback([last](const Stream&) { last->reset(); });
      calling.synchronize();
      EXPECT_TRUE(object.expired());
      const auto a = full<float>({1000}, 1, {.stream = home});
      EXPECT_EQ(sum(a).item(), 1000);
    }
  }
}  // and the fixture of all tests looks for what is left

TEST(RegisteredHostMemoryInACallback, IsNotUnregistered) {
  std::vector<float> host(1000);
  RegisteredHostMemory locked(host.data(), 4000);
  const Stream s = stream();
  s.add_callback([&](const Stream&) { locked.unregister(); });
  EXPECT_THROW(s.synchronize(), LogicError);
  EXPECT_TRUE(locked.is_registered());
  locked.unregister();
}

INSTANTIATE_TEST_SUITE_P(All, EndInACallback, testing::ValuesIn(kinds),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace quarry
