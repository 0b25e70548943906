// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/compile.hpp>
#include <quarry/runtime/linker.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fake_driver/test_device.hpp"
#include "temporary_folder.hpp"

/// What NVRTC and nvJitLink themselves say, and what they make of files beside a program.
namespace quarry {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

class CompilerMessages : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::fake) GTEST_SKIP() << "wants the real NVRTC";
    if (nvrtc_version().first == 0) GTEST_SKIP() << "there is no NVRTC";
  }
  const test::TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

TEST_F(CompilerMessages, OfErrorsNameTheFileTheLineAndTheWord) {
  try {
    compile_ptx("extern \"C\" __global__ void f()\n{ SYNTAX ERROR }",
                {.arch = "compute_90", .name = "error.cu"});
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    EXPECT_TRUE(has(e.what(), "NVRTC_ERROR_COMPILATION")) << e.what();
    EXPECT_TRUE(has(e.log(), "error.cu(2)")) << e.log();
    EXPECT_TRUE(has(e.log(), "identifier \"SYNTAX\" is undefined")) << e.log();
    EXPECT_TRUE(has(e.log(), "in the compilation of \"error.cu\"")) << e.log();
  }
}

TEST_F(CompilerMessages, OfWarningsAreInTheLogThatIsKept) {
  const std::string source = "extern \"C\" __global__ void f() { int never_used; }";
  compile_ptx(source, {.arch = "compute_90"});  // the code is in the cache, what was said is not
  compile_ptx(source, {.arch = "compute_90", .keep_dir = folder_});
  std::ifstream in(folder_ / "source.log");
  const std::string log{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(has(log, "never_used")) << log;
  EXPECT_TRUE(has(log, "declared but never referenced")) << log;
}

TEST_F(CompilerMessages, OfArchitecturesThatThereAreNotComeWithThem) {
  const std::string source = "extern \"C\" __global__ void f() {}";
  for (const std::string arch : {"compute_990", "compute_990a", "compute_10"}) {
    try {
      compile_ptx(source, {.arch = arch});
      ADD_FAILURE() << arch << " was taken";
    } catch (const CompileError& e) {
      EXPECT_TRUE(has(e.what(), "NVRTC_ERROR_INVALID_OPTION")) << e.what();
      EXPECT_TRUE(has(e.options(), "--gpu-architecture=" + arch + ' ')) << e.options();
    }
  }
  EXPECT_TRUE(has(compile_ptx(source, {.arch = "compute_90a"}), ".target sm_90a"));
}

/// Beside the headers of CUDA, where that is installed.
std::string device_runtime() {
  for (const char* const name : {"lib64", "lib"}) {
    const fs::path file = fs::path("/usr/local/cuda") / name / "libcudadevrt.a";
    if (fs::exists(file)) return file;
  }
  return {};
}

class LinkedFiles : public CompilerMessages {
 protected:
  void SetUp() override {
    CompilerMessages::SetUp();
    if (IsSkipped()) return;
    try {
      nvjitlink_version();
    } catch (const BackendUnavailable& e) {
      GTEST_SKIP() << e.what();
    }
  }
};

TEST_F(LinkedFiles, OfMachineCodeAreKnownByTheirName) {
  const std::string name = folder_ / "half.cubin";
  std::ofstream(name, std::ios::binary)
      << compile_cubin(R"(extern "C" __device__ float half_of(float x) { return x / 2; })",
                       {.arch = "sm_90", .relocatable = true});
  Linker linker({.arch = "sm_90"});
  linker.add_file_guess_ext(name).add_cu(R"(extern "C" __device__ float half_of(float);
    extern "C" __global__ void halve(float* a) { *a = half_of(*a); })");
  EXPECT_TRUE(has(linker.complete(), "halve"));
}

TEST_F(LinkedFiles, OfTheDeviceRuntimeLetKernelsLaunchKernels) {
  const std::string runtime = device_runtime();
  if (runtime.empty()) GTEST_SKIP() << "there is no libcudadevrt.a";
  const char* const parent = R"(
    __global__ void child(int* a) { a[threadIdx.x] = threadIdx.x; }
    extern "C" __global__ void parent(int* a) { child<<<1, 100>>>(a); })";
  const auto linker = [&] { return Linker({.arch = "sm_90"}).add_cu(parent); };
  EXPECT_THROW(linker().complete(), CompileError);
  EXPECT_TRUE(has(linker().add_file(runtime).complete(), "parent"));
}

}  // namespace
}  // namespace quarry
