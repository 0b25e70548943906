// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/compile.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "environment_setting.hpp"
#include "fake_driver/test_device.hpp"
#include "message_of.hpp"
#include "temporary_folder.hpp"

/// Compiling without a GPU: with the machine's NVRTC where the device is the CPU, with the fake one
/// on the fake driver.
namespace quarry {
namespace {

namespace fs = std::filesystem;
using test::message_of;

constexpr const char* source = R"(
__device__ float half(float x) { return x / 2; }
extern "C" __global__ void halve(float* a) { a[threadIdx.x] = half(a[threadIdx.x]); }
)";

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

class Compile : public testing::Test {
 protected:
  void SetUp() override {
    if (nvrtc_version().first == 0) GTEST_SKIP() << "there is no NVRTC";
  }
  const test::TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

/// With the machine's NVRTC.
class CompileForReal : public Compile {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::fake) GTEST_SKIP() << "wants the real NVRTC";
    Compile::SetUp();
  }
};

TEST_F(CompileForReal, TakesAComputeCapabilityInPlaceOfAnArchitecture) {
  EXPECT_EQ(compile_ptx(source, {.cc = {9, 0}}), compile_ptx(source, {.arch = "compute_90"}));
  EXPECT_TRUE(has(compile_ptx(source, {.cc = {8, 6}}), ".target sm_86"));
  EXPECT_TRUE(has(compile_ptx(source, {.arch = "compute_80", .cc = {9, 0}}), ".target sm_80"));
  EXPECT_EQ(compile_cubin(source, {.cc = {9, 0}}), compile_cubin(source, {.arch = "sm_90"}));
}

TEST_F(CompileForReal, TakesCodeAsNvccDoes) {
  EXPECT_EQ(compile_cubin(source, {.code = "sm_90"}), compile_cubin(source, {.arch = "sm_90"}));
  EXPECT_EQ(compile_cubin(source, {.arch = "compute_90", .code = "sm_90"}),
            compile_cubin(source, {.arch = "sm_90"}));
  EXPECT_EQ(compile_ptx(source, {.arch = "sm_80", .code = "compute_80"}),
            compile_ptx(source, {.arch = "compute_80"}));
}

TEST_F(CompileForReal, LinksCodeForALaterMachine) {
  const std::string which = R"(extern "C" __global__ void which(int* a) { *a = __CUDA_ARCH__; })";
  const auto code = [&](const CompileOptions& options) {
    try {
      return compile_cubin(which, options);
    } catch (const BackendUnavailable&) {
      return std::string();  // without nvJitLink
    }
  };
  const std::string linked = code({.arch = "compute_80", .code = "sm_90"});
  if (linked.empty()) GTEST_SKIP() << "there is no nvJitLink";
  EXPECT_TRUE(
      linked.starts_with("\x7f"
                         "ELF"));
  EXPECT_NE(linked, code({.arch = "sm_80"}));
  EXPECT_NE(linked, code({.arch = "sm_90"}));
}

TEST_F(Compile, RefusesCodeThatIsNoneOfTheArchitecture) {
  EXPECT_EQ(message_of<LogicError>(
                [] { compile_ptx(source, {.arch = "compute_80", .code = "compute_90"}); }),
            "PTX for \"compute_90\" is not code of the arch \"compute_80\"");
  EXPECT_EQ(message_of<LogicError>([] { compile_cubin(source, {.code = "compute_90"}); }),
            "compile_cubin: the code \"compute_90\" does not begin with \"sm_\"");
  EXPECT_EQ(message_of<LogicError>([] { compile_cubin(source, {.arch = "90", .code = "sm_90"}); }),
            "the arch \"90\" does not begin with \"sm_\" or \"compute_\"");
}

TEST_F(CompileForReal, HasADefaultOfTheEnvironmentForPtx) {
  const test::EnvironmentSetting set("QUARRY_DEFAULT_PTX_CC", "8.6");
  EXPECT_TRUE(has(compile_ptx(source), ".target sm_86"));
  EXPECT_TRUE(has(compile_ptx(source, {.arch = "compute_90"}), ".target sm_90"));
  for (const char* const wrong : {"86", "8.", ".6", "a.b", "8.6.1"}) {
    const test::EnvironmentSetting other("QUARRY_DEFAULT_PTX_CC", wrong);
    EXPECT_TRUE(has(message_of<LogicError>([] { compile_ptx(source); }),
                    std::string("QUARRY_DEFAULT_PTX_CC: \"") + wrong + '"'))
        << wrong;
  }
}

