// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <thread>

#include "backend/cuda/fake_table.hpp"

namespace quarry::fake {
namespace {

CUcontext current() {
  CUcontext found = nullptr;
  EXPECT_EQ(cu().CtxGetCurrent(&found), CUDA_SUCCESS);
  return found;
}

TEST_F(FakeDriver, ContextsAreAStackOfEachThread) {
  CUcontext other = nullptr, popped = nullptr;
  ASSERT_EQ(cu().DevicePrimaryCtxRetain(&other, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxPushCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(current(), other);
  std::thread([&] {
    EXPECT_EQ(current(), nullptr);
    EXPECT_EQ(cu().CtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  EXPECT_EQ(cu().CtxSetCurrent(context_), CUDA_SUCCESS);  // replaces the top
  EXPECT_EQ(cu().CtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, context_);
  EXPECT_EQ(current(), context_);
  EXPECT_EQ(cu().CtxPushCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSetCurrent(nullptr), CUDA_SUCCESS);  // removes the top
  EXPECT_EQ(current(), context_);
  EXPECT_EQ(cu().CtxPushCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().CtxPushCurrent(reinterpret_cast<CUcontext>(this)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cu().DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(FakeDriver, APrimaryContextLivesAsLongAsSomebodyHasRetainedIt) {
  if (is_installed()) GTEST_SKIP() << "the machine is in use";
  set_machine({.devices = std::vector<DeviceOptions>(3)});
  ASSERT_EQ(cu().Init(0), CUDA_SUCCESS);
  constexpr int third = 2;
  CUcontext first = nullptr, second = nullptr;
  const auto is_active = [] {
    unsigned flags = 0;
    int active = 0;
    EXPECT_EQ(cu().DevicePrimaryCtxGetState(third, &flags, &active), CUDA_SUCCESS);
    return active != 0;
  };
  EXPECT_EQ(cu().DevicePrimaryCtxRelease(third), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cu().DevicePrimaryCtxRetain(&first, third), CUDA_SUCCESS);
  ASSERT_EQ(cu().DevicePrimaryCtxRetain(&second, third), CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(cu().CtxPushCurrent(first), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(cu().StreamCreateWithPriority(&stream, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().DevicePrimaryCtxRelease(third), CUDA_SUCCESS);
  EXPECT_TRUE(is_active());
  EXPECT_EQ(cu().DevicePrimaryCtxRelease(third), CUDA_SUCCESS);
  EXPECT_FALSE(is_active());
  EXPECT_EQ(cu().StreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cu().CtxPushCurrent(first), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cu().CtxPopCurrent(&second), CUDA_SUCCESS);  // it was on the stack all the same
  // a reset ends the context, and not what was retained
  ASSERT_EQ(cu().DevicePrimaryCtxRetain(&first, third), CUDA_SUCCESS);
  EXPECT_EQ(cu().DevicePrimaryCtxReset(third), CUDA_SUCCESS);
  EXPECT_FALSE(is_active());
  EXPECT_EQ(cu().DevicePrimaryCtxRelease(third), CUDA_SUCCESS);
  EXPECT_EQ(cu().DevicePrimaryCtxRelease(third), CUDA_ERROR_INVALID_CONTEXT);
  set_machine({});
  EXPECT_EQ(cu().Init(0), CUDA_SUCCESS);
  EXPECT_EQ(cu().DevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemAlloc(&memory_, bytes), CUDA_SUCCESS);
  current_ = nullptr;
}

TEST_F(FakeDriver, LimitsAreOfAContextUntilItsReset) {
  std::size_t value = 0;
  EXPECT_EQ(cu().CtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024U);
  EXPECT_EQ(cu().CtxSetLimit(CU_LIMIT_STACK_SIZE, 2001), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 2016U);
  EXPECT_EQ(cu().CtxSetLimit(CU_LIMIT_STACK_SIZE, 1 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().CtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 3), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(cu().CtxGetLimit(&value, static_cast<CUlimit>(7)), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(cu().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, std::size_t{1} << 40),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu().CtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
  recover();
  CUfunc_cache config = CU_FUNC_CACHE_PREFER_L1;
  EXPECT_EQ(cu().CtxGetCacheConfig(&config), CUDA_SUCCESS);
  EXPECT_EQ(config, CU_FUNC_CACHE_PREFER_NONE);
  EXPECT_EQ(cu().CtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024U);
}

TEST_F(FakeDriver, FlagsOfAPrimaryContextHaveOneWayToWait) {
  unsigned flags = 0;
  int is_active = 0;
  EXPECT_EQ(cu().DevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
  EXPECT_EQ(cu().DevicePrimaryCtxGetState(device, &flags, &is_active), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_YIELD});
  EXPECT_EQ(cu().DevicePrimaryCtxSetFlags(device, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().DevicePrimaryCtxSetFlags(device, 1U << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().DevicePrimaryCtxSetFlags(9, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cu().DevicePrimaryCtxSetFlags(device, 0), CUDA_SUCCESS);
}

TEST_F(FakeDriver, DevicesAreAtPciBusIds) {
  char text[16] = {};
  EXPECT_EQ(cu().DeviceGetPCIBusId(text, sizeof text, device), CUDA_SUCCESS);
  EXPECT_EQ(std::string(text), "0000:11:00.0");
  EXPECT_EQ(cu().DeviceGetPCIBusId(text, 12, device), CUDA_ERROR_INVALID_VALUE);
  for (const char* const good : {"0000:11:00.0", "0:11:0", "11:00.0", "0000:11:00"}) {
    CUdevice found = -1;
    EXPECT_EQ(cu().DeviceGetByPCIBusId(&found, good), CUDA_SUCCESS) << good;
    EXPECT_EQ(found, device) << good;
  }
  CUdevice found = -1;
  for (const char* const bad : {"", "11", "0000:11:00.0y", "gpu"}) {
    EXPECT_EQ(cu().DeviceGetByPCIBusId(&found, bad), CUDA_ERROR_INVALID_VALUE) << bad;
  }
  EXPECT_EQ(cu().DeviceGetByPCIBusId(&found, "0000:77:00.0"), CUDA_ERROR_INVALID_DEVICE);
  std::size_t total = 0;
  EXPECT_EQ(cu().DeviceTotalMem(&total, device), CUDA_SUCCESS);
  EXPECT_EQ(total, DeviceOptions().memory);
}

}  // namespace
}  // namespace quarry::fake
