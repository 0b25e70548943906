// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include <quarry/memory/allocation.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/quarry.hpp>

#include "gate.hpp"
#include "runtime/inventory.hpp"

/// A device is reset only when nobody owns anything on it; what the library itself keeps goes
/// before, and is no obstacle.
namespace quarry {
namespace {

using backend::Owned;
using Held = std::shared_ptr<void>;

template <class T>
Held hold(T owner) {
  return std::make_shared<T>(std::move(owner));
}

/// One thing that a program can own on its current device.
struct Owner {
  const char* name;
  Owned kind;
  std::function<Held()> make;
};

std::ostream& operator<<(std::ostream& out, const Owner& owner) { return out << owner.name; }

DeviceNDArray<float> array_from(const Resource& resource) {
  const ResourceGuard guard(resource);
  return full<float>({1000}, 1);
}

/// Freed with the registration.
struct Registered {
  std::unique_ptr<std::vector<float>> memory = std::make_unique<std::vector<float>>(5000, 1.f);
  RegisteredHostMemory registration{memory->data(), memory->size() * sizeof(float)};
};

struct PoolAndBlock {
  DeviceMemoryPool pool = DeviceMemoryPool();
  PooledDeviceAllocation block = pool.allocate(1000);
};
struct PageLockedBlock {
  PageLockedMemoryPool pool = PageLockedMemoryPool();
  PooledHostAllocation block = pool.allocate(1000);
};

std::vector<Owner> owners() {
  using enum Owned;
  using Pinned = std::vector<float, PinnedAllocator<float>>;
  return {
      {"Array", device_memory, [] { return hold(full<float>({1000}, 1)); }},
      {"ArrayOfAPool", device_memory, [] { return hold(array_from(Pool(device_resource()))); }},
      {"ArrayOfDeviceMemory", device_memory, [] { return hold(array_from(device_resource())); }},
      {"ArrayOfTheDriversPool", pooled_memory,
       [] { return hold(array_from(driver_pool_resource())); }},
      {"ManagedArray", managed_memory, [] { return hold(managed_array<float>({1000})); }},
      {"MappedArray", host_memory, [] { return hold(mapped_array<float>({1000})); }},
      {"PinnedVector", host_memory, [] { return hold(Pinned(1000)); }},
      {"DeviceAllocation", device_memory, [] { return hold(mem_alloc(1000)); }},
      {"PitchedAllocation", device_memory, [] { return hold(mem_alloc_pitch(1000, 3)); }},
      {"BlockOfADeviceMemoryPool", device_memory, [] { return hold(PoolAndBlock{}); }},
      {"BlockOfAPageLockedMemoryPool", host_memory, [] { return hold(PageLockedBlock{}); }},
      {"CudaArray", array, [] { return hold(CudaArray({.width = 16, .height = 8})); }},
      {"RegisteredMemory", registered_memory, [] { return std::make_shared<Registered>(); }},
      {"Stream", stream, [] { return hold(quarry::stream()); }},
      {"NonBlockingStream", stream, [] { return hold(quarry::stream({.non_blocking = true})); }},
      {"Event", event, [] { return hold(Event()); }},
      {"InterprocessEvent", event, [] {
         return hold(Event({.timing = false, .interprocess = !get_current_device().is_cpu()}));
       }}};
}

class Reset : public testing::TestWithParam<Owner> {
 protected:
  static std::string refusal() {
    try {
      get_current_device().reset();
    } catch (const LogicError& e) {
      return e.what();
    }
    return {};
  }
  /// Work on the device as before.
  static void expect_usable() {
    const Stream s = stream();
    const StreamGuard guard(s);
    EXPECT_EQ(sum(arange(100)).item(), 4950);
  }
};

TEST_P(Reset, IsRefusedAsLongAsThereIsAnOwner) {
  const Device device;
  ASSERT_TRUE(runtime::owned_inventory(device).empty())
      << to_string(runtime::owned_inventory(device));
  const Held owner = GetParam().make();
  const backend::OwnedCount count = runtime::owned_inventory(device)[GetParam().kind];
  EXPECT_GE(count.count, 1u);
  const std::string text = refusal();
  EXPECT_NE(text.find(to_string(device) + " cannot be reset"), std::string::npos) << text;
  backend::Inventory only;
  only[GetParam().kind] = count;
  EXPECT_NE(text.find(to_string(only)), std::string::npos) << text;
  expect_usable();
}

TEST_P(Reset, WorksWhenTheOwnerIsGone) {
  GetParam().make();
  EXPECT_EQ(refusal(), "");
  expect_usable();
  EXPECT_EQ(refusal(), "");
}

std::string name_of(const testing::TestParamInfo<Owner>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Reset, testing::ValuesIn(owners()), name_of);

/// What the library keeps after work of a kind.
class ResetAfter : public Reset {
 protected:
  void SetUp() override { get_current_device().reset(); }
  void TearDown() override {
    EXPECT_EQ(refusal(), "");
    EXPECT_TRUE(runtime::inventory({}).empty()) << to_string(runtime::inventory({}));
    expect_usable();
  }
};
using AfterReset = ResetAfter;

TEST_F(AfterReset, LargeCopiesFromAndToOrdinaryMemory) {
  std::vector<float> host(std::size_t{3} << 20, 1.f);
  const auto a = to_device(host);
  a.copy_to_host(host);
}

TEST_F(AfterReset, QueuedDownloads) {
  std::vector<float> host(std::size_t{1} << 20);
  const Stream s = stream({.non_blocking = true});
  const auto a = full<float>({std::int64_t{1} << 20}, 2);
  a.copy_to_host(host, s);
  s.synchronize();
  EXPECT_EQ(host.back(), 2.f);
}

TEST_F(AfterReset, ArraysFreedWhileAnotherStreamUsedThem) {
  const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
  eval(full<float>({1000}, 2) + 1);  // loads the kernels, which a gate would hold
  synchronize();
  test::Gate gate(t);
  {
    const auto a = full<float>({1000}, 2).bind(s);
    const DeviceNDArray<float> b = a.bind(t) + 1;
  }
  gate.open();
}

TEST_F(AfterReset, PoolsThatHoldFreedBlocks) {
  static DeviceMemoryPool device_pool;
  static PageLockedMemoryPool host_pool;
  static Pool pool(device_resource());
  device_pool.allocate(1000).free();
  host_pool.allocate(1000).free();
  array_from(pool);
  EXPECT_EQ(device_pool.held_blocks(), 1u);
}

TEST_F(AfterReset, MemoryWhoseFreeIsPutOff) {
  static std::optional<DeferredCleanup> scope;
  scope.emplace();
  array_from(device_resource());
  get_current_device().reset();
  scope.reset();
}

TEST_F(AfterReset, Callbacks) {
  const Stream s = stream();
  s.add_callback([](const Stream&) {});
  s.synchronize();
}

}  // namespace
}  // namespace quarry
