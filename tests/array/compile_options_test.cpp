// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/module.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fake_driver/test_device.hpp"

// What the real compiler makes of the options: nothing is run.

namespace quarry {
namespace {

constexpr const char* arch = "compute_90";

class CompileOptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::fake) GTEST_SKIP() << "wants the real NVRTC";
    if (nvrtc_version().first == 0) GTEST_SKIP() << "there is no NVRTC";
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(CompileOptionsTest, FilesAreIncludedFromTheFoldersAsTheyAreThen) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::path(testing::TempDir()) / ("quarry_include_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto write = [&](int value) {
    std::ofstream(folder / "its_value.h") << "#define VALUE " << value << "\n";
  };
  const std::string source =
      "#include <its_value.h>\nextern \"C\" __global__ void f(int* a) { *a = VALUE; }";
  const auto compiled = [&] {
    return compile_ptx(source, {.arch = arch, .include_dirs = {folder.string()}});
  };
  write(7654321);
  EXPECT_TRUE(has(compiled(), "7654321"));
  write(1234567);
  EXPECT_TRUE(has(compiled(), "1234567"));
  EXPECT_THROW(compile_ptx(source, {.arch = arch}), CompileError);
  fs::remove_all(folder);
}

TEST_F(CompileOptionsTest, LineNumbersAreInThePtx) {
  const std::string source = "extern \"C\" __global__ void f(int* a) { *a = 1; }";
  EXPECT_TRUE(has(compile_ptx(source, {.arch = arch, .lineinfo = true}), ".loc"));
  EXPECT_FALSE(has(compile_ptx(source, {.arch = arch}), ".loc"));
}

TEST_F(CompileOptionsTest, TheVersionIsTheCompilers) {
  const std::string ptx =
      compile_ptx("extern \"C\" __global__ void f() {}", {.arch = arch, .cache = false});
  const auto [major, minor] = nvrtc_version();
  EXPECT_TRUE(has(ptx, "release " + std::to_string(major) + "." + std::to_string(minor) + ","))
      << ptx.substr(0, 200);
}

TEST_F(CompileOptionsTest, ForTheCurrentDeviceItsArchitectureIsTaken) {
  const std::string source = "extern \"C\" __global__ void f() {}";
  if (test::kind() == test::Kind::cpu) {
    EXPECT_THROW(compile_ptx_for_current_device(source), LogicError);
    return;
  }
  const auto [major, minor] = Device().compute_capability();
  const std::string name = "sm_" + std::to_string(10 * major + minor);
  EXPECT_TRUE(has(compile_ptx_for_current_device(source, {.arch = "compute_50"}), name));
}

}  // namespace
}  // namespace quarry
