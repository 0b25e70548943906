// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>
#include <quarry/memory/pool.hpp>
#include <quarry/runtime/context.hpp>
#include <quarry/runtime/memoize.hpp>
#include <quarry/runtime/stream.hpp>

#include <optional>

/// Tests that need a GPU, with GoogleTest: PyCUDA's mark_cuda_test.
///
///     QUARRY_CUDA_TEST(Step, DoublesTheField) {
///       auto a = qy::ones<float>({100});
///       ...
///     }
///
namespace quarry {

/// A fixture: each test has a GPU as current device, with a context, and is skipped, with the
/// reason, where none can be used. The GPU is the current one, else the first. Afterwards its work
/// is waited for, whose errors fail the test, the results of memoized functions are destroyed,
/// cached memory is given back, and the device that was current before is so again.
class CudaTest : public testing::Test {
 protected:
  ///@{
  /// Before and after each test.
  void SetUp() override {
    if (const std::string why = why_unavailable(); !why.empty()) GTEST_SKIP() << why;
    before_ = get_current_device();
    if (before_->is_cpu()) select_device(0);
    require_context();
  }
  void TearDown() override {
    if (!before_) return;
    EXPECT_NO_THROW(synchronize());
    clear_context_caches();
    for (const Device& gpu : gpus) EXPECT_NO_THROW(trim_pool(gpu));
    set_current_device(*before_);
  }
  ///@}

 private:
  std::optional<Device> before_;
};

}  // namespace quarry

/// A test of a suite whose tests all need a GPU; see CudaTest. `suite` becomes a type in the scope:
/// it names no other there.
#define QUARRY_CUDA_TEST(suite, name) \
  using suite = ::quarry::CudaTest;   \
  TEST_F(suite, name)
