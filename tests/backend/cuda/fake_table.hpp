// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "fake_driver/fake_driver.hpp"

/// The bare table of the fake driver, in the context of one of its devices.
namespace quarry::fake {

inline const backend::cuda::DriverTable& cu() { return driver_table(); }

/// Nothing runs before somebody waits, unless the test says so.
class FakeDriver : public testing::Test {
 protected:
  FakeDriver() {
    if (!is_installed()) set_machine({});
    previous_ = behaviour();
    behave(1);
    cu().CtxGetCurrent(&current_);
    EXPECT_EQ(cu().Init(0), CUDA_SUCCESS);
    EXPECT_EQ(cu().DevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
    EXPECT_EQ(cu().CtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemAlloc(&memory_, bytes), CUDA_SUCCESS);
  }
  ~FakeDriver() override {
    run_pending();
    cu().MemFree(memory_);
    for (const CUstream stream : streams_) cu().StreamDestroy(stream);
    for (const CUevent event : events_) cu().EventDestroy(event);
    cu().CtxSetCurrent(current_);
    set_behaviour(previous_);
    take_faults();
  }
  static void behave(std::uint64_t seed) {
    set_behaviour({.seed = seed, .eagerness = 0, .polls_run_work = false});
  }
  CUstream stream(unsigned flags = CU_STREAM_DEFAULT) {
    streams_.emplace_back();
    EXPECT_EQ(cu().StreamCreateWithPriority(&streams_.back(), flags, 0), CUDA_SUCCESS);
    return streams_.back();
  }
  CUevent event(unsigned flags = 0) {
    events_.emplace_back();
    EXPECT_EQ(cu().EventCreate(&events_.back(), flags), CUDA_SUCCESS);
    return events_.back();
  }
  /// Makes the device usable again after work on it has failed.
  void recover() {
    EXPECT_EQ(cu().DevicePrimaryCtxReset(device), CUDA_SUCCESS);
    EXPECT_EQ(cu().DevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemAlloc(&memory_, bytes), CUDA_SUCCESS);
    streams_.clear();
    events_.clear();
  }
  void set(unsigned char value, CUstream on, std::size_t at = 0) {
    EXPECT_EQ(cu().MemsetD8Async(memory_ + at, value, 1, on), CUDA_SUCCESS);
  }
  /// The byte after all work has been done.
  unsigned char byte(std::size_t at = 0) {
    unsigned char value = 0;
    EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemcpyDtoH(&value, memory_ + at, 1), CUDA_SUCCESS);
    return value;
  }

  static constexpr int device = 1;
  static constexpr std::size_t bytes = 4096;
  CUcontext context_ = nullptr, current_ = nullptr;
  CUdeviceptr memory_ = 0;
  Behaviour previous_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
};

}  // namespace quarry::fake
