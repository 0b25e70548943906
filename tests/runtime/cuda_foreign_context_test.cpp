// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <memory>

#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include "backend/cuda/driver/driver.hpp"
#include "fake_driver/test_device.hpp"

/// A program that has a context of its own on the GPU, not the primary one, as the current one.
namespace quarry {
namespace {

using backend::cuda::driver;

CUcontext current() {
  CUcontext found = nullptr;
  EXPECT_EQ(driver().CtxGetCurrent(&found), CUDA_SUCCESS);
  return found;
}

class ForeignContext : public testing::Test {
 protected:
  using Create = CUresult (*)(CUcontext*, unsigned, CUdevice);
  using Destroy = CUresult (*)(CUcontext);

  void SetUp() override {
    if (test::kind() != test::Kind::cuda) GTEST_SKIP() << "wants the driver of a GPU";
    require_context();
    before_ = current();
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    ASSERT_NE(library, nullptr);
    const auto create = reinterpret_cast<Create>(dlsym(library, "cuCtxCreate_v2"));
    destroy_ = reinterpret_cast<Destroy>(dlsym(library, "cuCtxDestroy_v2"));
    if (!create || !destroy_) GTEST_SKIP() << "the driver has another way to make contexts";
    ASSERT_EQ(create(&made_, 0, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (!made_) return;
    EXPECT_EQ(driver().CtxSetCurrent(before_), CUDA_SUCCESS);
    EXPECT_EQ(destroy_(made_), CUDA_SUCCESS);
  }

  CUcontext before_ = nullptr, made_ = nullptr;
  Destroy destroy_ = nullptr;
};

TEST_F(ForeignContext, StaysCurrentWhileArraysAreMadeUsedAndFreed) {
  ASSERT_EQ(current(), made_);
  auto a = std::make_unique<DeviceNDArray<int>>(arange<int>(1000));
  EXPECT_EQ(current(), made_);
  EXPECT_EQ(sum(*a + 1).item(), 500500);
  EXPECT_EQ(current(), made_);
  const Stream s = stream();
  a->bind(s).fill(3);
  s.synchronize();
  EXPECT_EQ(sum(*a).item(), 3000);
  a.reset();
  synchronize();
  EXPECT_EQ(current(), made_);
}

TEST_F(ForeignContext, IsBelowThePrimaryOneThatIsPushed) {
  const Context context(get_current_device());
  context.push();
  EXPECT_EQ(current(), context.handle());
  EXPECT_NE(current(), made_);
  EXPECT_EQ(sum(ones<int>({10})).item(), 10);
  context.pop();
  EXPECT_EQ(current(), made_);
}

}  // namespace
}  // namespace quarry
