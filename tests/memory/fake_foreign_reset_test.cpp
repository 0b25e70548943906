// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <quarry/memory/allocation.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// Another part of the program resets the device behind the library's back. The device is lost from
/// then on, and every call says so; nothing else is.
namespace quarry {
namespace {

const backend::cuda::DriverTable& cu() { return fake::driver_table(); }

/// What a program has of every kind when it happens.
struct Things {
  Stream s = stream();
  Event event = s.record();
  DeviceNDArray<float> array = full<float>({1000}, 1), bound = full<float>({1000}, 2).bind(s);
  DeviceAllocation direct = mem_alloc(1000);
  CudaArray cuda_array = CudaArray({.width = 16});
  ManagedNDArray<float> managed = managed_array<float>({1000});
  std::vector<float, PinnedAllocator<float>> pinned = decltype(pinned)(1000);
  std::vector<float> host = std::vector<float>(5000);
  RegisteredHostMemory registered{host.data(), host.size() * sizeof(float)};
  DeviceMemoryPool pool = DeviceMemoryPool();
  PooledDeviceAllocation block = pool.allocate(1000);
  Device other = Device::cuda(1);
  DeviceNDArray<float> elsewhere = to_device(array, other);
};

using Call = std::function<void(Things&)>;

/// Whether the call throws DeviceLost with what happened in its text.
bool says_lost(Things& things, const Call& call, const char* name) {
  try {
    call(things);
    std::cerr << name << " throws nothing\n";
  } catch (const DeviceLost& e) {
    const std::string text = e.what();
    const bool is_right = text.find("device 0 is lost") != text.npos &&
                          text.find("CUDA_ERROR_CONTEXT_IS_DESTROYED (709)") != text.npos &&
                          text.find("has reset the device") != text.npos;
    if (is_right) return true;
    std::cerr << name << ": " << text << '\n';
  } catch (const std::exception& e) {
    std::cerr << name << " throws something else: " << e.what() << '\n';
  }
  return false;
}

struct Named {
  const char* name;
  Call call;
};
std::vector<Named> calls() {
  return {{"create", [](Things&) { full<float>({1000}, 1); }},
          {"evaluate", [](Things& t) { t.array.assign(t.array + 1.f); }},
          {"evaluate in a stream", [](Things& t) { t.bound.assign(t.bound + 1.f); }},
          {"reduce", [](Things& t) { sum(t.array).item(); }},
          {"download",
           [](Things& t) {
             std::vector<float> to(1000);
             t.array.copy_to_host(to);
           }},
          {"upload", [](Things& t) { to_device(t.host); }},
          {"synchronize a stream", [](Things& t) { t.s.synchronize(); }},
          {"poll a stream", [](Things& t) { static_cast<void>(t.s.is_done()); }},
          {"record", [](Things& t) { t.event.record(t.s); }},
          {"poll an event", [](Things& t) { t.event.query(); }},
          {"wait for an event", [](Things& t) { t.event.synchronize(); }},
          {"make a stream", [](Things&) { stream(); }},
          {"make an event", [](Things&) { Event(); }},
          {"raw memory", [](Things&) { mem_alloc(1000); }},
          {"managed memory", [](Things&) { managed_array<float>({1000}); }},
          {"page-locked memory", [](Things&) { mapped_array<float>({std::int64_t{1} << 22}); }},
          {"a CUDA array", [](Things&) { CudaArray({.width = 16}); }},
          {"a pool", [](Things& t) { t.pool.allocate(5000); }},
          {"memory_info", [](Things&) { mem_get_info(); }},
          {"synchronize", [](Things&) { synchronize(); }},
          {"reset", [](Things& t) { t.array.device().reset(); }}};
}

bool others_go_on(const Things& t) {
  const auto on_cpu = with_device(Device::cpu(), [] { return arange(100); });
  return sum(on_cpu).item() == 4950 && sum(t.elsewhere).item() == 1000.f;
}

/// In a process of its own: the device is lost for the rest of it. `first` of the calls comes
/// first.
int run(std::size_t first, bool is_made_anew) {
  bool is_right = true;
  {
    Things things;
    things.other.synchronize();  // its work is no part of this
    cu().DevicePrimaryCtxReset(0);
    CUcontext anew = nullptr;
    if (is_made_anew) cu().DevicePrimaryCtxRetain(&anew, 0);
    const auto all = calls();
    is_right = says_lost(things, all[first].call, all[first].name);
    for (const Named& each : all) {
      is_right = says_lost(things, each.call, each.name) && is_right;
    }
    is_right = others_go_on(things) && is_right;
  }  // destructors are silent
  for (const std::string& fault : fake::take_faults()) std::cerr << fault << '\n';
  return is_right && fake::take_faults().empty() ? 0 : 1;
}

class ForeignResetDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
    if (backend::cuda_devices().size() < 2) GTEST_SKIP() << "wants two devices";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(ForeignResetDeathTest, EveryCallSaysThatTheDeviceIsLost) {
  for (std::size_t first = 0; first < calls().size(); ++first) {
    EXPECT_EXIT(std::_Exit(run(first, false)), testing::ExitedWithCode(0), "")
        << calls()[first].name << " first";
  }
}

TEST_F(ForeignResetDeathTest, AlsoWhenTheContextWasMadeAnew) {
  const auto all = calls();
  for (std::size_t first = 0; first < all.size(); ++first) {
    const std::string name = all[first].name;
    const bool uses_what_was = name.find("stream") != name.npos && name != "make a stream";
    if (!uses_what_was) continue;
    EXPECT_EXIT(std::_Exit(run(first, true)), testing::ExitedWithCode(0), "") << name << " first";
  }
}

}  // namespace
}  // namespace quarry
