// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include <quarry/memory/allocation.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/external_manager.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "memory/resource/caches.hpp"

/// Every way to get memory does the same when there is none: it fails only after what is cached has
/// been given back and the program has been asked, and then with MemoryError.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

constexpr std::size_t some = 100'000, far_too_much = std::size_t{1} << 42;

/// A way to get memory, of a program whose current device it is.
struct Door {
  const char* name;
  DriverFunction function;
  std::function<void(std::size_t bytes)> ask;
};
std::ostream& operator<<(std::ostream& out, const Door& door) { return out << door.name; }

void make_array(std::size_t bytes) { DeviceNDArray<char>(Shape{static_cast<std::int64_t>(bytes)}); }
void make_array_from(const Resource& resource, std::size_t bytes) {
  const ResourceGuard guard(resource);
  make_array(bytes);
}
Shape shape_of(std::size_t bytes) { return {static_cast<std::int64_t>(bytes)}; }

class HostManager final : public HostOnlyMemoryManager {
 public:
  int interface_version() const override { return 1; }
  MemoryPointer memalloc(std::size_t) override { return {}; }
  MemoryInfo get_memory_info() override { return {}; }
};

std::vector<Door> doors() {
  using enum DriverFunction;
  return {
      {"Arrays", MemAlloc, make_array},
      {"Pools", MemAlloc, [](std::size_t n) { make_array_from(Pool(device_resource()), n); }},
      {"DeviceMemory", MemAlloc, [](std::size_t n) { make_array_from(device_resource(), n); }},
      {"TheDriversPool", MemAllocFromPoolAsync,
       [](std::size_t n) { make_array_from(driver_pool_resource(), n); }},
      {"ManagedMemory", MemAllocManaged,
       [](std::size_t n) { make_array_from(managed_resource(), n); }},
      {"ManagedArrays", MemAllocManaged, [](std::size_t n) { managed_array<char>(shape_of(n)); }},
      {"MappedMemory", MemHostAlloc, [](std::size_t n) { make_array_from(mapped_resource(), n); }},
      {"MappedArrays", MemHostAlloc, [](std::size_t n) { mapped_array<char>(shape_of(n)); }},
      {"PinnedMemory", MemHostAlloc,
       [](std::size_t n) {
         const Stream s = default_stream();
         const Resource pinned = pinned_resource();
         pinned.deallocate(s, pinned.allocate(s, n), n);
       }},
      {"PinnedAllocators", MemHostAlloc,
       [](std::size_t n) {
         PinnedAllocator<char> allocator;
         allocator.deallocate(allocator.allocate(n), n);
       }},
      {"RawMemory", MemAlloc, [](std::size_t n) { mem_alloc(n); }},
      {"PitchedMemory", MemAllocPitch, [](std::size_t n) { mem_alloc_pitch(n / 4, 4); }},
      {"CudaArrays", Array3DCreate,
       [](std::size_t n) {
         const bool is_large = n == far_too_much;
         const std::size_t edge = is_large ? std::size_t{1} << 14 : 10;
         CudaArray(
             {.width = n / edge / edge, .height = edge, .depth = edge, .dtype = TypeId::uint8});
       }},
      {"DeviceMemoryPools", MemAlloc, [](std::size_t n) { DeviceMemoryPool().allocate(n); }},
      {"PageLockedMemoryPools", MemHostAlloc,
       [](std::size_t n) { PageLockedMemoryPool().allocate(n); }}};
}

/// Sees what is done for an allocation. At the times that a test chooses memory is there again.
class Witness final : public memory::Cache {
 public:
  backend::Device& owner() const noexcept override { return Device().backend(); }
  void give_back() override {
    ++given_back;
    if (given_back == helps_when_given_back) shim::clear_faults();
  }
  bool call_back(std::size_t bytes, int attempt) override {
    called_back.push_back(attempt);
    asked = bytes;
    if (inner) inner();
    if (attempt == helps_when_called_back) shim::clear_faults();
    return attempt <= helps_when_called_back;
  }

  int given_back = 0, helps_when_given_back = 0, helps_when_called_back = 0;
  std::size_t asked = 0;
  std::vector<int> called_back;
  std::function<void()> inner;
};

class Relief : public testing::TestWithParam<Door> {
 protected:
  void SetUp() override {
    memory::give_back_all(Device().backend());
    memory::add_cache(witness_);
  }
  void TearDown() override { shim::clear_faults(); }
  static bool is_fake() { return test::kind() == test::Kind::fake; }

  static void refuse(bool is_persistent) {
    shim::inject({CUDA_ERROR_OUT_OF_MEMORY, GetParam().function, 1, is_persistent});
  }
  Witness& witness() { return *witness_; }

 private:
  std::shared_ptr<Witness> witness_ = std::make_shared<Witness>();
};

TEST_P(Relief, ARefusalThatPassesIsNotNoticed) {
  if (!is_fake()) GTEST_SKIP() << "wants the fake driver";
  refuse(false);
  EXPECT_NO_THROW(GetParam().ask(some));
  EXPECT_TRUE(witness().called_back.empty());
}

