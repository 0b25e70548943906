// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <quarry/quarry.hpp>

#include "backend/cuda/jit/nvrtc.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// A compiler that does not do its work: the error is typed and has what the compiler wrote,
/// nothing is kept of it, and the kernel is there when the compiler is.
namespace quarry {
namespace {

/// What the compiler of these tests does.
nvrtcResult result = NVRTC_SUCCESS;
std::string written;

nvrtcResult compile(nvrtcProgram, int, const char* const*) { return result; }
nvrtcResult log_size(nvrtcProgram, std::size_t* size) {
  return *size = written.size() + 1, NVRTC_SUCCESS;
}
nvrtcResult log(nvrtcProgram, char* out) {
  return std::memcpy(out, written.c_str(), written.size() + 1), NVRTC_SUCCESS;
}
const char* error_string(nvrtcResult) { return "NVRTC_ERROR"; }

/// In place of the fake compiler while it lives.
class Compiler {
 public:
  Compiler(nvrtcResult code, std::string text) : table_(fake::nvrtc_table()) {
    result = code;
    written = std::move(text);
    table_.CompileProgram = compile;
    table_.GetProgramLogSize = log_size;
    table_.GetProgramLog = log;
    table_.GetErrorString = error_string;
    backend::cuda::use_nvrtc(&table_);
  }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;
  ~Compiler() { backend::cuda::use_nvrtc(&fake::nvrtc_table()); }

 private:
  backend::cuda::NvrtcTable table_;
};

class FakeCompilers : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
  }
};

QUARRY_FUNCTION(with_built_ins, (auto x), x * 3 + 1);
QUARRY_FUNCTION(with_memory, (auto x), x * 5 + 1);
QUARRY_FUNCTION(with_names, (auto x), x * 7 + 1);

/// Throws E with these words under the compiler, and is right without it.
template <class E, class F>
void expect_refused(const F& f, const std::string& words) {
  const auto a = ones<float>({100});
  auto out = zeros<float>({100});
  try {
    out.assign(f(a));
    ADD_FAILURE() << "compiled";
  } catch (const E& e) {
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
  EXPECT_EQ(sum(out).item(), 0) << "the destination";
}

TEST_F(FakeCompilers, WithoutTheLibraryOfBuiltInsTheBackendIsUnavailable) {
  const std::string why = "error: failed to open libnvrtc-builtins.so.13.0.";
  const auto f = [](const auto& x) { return with_built_ins(x); };
  sum(zeros<float>({100})).item();
  {
    const Compiler compiler(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, why + '\n');
    for (int i = 0; i < 2; ++i) expect_refused<BackendUnavailable>(f, why);
  }
  EXPECT_EQ(sum(with_built_ins(ones<float>({100}))).item(), 400);
}

TEST_F(FakeCompilers, WithoutMemoryItIsACompileErrorAndNothingIsKept) {
  const auto f = [](const auto& x) { return with_memory(x); };
  sum(zeros<float>({100})).item();
  {
    const Compiler compiler(NVRTC_ERROR_OUT_OF_MEMORY, "");
    for (int i = 0; i < 2; ++i) expect_refused<CompileError>(f, "did not compile");
  }
  EXPECT_EQ(sum(with_memory(ones<float>({100}))).item(), 600);
}

/// Longer than any buffer, with what format strings and terminals take for theirs.
TEST_F(FakeCompilers, WhatTheyWriteIsPassedOnWhole) {
  std::string text = "%s%n%99999d {} {0} {:x} \xff\xfe\xc0 \x1b[31m ";
  for (int i = 0; i < 17; ++i) text += text;
  const Compiler compiler(NVRTC_ERROR_COMPILATION, text + "end");
  try {
    DeviceNDArray<float>(with_names(ones<float>({100})));
    ADD_FAILURE() << "compiled";
  } catch (const CompileError& e) {
    EXPECT_TRUE(e.log() == text + "end");
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace quarry
