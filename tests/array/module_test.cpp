// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/module.hpp>

#include <gtest/gtest.h>

#include "fake_driver/test_device.hpp"
#include "message_of.hpp"

namespace quarry {
namespace {

using test::message_of;

constexpr const char* twice = R"(extern "C" __global__ void twice(float* a) {
  a[threadIdx.x] *= 2;
})";

bool has_nvrtc() { return nvrtc_version().first > 0; }

TEST(Modules, need_a_gpu) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "there is one";
  EXPECT_EQ(message_of<LogicError>([] { compile(twice); }),
            "kernels from CUDA source run on GPUs only, and this is the CPU device");
  EXPECT_THROW(SourceModule{twice}, LogicError);
  EXPECT_THROW(module_from_buffer("\x7f"
                                  "ELF"),
               LogicError);
  if (has_nvrtc()) {
    EXPECT_THROW(compile_ptx(twice), LogicError);
  }
}

TEST(CompilePtx, needs_no_gpu_with_an_architecture) {
  if (!has_nvrtc()) GTEST_SKIP() << "there is no NVRTC";
  for (const char* const arch : {"80", "90", "100"}) {
    const std::string ptx =
        compile_ptx(twice, {.arch = std::string("compute_") + arch, .cache = false});
    const std::string code =
        compile_cubin(twice, {.arch = std::string("sm_") + arch, .cache = false});
    EXPECT_NE(ptx.find("twice"), ptx.npos);
    EXPECT_NE(code.find("twice"), code.npos);
    if (test::kind() == test::Kind::fake) continue;
    EXPECT_NE(ptx.find(std::string(".target sm_") + arch), ptx.npos);
    EXPECT_TRUE(
        code.starts_with("\x7f"
                         "ELF"));
  }
  EXPECT_EQ(message_of<LogicError>([] { compile_ptx(twice, {.arch = "sm_90"}); }),
            "compile_ptx: the arch \"sm_90\" does not begin with \"compute_\"");
  EXPECT_THROW(compile_cubin(twice, {.arch = "compute_90"}), LogicError);
}

TEST(CompilePtx, takes_views_in_source_that_is_in_extern_c) {
  if (test::kind() == test::Kind::fake || !has_nvrtc()) GTEST_SKIP() << "wants the real NVRTC";
  const std::string source = R"(extern "C" {
#include <quarry/device_view.cuh>
__global__ void fill(quarry::DeviceView<float, 1> a) { a(threadIdx.x) = 1; }
})";
  EXPECT_NE(compile_ptx(source, {.arch = "compute_90", .cache = false}).find(".entry fill("),
            std::string::npos);
}

TEST(CompilePtx, passes_options) {
  if (test::kind() == test::Kind::fake || !has_nvrtc()) GTEST_SKIP() << "wants the real NVRTC";
  const std::string source =
      "extern \"C\" __global__ void half(float* a) { a[0] = a[0] / a[1] * FACTOR; }";
  const CompileOptions exact{.options = {"-DFACTOR=3"}, .arch = "compute_90", .cache = false};
  CompileOptions fast = exact;
  fast.fastmath = true;
  EXPECT_NE(compile_ptx(source, exact).find("div.rn.f32"), std::string::npos);
  EXPECT_NE(compile_ptx(source, fast).find("div.approx.ftz.f32"), std::string::npos);
  CompileOptions debug = exact;
  debug.debug = true;
  EXPECT_NE(compile_ptx(source, debug).find(".debug_info"), std::string::npos);
  EXPECT_THROW(compile_ptx(source, {.arch = "compute_90", .cache = false}), CompileError);
  EXPECT_THROW(compile_ptx(source, {.options = {"--no-such-option"}, .arch = "compute_90"}),
               CompileError);
}

TEST(CompilePtx, error_has_everything_in_its_place) {
  if (!has_nvrtc()) GTEST_SKIP() << "there is no NVRTC";
  const std::string source = "extern \"C\" __global__ void wrong() {\n#error too early\n}";
  try {
    compile_ptx(source, {.options = {"-DX=1"}, .arch = "compute_90"});
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    EXPECT_EQ(e.source(), source);
    EXPECT_NE(e.message().find("the source did not compile: NVRTC_ERROR_COMPILATION"),
              std::string::npos);
    EXPECT_NE(e.log().find("#error directive"), std::string::npos);
    EXPECT_EQ(e.options(), "--gpu-architecture=compute_90 -std=c++20 -DX=1");
  }
}

}  // namespace
}  // namespace quarry