TEST_F(CompileForReal, MakesRelocatableCodeAndLtoIr) {
  const std::string calls = R"(extern "C" __device__ float elsewhere(float);
    extern "C" __global__ void apply(float* a) { *a = elsewhere(*a); })";
  EXPECT_THROW(compile_cubin(calls, {.arch = "sm_90"}), CompileError);
  EXPECT_TRUE(compile_cubin(calls, {.arch = "sm_90", .relocatable = true})
                  .starts_with("\x7f"
                               "ELF"));
  EXPECT_TRUE(has(compile_ptx(calls, {.arch = "compute_90", .relocatable = true}),
                  ".extern .func  (.param .b32 func_retval0) elsewhere"));
  for (const char* const arch : {"sm_90", "compute_90"}) {
    EXPECT_TRUE(compile_ltoir(calls, {.arch = arch}).starts_with("\xed\x43\x4e\x7f")) << arch;
  }
}

TEST_F(CompileForReal, OptimisesAsItIsTold) {
  const auto code = [](std::optional<bool> opt, bool debug) {
    return compile_cubin(source, {.arch = "sm_90", .debug = debug, .opt = opt});
  };
  EXPECT_EQ(code({}, false), code(true, false));
  EXPECT_NE(code(false, false), code(true, false));
  EXPECT_NE(code(true, true), code({}, true));
  EXPECT_EQ(code(false, true), code({}, true));
}

TEST_F(Compile, HasDefaultOptionsOfTheProcess) {
  const auto before = set_default_compile_options({"-DANSWER=42"});
  EXPECT_EQ(default_compile_options(), std::vector<std::string>{"-DANSWER=42"});
  EXPECT_EQ(CompileOptions{}.options, std::vector<std::string>{"-DANSWER=42"});
  EXPECT_EQ(set_default_compile_options(before), std::vector<std::string>{"-DANSWER=42"});
  EXPECT_EQ(CompileOptions{}.options, before);
}

TEST_F(Compile, KeepsSourceCodeAndLogInAFolder) {
  const fs::path kept = folder_ / "a" / "b";
  const std::string ptx =
      compile_ptx(source, {.arch = "compute_90", .keep_dir = kept, .name = "some/where/halves.cu"});
  EXPECT_EQ(contents(kept / "halves.cu"), source);
  EXPECT_EQ(contents(kept / "halves.ptx"), ptx);
  EXPECT_TRUE(fs::exists(kept / "halves.log"));
  EXPECT_TRUE(has(contents(kept / "halves.options"), "--gpu-architecture=compute_90\n"));
  const std::string code = compile_cubin(source, {.arch = "sm_90", .keep_dir = kept});
  EXPECT_EQ(contents(kept / "source.cubin"), code);
  EXPECT_EQ(std::distance(fs::directory_iterator(kept), fs::directory_iterator()), 8);
}

TEST_F(CompileForReal, KeepsCodeUnderTheEndingOfItsKind) {
  for (const char* const option : {"-dlto", "--dlink-time-opt"}) {
    const fs::path kept = folder_ / (option + 1);
    const std::string code = compile_ltoir(source, {.arch = "compute_90", .keep_dir = kept});
    EXPECT_EQ(contents(kept / "source.ltoir"), code);
    compile_cubin(source, {.options = {option}, .arch = "sm_90", .keep_dir = kept / "own"});
    EXPECT_TRUE(contents(kept / "own" / "source.ltoir").starts_with("\xed\x43\x4e\x7f")) << option;
    EXPECT_FALSE(fs::exists(kept / "own" / "source.cubin")) << option;
  }
}

TEST_F(Compile, KeepsWhatDoesNotCompile) {
  const std::string wrong = "extern \"C\" __global__ void wrong() {}\n#error too early\n";
  std::string log;
  try {
    compile_ptx(wrong, {.arch = "compute_90", .keep_dir = folder_});
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    log = e.log();
  }
  EXPECT_EQ(contents(folder_ / "source.cu"), wrong);
  EXPECT_FALSE(log.empty());
  EXPECT_EQ(contents(folder_ / "source.log"), log);
  EXPECT_FALSE(fs::exists(folder_ / "source.ptx"));
}

