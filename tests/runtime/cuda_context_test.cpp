// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "backend/cuda/driver/driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "message_of.hpp"

/// Contexts of GPUs, as the driver sees them.
namespace quarry {
namespace {

using backend::cuda::DriverFunction;
using test::message_of;
namespace shim = backend::cuda::shim;

const backend::cuda::DriverTable& cu() { return backend::cuda::driver(); }

CUcontext current() {
  CUcontext found = nullptr;
  EXPECT_EQ(cu().CtxGetCurrent(&found), CUDA_SUCCESS);
  return found;
}

bool is_active(int id) {
  unsigned flags = 0;
  int active = 0;
  EXPECT_EQ(cu().DevicePrimaryCtxGetState(id, &flags, &active), CUDA_SUCCESS);
  return active != 0;
}

class CudaContext : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus.empty()) GTEST_SKIP() << why_unavailable();
  }
};

TEST_F(CudaContext, ThePushedOneIsTheDriversCurrentOne) {
  const Device device = gpus[0];
  const CUcontext before = current();
  const Context context = device.make_context();
  EXPECT_EQ(current(), context.handle());
  Context(gpus[static_cast<int>(gpus.size()) - 1]).push();
  EXPECT_EQ(current(), current_context().handle());
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
  Context::pop_current();
  EXPECT_EQ(current(), context.handle());
  context.pop();
  EXPECT_EQ(current(), before);
}

TEST_F(CudaContext, AContextThatOtherCodeHasMadeCurrentIsNotPopped) {
  const Context context(gpus[0]);
  context.push();
  ASSERT_EQ(cu().CtxPushCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cu().CtxSetCurrent(nullptr), CUDA_SUCCESS);
  const CUcontext below = current();
  const std::string why = message_of<LogicError>([&] { context.pop(); });
  if (below != context.handle()) {
    EXPECT_NE(why.find("other code"), std::string::npos) << why;
  }
  ASSERT_EQ(cu().CtxPushCurrent(static_cast<CUcontext>(context.handle())), CUDA_SUCCESS);
  if (below != context.handle()) context.pop();
}

TEST_F(CudaContext, AFunctionUnderRequireContextMayNotSwitchTheDriversContext) {
  if (gpus.size() < 2) GTEST_SKIP() << "one GPU";
  const DeviceGuard guard(gpus[0]);
  auto* const other = static_cast<CUcontext>(Context(gpus[1]).handle());
  auto switching = require_context([&] { EXPECT_EQ(cu().CtxPushCurrent(other), CUDA_SUCCESS); });
  EXPECT_THROW(switching(), LogicError);
  CUcontext popped = nullptr;
  EXPECT_EQ(cu().CtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, other);
}

TEST_F(CudaContext, CloseInTheMainThreadReleasesContextsInWhichNothingIsAlive) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "others may have retained the context";
  const DeviceGuard guard(gpus[0]);
  {
    const auto a = arange<int>(10);
    close();
    EXPECT_TRUE(is_active(0));
    EXPECT_EQ(sum(a).item(), 45);
  }
  close();
  EXPECT_FALSE(is_active(0));
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
  gpus[0].reset();
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
  close();  // what was retained before the reset has been given up
  EXPECT_FALSE(is_active(0));
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
}

TEST_F(CudaContext, CloseLeavesAContextThatOthersHaveRetained) {
  const DeviceGuard guard(gpus[0]);
  CUcontext theirs = nullptr;
  ASSERT_EQ(cu().DevicePrimaryCtxRetain(&theirs, 0), CUDA_SUCCESS);
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
  const auto compiled = kernel_cache_statistics().compiled;
  close();
  EXPECT_TRUE(is_active(0));
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
  EXPECT_EQ(Context(gpus[0]).handle(), theirs);
  EXPECT_EQ(kernel_cache_statistics().compiled, compiled);
  EXPECT_EQ(cu().DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(CudaContext, CloseOnAnotherThreadReleasesNone) {
  const DeviceGuard guard(gpus[0]);
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
  std::thread([] {
    select_device(0);
    zeros<int>({4});
    close();
  }).join();
  EXPECT_TRUE(is_active(0));
}

TEST_F(CudaContext, LimitsAreThoseOfTheContextInWhichKernelsRun) {
  const Context context = gpus[0].make_context();
  context.set_limit(ContextLimit::malloc_heap_size, std::size_t{16} << 20);
  std::size_t value = 0;
  EXPECT_EQ(cu().CtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, context.get_limit(ContextLimit::malloc_heap_size));
  EXPECT_GE(value, std::size_t{16} << 20);
  context.pop();
}

TEST_F(CudaContext, AFailureToPushChangesNothing) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the shim";
  const Device before = get_current_device();
  const CUcontext current_before = current();
  shim::inject({.code = CUDA_ERROR_INVALID_CONTEXT, .function = DriverFunction::CtxPushCurrent});
  EXPECT_THROW(Context(gpus[1]).push(), Error);
  EXPECT_EQ(get_current_device(), before);
  EXPECT_EQ(current(), current_before);
  EXPECT_THROW(Context::pop_current(), LogicError);
}

TEST_F(CudaContext, AnAttributeIsOneCallOfTheDriver) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the shim";
  const Device gpu = gpus[0];
  const auto calls_of = [](const auto& f) {
    shim::reset_counts();
    f();
    return shim::calls();
  };
  EXPECT_EQ(calls_of([&] { gpu.attribute(DeviceAttribute::clock_rate); }), 1);
  EXPECT_EQ(calls_of([&] { gpu.attribute("SHARED_MEMORY_PER_BLOCK"); }), 1);
  EXPECT_EQ(calls_of([&] { gpu.compute_mode(); }), 1);
  EXPECT_EQ(calls_of([&] { gpu.total_memory(); }), 1);
  EXPECT_EQ(calls_of([&] { gpu.pci_bus_id(); }), 1);
  EXPECT_EQ(calls_of([&] { Context(gpu).flags(); }), 1);
}

TEST_F(CudaContext, WhatTheDriverDoesNotHaveIsNoAttribute) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the shim";
  shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = DriverFunction::DeviceGetAttribute});
  EXPECT_NE(message_of<LogicError>([] {
              gpus[0].attribute(DeviceAttribute::clock_rate);
            }).find("CLOCK_RATE"),
            std::string::npos);
}

}  // namespace
}  // namespace quarry
