// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <quarry/memory/allocation.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

/// Whatever is done on one device, the thread's current context is afterwards what the program has
/// made it: another library on the same thread goes on where it was.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

const backend::cuda::DriverTable& cu() { return fake::driver_table(); }

CUcontext current() {
  CUcontext context = nullptr;
  cu().CtxGetCurrent(&context);
  return context;
}

/// One thing that a program does on the current device, which is cuda:0.
struct Action {
  const char* name;
  std::function<void()> run;
};
std::ostream& operator<<(std::ostream& out, const Action& action) { return out << action.name; }

using Floats = std::vector<float>;
DeviceNDArray<float> line() { return arange<float>(0, 1000); }

std::vector<Action> actions() {
  return {
      {"Creates", [] { full<float>({1000}, 1); }},
      {"Evaluates", [] { line().assign(line() * 2.f + 1.f); }},
      {"EvaluatesStrided",
       [] {
         line().reshape({10, 100}).transpose().copy();
       }},
      {"Reduces",
       [] {
         sum(line().reshape({10, 100}), 1);
       }},
      {"Reads", [] { sum(line()).item(); }},
      {"Uploads", [] { to_device(Floats(1000, 1.f)); }},
      {"UploadsMuch", [] { to_device(Floats(std::size_t{1} << 21, 1.f)); }},
      {"Downloads",
       [] {
         Floats host(1000);
         line().copy_to_host(host);
       }},
      {"DownloadsInAStream",
       [] {
         const Stream s = stream({.non_blocking = true});
         Floats host(std::size_t{1} << 20);
         full<float>({std::int64_t{1} << 20}, 1, {.stream = s}).copy_to_host(host, s);
         s.synchronize();
       }},
      {"CopiesToAnotherDevice", [] { to_device(line(), Device::cuda(1)); }},
      {"Streams",
       [] {
         const Stream s = stream({.priority = -1}), t = stream();
         const Event e = s.record();
         e.wait(t);
         e.query();
         t.synchronize();
         static_cast<void>(t.is_done());
       }},
      {"Events",
       [] {
         const Event a, b;
         a.record();
         b.record();
         b.synchronize();
         a.elapsed_time(b);
       }},
      {"Callbacks",
       [] {
         const Stream s = stream();
         s.add_callback([](const Stream&) {});
         s.synchronize();
       }},
      {"PageLockedMemory", [] { std::vector<float, PinnedAllocator<float>>(1000); }},
      {"MappedArrays", [] { mapped_array<float>({1000}); }},
      {"ManagedArrays",
       [] {
         auto a = managed_array<float>({1000});
         a.fill(1.f);
       }},
      {"RegisteredMemory",
       [] {
         Floats host(5000);
         const RegisteredHostMemory locked(host.data(), host.size() * sizeof(float));
       }},
      {"RawMemory", [] { mem_alloc(1000).free(); }},
      {"PitchedMemory", [] { mem_alloc_pitch(1000, 3); }},
      {"CudaArrays", [] { CudaArray({.width = 16, .height = 8}); }},
      {"DriverPool",
       [] {
         const ResourceGuard guard(driver_pool_resource());
         line();
       }},
      {"MemoryPools", [] { DeviceMemoryPool().allocate(1000).free(); }},
      {"TellsOfMemory", [] { mem_get_info(); }},
      {"TellsOfPointers", [] { pointer_info(DevicePtr(line())); }},
      {"Synchronizes", [] { synchronize(); }},
      {"Trims", [] { trim_pool({}); }},
      {"Resets", [] { get_current_device().reset(); }},
      {"AsksForTooMuch", [] { EXPECT_THROW(full<char>({std::int64_t{1} << 40}, 1), MemoryError); }},
      {"FailsToLaunch",
       [] {
         const auto a = line();
         shim::inject({.code = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                       .function = DriverFunction::LaunchKernelEx});
         EXPECT_THROW(a.assign(a + 1.f), LaunchError);
         shim::clear_faults();
       }},
      {"FailsToMakeAStream", [] {
         shim::inject(
             {.code = CUDA_ERROR_UNKNOWN, .function = DriverFunction::StreamCreateWithPriority});
         EXPECT_THROW(stream(), RuntimeError);
         shim::clear_faults();
       }}};
}