TEST_F(Compile, SaysOnceWhereItKeepsWhatItCompiled) {
  const test::EnvironmentSetting set("TMPDIR", folder_.c_str());
  testing::internal::CaptureStderr();
  const std::string ptx = compile_ptx(source, {.arch = "compute_90", .keep = true});
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string begin = "quarry: the compilation is kept in ";
  ASSERT_TRUE(said.starts_with(begin)) << said;
  const std::string named = said.substr(begin.size(), said.size() - begin.size() - 1);
  EXPECT_EQ(fs::path(named).parent_path(), folder_);
  EXPECT_EQ(contents(fs::path(named) / "source.ptx"), ptx);
}

TEST_F(Compile, KeepsNothingWhereItCannot) {
  std::ofstream(folder_ / "file") << "no folder";
  EXPECT_TRUE(has(message_of<RuntimeError>([&] {
                    compile_ptx(source, {.arch = "compute_90", .keep_dir = folder_ / "file"});
                  }),
                  "the compilation cannot be kept in " + (folder_ / "file").string()));
}

TEST_F(Compile, UsesTheCacheDirectoryThatItIsTold) {
  const test::EnvironmentSetting enabled("QUARRY_DISABLE_CACHE", "0");
  const fs::path cache = folder_ / "cache";
  const auto files = [&] {
    return std::distance(fs::directory_iterator(cache), fs::directory_iterator());
  };
  const CompileOptions options{.arch = "compute_90", .cache_dir = cache};
  const std::string first = compile_ptx(source, options);
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(compile_ptx(source, options), first);
  EXPECT_EQ(files(), 1);
  // what is found there is taken: with another name of the source it is another entry
  compile_ptx(source, {.arch = "compute_90", .cache_dir = cache, .name = "other.cu"});
  EXPECT_EQ(files(), 2);
  compile_ptx(source, {.arch = "compute_80", .cache = false, .cache_dir = cache});
  EXPECT_EQ(files(), 2);
  const test::EnvironmentSetting disabled("QUARRY_DISABLE_CACHE", "1");
  compile_ptx(source, {.arch = "compute_86", .cache_dir = cache});
  EXPECT_EQ(files(), 2);
}

TEST_F(Compile, RefusesACacheDirectoryOfEverybody) {
  const test::EnvironmentSetting enabled("QUARRY_DISABLE_CACHE", "0");
  const fs::path cache = folder_ / "open";
  fs::create_directory(cache);
  fs::permissions(cache, fs::perms::all);
  testing::internal::CaptureStderr();
  compile_ptx(source, {.arch = "compute_90", .cache_dir = cache});
  EXPECT_TRUE(has(testing::internal::GetCapturedStderr(), "can be written to by others"));
  EXPECT_TRUE(fs::is_empty(cache));
}

TEST_F(CompileForReal, FindsTheLibrarysHeadersWithoutFiles) {
  const std::string viewer = R"(
#include <quarry/device_view.cuh>
extern "C" __global__ void twice(quarry::DeviceView<float, 2> a) { a(threadIdx.x, 0) *= 2; }
)";
  const test::EnvironmentSetting enabled("QUARRY_DISABLE_CACHE", "0");
  const fs::path cache = folder_ / "cache";
  const CompileOptions options{.arch = "compute_90", .cache_dir = cache};
  EXPECT_TRUE(has(compile_ptx(viewer, options), ".entry twice"));
  EXPECT_EQ(std::distance(fs::directory_iterator(cache), fs::directory_iterator()), 1);
  EXPECT_TRUE(has(compile_ptx("#include <quarry/kernels/math.hpp>\n"
                              "extern \"C\" __global__ void idle() {}",
                              options),
                  ".entry idle"));
  EXPECT_THROW(compile_ptx("#include <quarry/quarry.hpp>\n", options), CompileError);
  // a folder may have a file of this name
  CompileOptions with_folder = options;
  with_folder.include_dirs = {folder_};
  compile_ptx(viewer, with_folder);
  EXPECT_EQ(std::distance(fs::directory_iterator(cache), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace quarry
