// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <string>

#include "array/model.hpp"
#include "array/source_kernels.hpp"

/// What can be asked of kernels and set, and that they compute the same then.
namespace quarry {
namespace {

using test::counted;
using test::SourceKernels;
using test::times;
using test::values;

class FunctionSettings : public SourceKernels {
 protected:
  static void expect_works(const Function& twice) {
    const auto a = to_device(counted(16));
    twice.launch({.block = 16}, a);
    EXPECT_EQ(values(a), times(counted(16), 2));
  }
};

TEST_F(FunctionSettings, EveryCacheConfigurationIsTaken) {
  const Function twice = module().function("twice");
  for (const CacheConfig config : {CacheConfig::prefer_equal, CacheConfig::prefer_none,
                                   CacheConfig::prefer_l1, CacheConfig::prefer_shared}) {
    twice.set_cache_config(config);
    expect_works(twice);
  }
}

TEST_F(FunctionSettings, TheCarveoutIsAPercentageOrTheDriversChoice) {
  constexpr auto carveout = FunctionAttribute::preferred_shared_memory_carveout;
  const Function twice = module().function("twice");
  for (const int percent : {0, 50, 100, -1}) {
    twice.set_attribute(carveout, percent);
    EXPECT_EQ(twice.attribute(carveout), percent);
    expect_works(twice);
  }
  if (test::kind() != test::Kind::fake) return;  // what else to refuse is up to a driver
  for (const int wrong : {-2, 101, 150}) {
    EXPECT_THROW(twice.set_attribute(carveout, wrong), Error) << wrong;
    EXPECT_EQ(twice.attribute(carveout), -1) << wrong;
  }
  expect_works(twice);
}

TEST_F(FunctionSettings, PlainPointersAreArguments) {
  const Function twice = module().function("twice");
  const auto a = to_device(counted(16));
  auto* const pointer = reinterpret_cast<float*>(a.device_pointer());
  twice.launch({.block = 16}, pointer);
  twice.launch({.block = 8}, pointer + 8);
  std::vector<float> want = times(counted(16), 2);
  for (std::size_t i = 8; i < 16; ++i) want[i] *= 2;
  EXPECT_EQ(values(a), want);
  const auto prepared = module().function("scale<float>").prepare<float*, float>();
  prepared.prepared_call(1, 16, pointer, 0.5f);
  EXPECT_EQ(values(a)[0], 1);
}

/// As a GPU's driver says it of compiled code.
class CompiledFunctions : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::cuda) GTEST_SKIP() << "asks for what a GPU's compiler made";
  }
  static Function kernel(const std::string& source, const CompileOptions& options = {}) {
    return compile(source, options).function("k");
  }
};

TEST_F(CompiledFunctions, HaveTheirStaticSharedMemory) {
  const auto of = [](const std::string& type, int count) {
    return kernel("extern \"C\" __global__ void k(" + type + "* a) { __shared__ " + type + " s[" +
                  std::to_string(count) + "]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); " +
                  "a[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }");
  };
  EXPECT_EQ(of("int", 100).shared_size_bytes(), 400);
  EXPECT_EQ(of("double", 100).shared_size_bytes(), 800);
  const Function much = of("int", 4000);
  EXPECT_EQ(much.shared_size_bytes(), 16000);
  const auto a = arange<int>(100);
  much.launch({.block = 100}, a);
  EXPECT_EQ(values(a), values(eval(99 - arange<int>(100))));
}

TEST_F(CompiledFunctions, HaveTheirLocalAndConstantMemory) {
  const Function local = kernel(R"(extern "C" __global__ void k(int* a, int n) {
    int own[1000];
    for (int i = 0; i < 1000; ++i) own[(i * n) % 1000] = a[i];
    for (int i = 0; i < 1000; ++i) a[i] += own[(a[i] + n) % 1000];
  })");
  EXPECT_GE(local.local_size_bytes(), 4000);
  const Function constant = kernel(R"(__constant__ double c[10];
    extern "C" __global__ void k(double* a) { a[threadIdx.x] = c[threadIdx.x]; })");
  EXPECT_GE(constant.attribute(FunctionAttribute::const_size_bytes), 80);
}

TEST_F(CompiledFunctions, HaveNoMoreRegistersThanTheyMay) {
  const std::string source = R"(extern "C" __global__ void k(const double* a, double* out, int n) {
    double s[64];
    #pragma unroll
    for (int i = 0; i < 64; ++i) s[i] = a[i * n];
    for (int j = 0; j < n; ++j) {
      #pragma unroll
      for (int i = 0; i < 64; ++i) s[i] = s[i] * s[(i + 7) % 64] + j;
    }
    #pragma unroll
    for (int i = 0; i < 64; ++i) out[i * n + threadIdx.x] = s[i];
  })";
  EXPECT_GT(kernel(source).num_regs(), 57);
  for (const int most : {57, 38}) {
    const std::string option = "--maxrregcount=" + std::to_string(most);
    EXPECT_LE(kernel(source, {.options = {option}}).num_regs(), most);
    const Module loaded = module_from_buffer(compile_ptx_for_current_device(source),
                                             {.options = {{JitOption::max_registers, most}}});
    EXPECT_LE(loaded.function("k").num_regs(), most);
  }
}

}  // namespace
}  // namespace quarry