class CurrentContext : public testing::TestWithParam<Action> {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
    if (backend::cuda_devices().size() < 2) GTEST_SKIP() << "wants two devices";
    before_ = current();
    cu().DevicePrimaryCtxRetain(&own_, 0);
    cu().DevicePrimaryCtxRetain(&foreign_, 1);
  }
  void TearDown() override {
    if (IsSkipped()) return;
    cu().DevicePrimaryCtxRetain(&own_, 0);  // a reset has made it inactive
    cu().CtxSetCurrent(before_);
  }
  CUcontext before_ = nullptr, own_ = nullptr, foreign_ = nullptr;
};

TEST_P(CurrentContext, StaysAnotherDevices) {
  cu().CtxSetCurrent(foreign_);
  GetParam().run();
  EXPECT_EQ(current(), foreign_);
}

TEST_P(CurrentContext, StaysTheDevicesOwn) {
  cu().CtxSetCurrent(own_);
  GetParam().run();
  EXPECT_EQ(current(), own_);
}

TEST_P(CurrentContext, IsTheDevicesWhereThereWasNone) {
  std::thread([&] {
    set_current_device(Device::cuda(0));
    ASSERT_EQ(current(), nullptr);
    GetParam().run();
    EXPECT_TRUE(!current() || current() == own_);
  }).join();
}

INSTANTIATE_TEST_SUITE_P(All, CurrentContext, testing::ValuesIn(actions()),
                         [](const auto& info) { return info.param.name; });

TEST_F(CurrentContext, StaysInDestructors) {
  const Stream s = stream();
  auto array = std::make_unique<DeviceNDArray<float>>(line().bind(s));
  auto direct = std::make_unique<DeviceAllocation>(mem_alloc(1000));
  auto event = std::make_unique<Event>();
  auto other = std::make_unique<Stream>(stream());
  auto cuda_array = std::make_unique<CudaArray>(ArrayDescriptor{.width = 16});
  cu().CtxSetCurrent(foreign_);
  array.reset();
  EXPECT_EQ(current(), foreign_);
  direct.reset();
  EXPECT_EQ(current(), foreign_);
  event.reset();
  EXPECT_EQ(current(), foreign_);
  other.reset();
  EXPECT_EQ(current(), foreign_);
  cuda_array.reset();
  EXPECT_EQ(current(), foreign_);
}

/// The objects know their context themselves; the fixture looks for what is left of them.
TEST_F(CurrentContext, IsNotNeededByDestructors) {
  const Stream s = stream();
  auto arrays = std::make_unique<std::vector<DeviceNDArray<float>>>(2, line().bind(s));
  auto managed = std::make_unique<ManagedNDArray<float>>(managed_array<float>({1000}));
  auto pinned = std::make_unique<std::vector<float, PinnedAllocator<float>>>(1000);
  auto direct = std::make_unique<DeviceAllocation>(mem_alloc(1000));
  auto event = std::make_unique<Event>(s.record());
  auto other = std::make_unique<Stream>(stream());
  auto cuda_array = std::make_unique<CudaArray>(ArrayDescriptor{.width = 16});
  std::thread([&] {
    ASSERT_EQ(current(), nullptr);
    arrays.reset();
    managed.reset();
    pinned.reset();
    direct.reset();
    event.reset();
    other.reset();
    cuda_array.reset();
    EXPECT_TRUE(!current() || current() == own_);
  }).join();
}

TEST_F(CurrentContext, IsNotTouchedWhereItIsTheDevicesAlready) {
  cu().CtxSetCurrent(own_);
  const auto a = line();
  a.assign(a + 1.f);
  shim::reset_counts();
  a.assign(a + 1.f);
  EXPECT_EQ(shim::calls(DriverFunction::CtxSetCurrent), 0);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 1);
}

}  // namespace
}  // namespace quarry
