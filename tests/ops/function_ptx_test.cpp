// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/function_ptx.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <quarry/quarry.hpp>
#include <quarry/runtime/linker.hpp>

#include "fake_driver/test_device.hpp"

namespace quarry {
namespace user {

QUARRY_FUNCTION(halved, (auto x), x / 2);
QUARRY_FUNCTION(saxpy, (auto a, auto x, auto y), a* x + halved(y));
QUARRY_FUNCTION(larger, (auto x, auto y), auto m = maximum(x, y); return m;);

}  // namespace user

namespace {

/// Functions of expressions, as device functions.
class FunctionPtx : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::fake) GTEST_SKIP() << "the fake compiler compiles nothing";
    if (nvrtc_version().first == 0) GTEST_SKIP() << "no NVRTC";
  }
  static bool has(const std::string& ptx, const char* text) {
    return ptx.find(text) != std::string::npos;
  }
};

TEST_F(FunctionPtx, HasTheNameTheParametersAndTheResultOfTheCall) {
  const auto [ptx, type] = compile_ptx<float, float, double>(user::saxpy, {.cc = {9, 0}});
  EXPECT_EQ(type, DType(TypeId::float64));
  EXPECT_TRUE(has(ptx, ".visible .func  (.param .b64 func_retval0) saxpy(")) << ptx;
  EXPECT_TRUE(has(ptx, ".param .b32 saxpy_param_0,")) << ptx;
  EXPECT_TRUE(has(ptx, ".param .b64 saxpy_param_2")) << ptx;
  EXPECT_TRUE(has(ptx, ".target sm_90")) << ptx;
  EXPECT_EQ((compile_ptx<int, int, int>(user::saxpy, {.cc = {8, 0}}).second), TypeId::int32);
  EXPECT_EQ((compile_ptx<std::int8_t, float>(user::larger, {.cc = {8, 0}}).second),
            TypeId::float32);
}

TEST_F(FunctionPtx, TakesTheCompilersOptions) {
  const auto ptx_of = [](bool fast) {
    return compile_ptx<float>(user::halved, {.arch = "compute_80", .debug = fast}).first;
  };
  EXPECT_TRUE(has(ptx_of(true), ".debug_info") || has(ptx_of(true), "debug"));
  EXPECT_NE(ptx_of(true), ptx_of(false));
  EXPECT_THROW(compile_ptx<float>(user::halved, {.arch = "sm_80"}), LogicError);
}

TEST_F(FunctionPtx, IsLinkedWithKernelsThatCallIt) {
  try {
    nvjitlink_version();
  } catch (const BackendUnavailable& e) {
    GTEST_SKIP() << e.what();
  }
  const bool is_gpu = !Device().is_cpu();
  const std::pair<int, int> cc = is_gpu ? Device().compute_capability() : std::pair(9, 0);
  const std::string arch = "sm_" + std::to_string(10 * cc.first + cc.second);
  Linker linker({.arch = arch});
  linker.add_ptx(compile_ptx<float, float, float>(user::saxpy, {.cc = cc}).first);
  linker.add_cu(R"(
    extern "C" __device__ float saxpy(float, float, float);
    extern "C" __global__ void all(float* y, float a, const float* x) {
      y[threadIdx.x] = saxpy(a, x[threadIdx.x], y[threadIdx.x]);
    }
  )");
  if (!is_gpu) {
    EXPECT_FALSE(linker.complete().empty());
    return;
  }
  const auto x = arange<float>(32), y = ones<float>({32});
  module_from_linker(linker).function("all").launch({.block = 32}, y, 2.f, x);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(y(i).item(), 2.f * static_cast<float>(i) + 0.5f);
}

}  // namespace
}  // namespace quarry