TEST_P(Relief, CachesAreGivenBackForIt) {
  if (!is_fake()) GTEST_SKIP() << "wants the fake driver";
  for (const int when : {1, 2}) {
    memory::give_back_all(Device().backend());
    witness().given_back = 0;
    witness().helps_when_given_back = when;
    refuse(true);
    EXPECT_NO_THROW(GetParam().ask(some));
    EXPECT_EQ(witness().given_back, when);
  }
  EXPECT_TRUE(witness().called_back.empty());
}

TEST_P(Relief, TheProgramIsAskedAfterThat) {
  if (!is_fake()) GTEST_SKIP() << "wants the fake driver";
  witness().helps_when_called_back = 3;
  refuse(true);
  EXPECT_NO_THROW(GetParam().ask(some));
  EXPECT_EQ(witness().called_back, (std::vector{1, 2, 3}));
  EXPECT_EQ(witness().asked, some);
}

TEST_P(Relief, AMemoryErrorIsTheEnd) {
  try {
    GetParam().ask(far_too_much);
    ADD_FAILURE() << "was granted";
  } catch (const MemoryError& e) {
    EXPECT_EQ(e.report().requested, far_too_much) << e.what();
    EXPECT_GT(e.report().device_total, 0u) << e.what();
  }
  EXPECT_EQ(witness().given_back, 2);
  EXPECT_EQ(witness().called_back, std::vector{1});
  EXPECT_EQ(witness().asked, far_too_much);
  EXPECT_NO_THROW(GetParam().ask(some));
}

TEST_P(Relief, ACallbackIsNotCalledForWhatItAllocatesItself) {
  int failures = 0;
  witness().inner = [&] {
    for (const Door& each : doors()) {
      EXPECT_THROW(each.ask(far_too_much), MemoryError) << each;
      ++failures;
    }
  };
  EXPECT_THROW(GetParam().ask(far_too_much), MemoryError);
  EXPECT_EQ(witness().called_back, std::vector{1});
  EXPECT_EQ(failures, static_cast<int>(doors().size()));
}

TEST_P(Relief, MemoryWhoseFreeIsPutOffIsFreedFirst) {
  if (!is_fake()) GTEST_SKIP() << "wants the fake driver";
  const auto scope = defer_cleanup();
  make_array_from(device_resource(), some);
  refuse(false);
  EXPECT_NO_THROW(GetParam().ask(some));
  EXPECT_EQ(witness().given_back, 0);
}

std::string name_of(const testing::TestParamInfo<Door>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Relief, testing::ValuesIn(doors()), name_of);

/// What has no size of its own to be refused for.
class ReliefOfRegistrations : public Relief {};

std::vector<Door> registrations() {
  using enum DriverFunction;
  return {{"RegisteredMemory", MemHostRegister,
           [](std::size_t n) {
             std::vector<char> host(n);
             const RegisteredHostMemory locked(host.data(), n);
           }},
          {"MemoryManagers", MemHostAlloc,
           [](std::size_t n) {
             const MemoryPointer got = HostManager().memhostalloc(n, false, false, false);
             got.finalizer();
           }},
          {"PinnedByAManager", MemHostRegister, [](std::size_t n) {
             std::vector<char> host(n);
             const MemoryPointer got = HostManager().mempin(host.data(), n, false);
             got.finalizer();
           }}};
}

TEST_P(ReliefOfRegistrations, GoesTheSameWay) {
  if (!is_fake()) GTEST_SKIP() << "wants the fake driver";
  refuse(true);
  EXPECT_THROW(GetParam().ask(some), MemoryError);
  EXPECT_EQ(witness().given_back, 2);
  EXPECT_EQ(witness().called_back, std::vector{1});
  witness().called_back.clear();
  witness().helps_when_called_back = 2;
  EXPECT_NO_THROW(GetParam().ask(some));
  EXPECT_EQ(witness().called_back, (std::vector{1, 2}));
  EXPECT_EQ(witness().asked, some);
}

INSTANTIATE_TEST_SUITE_P(All, ReliefOfRegistrations, testing::ValuesIn(registrations()), name_of);

/// By the public way.
TEST(OnPressure, ACallbackThatAllocatesTooMuchEndsWithAMemoryError) {
  Pool pool{device_resource()};
  int calls = 0;
  const auto registration = pool.on_pressure([&](std::size_t bytes, int) {
    ++calls;
    make_array_from(pool, bytes);
    return true;
  });
  EXPECT_THROW(make_array_from(pool, far_too_much), MemoryError);
  EXPECT_EQ(calls, 1);
}

TEST(OnPressure, IsAskedForEveryWayToGetMemory) {
  auto kept = std::make_unique<DeviceNDArray<char>>(Shape{1000});
  Pool pool{device_resource()};
  int calls = 0;
  const auto registration = pool.on_pressure([&](std::size_t, int) { return ++calls, false; });
  for (const Door& each : doors()) {
    EXPECT_THROW(each.ask(far_too_much), MemoryError) << each;
  }
  EXPECT_EQ(calls, static_cast<int>(doors().size()));
}

}  // namespace
}  // namespace quarry
