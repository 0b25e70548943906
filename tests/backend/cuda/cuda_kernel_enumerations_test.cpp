// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/kernel_function.hpp>

#include <gtest/gtest.h>

#include <utility>

#include "backend/cuda/driver/driver.hpp"

namespace quarry {
namespace {

/// Public enumerations are passed to the driver by their number.
template <class Ours, class Driver>
void expect_equal(std::initializer_list<std::pair<Ours, Driver>> pairs) {
  for (const auto& [ours, driver] : pairs) {
    EXPECT_EQ(static_cast<int>(ours), static_cast<int>(driver));
  }
}

TEST(KernelEnumerations, AttributesOfFunctionsHaveTheDriversNumbers) {
  using F = FunctionAttribute;
  expect_equal<F, CUfunction_attribute>(
      {{F::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
       {F::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
       {F::const_size_bytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES},
       {F::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
       {F::num_regs, CU_FUNC_ATTRIBUTE_NUM_REGS},
       {F::ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION},
       {F::binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION},
       {F::cache_mode_ca, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA},
       {F::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
       {F::preferred_shared_memory_carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT},
       {F::cluster_size_must_be_set, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET},
       {F::required_cluster_width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH},
       {F::required_cluster_height, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT},
       {F::required_cluster_depth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH},
       {F::non_portable_cluster_size_allowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED},
       {F::cluster_scheduling_policy_preference,
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE}});
}

TEST(KernelEnumerations, CachePreferencesHaveTheDriversNumbers) {
  using C = CacheConfig;
  expect_equal<C, CUfunc_cache>({{C::prefer_none, CU_FUNC_CACHE_PREFER_NONE},
                                 {C::prefer_shared, CU_FUNC_CACHE_PREFER_SHARED},
                                 {C::prefer_l1, CU_FUNC_CACHE_PREFER_L1},
                                 {C::prefer_equal, CU_FUNC_CACHE_PREFER_EQUAL}});
}

TEST(KernelEnumerations, OptionsOfModulesHaveTheDriversNumbers) {
  using J = JitOption;
  expect_equal<J, CUjit_option>({{J::max_registers, CU_JIT_MAX_REGISTERS},
                                 {J::threads_per_block, CU_JIT_THREADS_PER_BLOCK},
                                 {J::wall_time, CU_JIT_WALL_TIME},
                                 {J::optimization_level, CU_JIT_OPTIMIZATION_LEVEL},
                                 {J::target_from_cucontext, CU_JIT_TARGET_FROM_CUCONTEXT},
                                 {J::target, CU_JIT_TARGET},
                                 {J::fallback_strategy, CU_JIT_FALLBACK_STRATEGY},
                                 {J::generate_debug_info, CU_JIT_GENERATE_DEBUG_INFO},
                                 {J::log_verbose, CU_JIT_LOG_VERBOSE},
                                 {J::generate_line_info, CU_JIT_GENERATE_LINE_INFO},
                                 {J::cache_mode, CU_JIT_CACHE_MODE}});
  using F = JitFallback;
  expect_equal<F, CUjit_fallback>(
      {{F::prefer_ptx, CU_PREFER_PTX}, {F::prefer_binary, CU_PREFER_BINARY}});
}

}  // namespace
}  // namespace quarry
