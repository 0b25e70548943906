// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/linker.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fake_driver/test_device.hpp"
#include "message_of.hpp"
#include "temporary_folder.hpp"

/// Linking without a GPU, with the machine's nvJitLink where the device is the CPU.
namespace quarry {
namespace {

namespace fs = std::filesystem;
using test::message_of;

constexpr const char* half = R"(extern "C" __device__ float half_of(float x) { return x / 2; })";
constexpr const char* halve = R"(
extern "C" __device__ float half_of(float);
extern "C" __global__ void halve(float* a) { a[threadIdx.x] = half_of(a[threadIdx.x]); }
)";

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
bool is_elf(const std::string& code) {
  return code.starts_with(
      "\x7f"
      "ELF");
}
std::string ptx(const char* source, const char* arch = "compute_90") {
  return compile_ptx(source, {.arch = arch, .relocatable = true});
}
std::string ltoir(const char* source) { return compile_ltoir(source, {.arch = "compute_90"}); }

bool has_tools() {
  try {
    nvjitlink_version();
    return nvrtc_version().first > 0;
  } catch (const BackendUnavailable&) {
    return false;
  }
}

class LinkerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::fake) GTEST_SKIP() << "wants the real nvJitLink";
    if (!has_tools()) GTEST_SKIP() << "there is no NVRTC or no nvJitLink";
  }
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  /// Made by nvcc with these options, or nothing where it is missing.
  std::string made_by_nvcc(const char* source, const std::string& name,
                           const std::string& options) const {
    const std::string input = file("input.cu", source);
    const std::string command = "PATH=$PATH:/usr/local/cuda/bin nvcc -allow-unsupported-compiler " +
                                options + " -o " + (folder_ / name).string() + " " + input +
                                " >/dev/null 2>&1";
    return std::system(command.c_str()) == 0 ? (folder_ / name).string() : std::string();
  }
  const test::TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

Linker linker() { return Linker({.arch = "sm_90"}); }

TEST_F(LinkerTest, JoinsPtxThatCallsOtherPtx) {
  const std::string code = linker().add_ptx(ptx(half)).add_ptx(ptx(halve)).complete();
  EXPECT_TRUE(is_elf(code));
  EXPECT_TRUE(has(code, "halve"));
  EXPECT_TRUE(is_elf(linker().add_data(LinkKind::any, ptx(half)).complete()));
}

TEST_F(LinkerTest, JoinsMachineCodeAndPtxOfAnOlderArchitecture) {
  const std::string cubin = compile_cubin(half, {.arch = "sm_90", .relocatable = true});
  EXPECT_TRUE(is_elf(linker().add_cubin(cubin).add_ptx(ptx(halve, "compute_80")).complete()));
}

TEST_F(LinkerTest, TellsWhatIsMissing) {
  Linker alone = linker();
  alone.add_ptx(ptx(halve), "halve.ptx");
  try {
    alone.complete();
    FAIL() << "it was linked";
  } catch (const CompileError& e) {
    EXPECT_TRUE(has(e.message(), "the code was not linked: ")) << e.message();
    EXPECT_TRUE(has(e.log(), "half_of")) << e.log();
    EXPECT_EQ(e.options(), "-arch=sm_90");
    EXPECT_EQ(alone.error_log(), e.log());
  }
  EXPECT_TRUE(is_elf(alone.add_ptx(ptx(half)).complete()));
  EXPECT_EQ(alone.error_log(), "");
}

TEST_F(LinkerTest, OptimisesLtoIrAcrossSources) {
  Linker whole = linker();
  whole.add_ltoir(ltoir(half)).add_ltoir(ltoir(halve));
  EXPECT_TRUE(whole.options().lto);
  EXPECT_TRUE(is_elf(whole.complete()));
  const std::string linked = whole.get_linked_ptx();
  EXPECT_TRUE(has(linked, ".entry halve"));
  EXPECT_FALSE(has(linked, "call")) << "half_of is inlined";
  EXPECT_TRUE(has(ptx(halve), "call"));
}

TEST_F(LinkerTest, CompilesSourceForItself) {
  Linker direct = linker();
  direct.add_cu(half).add_cu("template <class T> __global__ void scale(T* a) { *a *= 2; }",
                             {.names = {"scale<int>"}});
  EXPECT_TRUE(is_elf(direct.complete()));
  ASSERT_EQ(direct.lowered_names().count("scale<int>"), 1u);
  EXPECT_TRUE(has(direct.complete(), direct.lowered_names().at("scale<int>")));
  Linker whole({.arch = "sm_90", .lto = true});
  EXPECT_TRUE(has(whole.add_cu(half).add_cu(halve).get_linked_ptx(), ".entry halve"));
  EXPECT_THROW(linker().add_cu("nonsense"), CompileError);
}

TEST_F(LinkerTest, PassesItsOptions) {
  const std::string big = R"(extern "C" __global__ void sums(const double* a, double* out) {
    double s[64];
    for (int i = 0; i < 64; ++i) s[i] = a[i + 64 * threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 64; ++i) out[i + 64 * threadIdx.x] = s[i] * s[63 - i];
  })";
  const std::string code = ptx(big.c_str());
  const std::string free = linker().add_ptx(code).complete();
  const auto with = [&](LinkOptions options) {
    options.arch = "sm_90";
    return Linker(std::move(options)).add_ptx(code).complete();
  };
  EXPECT_EQ(with({}), free);
  EXPECT_NE(with({.max_registers = 32}), free);
  EXPECT_NE(with({.optimization = 0}), free);
  EXPECT_TRUE(has(with({.debug = true}), ".debug"));
  Linker talking({.arch = "sm_90", .options = {"-verbose"}});
  talking.add_ptx(code).complete();
  EXPECT_TRUE(has(talking.info_log(), "registers")) << talking.info_log();
  Linker wrong({.arch = "sm_90", .options = {"-no-such-option"}});
  try {
    wrong.add_ptx(code).complete();
    FAIL() << "it was linked";
  } catch (const CompileError& e) {
    EXPECT_TRUE(has(e.message(), "the linker does not take its options: unrecognized option"));
    EXPECT_EQ(e.options(), "-arch=sm_90 -no-such-option");
  }
  for (const char* const arch : {"sm_99", "sm_70", "sm_900"}) {
    EXPECT_THROW(Linker({.arch = arch}).add_ptx(code).complete(), CompileError) << arch;
  }
}

TEST_F(LinkerTest, TakesFilesByTheirNames) {
  const std::string one = file("one.ptx", ptx(half)), two = file("two.cu", halve);
  EXPECT_TRUE(is_elf(linker().add_file(one).add_file(two).complete()));
  const std::string odd = file("odd.bin", ptx(half));
  EXPECT_TRUE(is_elf(linker().add_file(odd, LinkKind::ptx).complete()));
  const std::string ir = file("ir.ltoir", ltoir(half));
  EXPECT_TRUE(linker().add_file_guess_ext(ir).options().lto);
  EXPECT_EQ(message_of<LogicError>([] { linker().add_file("kernels.cuh"); }),
            "kernels.cuh: files with the extension .cuh are not linked");
  EXPECT_TRUE(has(message_of<LogicError>([] { linker().add_file("folder.d/kernels"); }),
                  "a file without an extension"));
  EXPECT_EQ(message_of<RuntimeError>([] { linker().add_file("/nonexistent.a"); }),
            "the linker's input /nonexistent.a cannot be read: No such file or directory");
  EXPECT_THROW(linker().add_file(folder_, LinkKind::ptx), RuntimeError);
}

TEST_F(LinkerTest, RefusesWhatIsNoCode) {
  for (const LinkKind kind : {LinkKind::any, LinkKind::ptx, LinkKind::cubin, LinkKind::ltoir,
                              LinkKind::fatbin, LinkKind::object, LinkKind::library}) {
    for (const std::string& bytes : {std::string("nonsense"), std::string(1000, '\0'),
                                     std::string("\x7f"
                                                 "ELF")}) {
      EXPECT_THROW(linker().add_data(kind, bytes, "junk").complete(), CompileError)
          << static_cast<int>(kind) << ' ' << bytes.size();
    }
  }
  EXPECT_THROW(linker().add_cubin(ptx(half)).complete(), CompileError);
  const std::string elsewhere = compile_cubin(half, {.arch = "sm_80", .relocatable = true});
  EXPECT_THROW(linker().add_cubin(elsewhere).complete(), CompileError);
  EXPECT_THROW(linker().add_ptx(ptx(half)).get_linked_ptx(), CompileError);
  EXPECT_EQ(message_of<LogicError>([] { linker().complete(); }), "the linker has no inputs");
}

TEST_F(LinkerTest, TakesObjectsArchivesAndFatbinsOfNvcc) {
  const std::string object = made_by_nvcc(half, "half.o", "-dc -arch=sm_90");
  if (object.empty()) GTEST_SKIP() << "there is no nvcc that works";
  EXPECT_TRUE(is_elf(linker().add_file(object).add_ptx(ptx(halve)).complete()));
  const std::string archive = folder_ / "half.a";
  if (std::system(("ar rc " + archive + ' ' + object).c_str()) == 0) {
    EXPECT_TRUE(is_elf(linker().add_ptx(ptx(halve)).add_file(archive).complete()));
  }
  const std::string fatbin = made_by_nvcc(half, "half.fatbin", "-fatbin -rdc=true -arch=sm_90");
  ASSERT_FALSE(fatbin.empty());
  EXPECT_TRUE(is_elf(linker().add_file(fatbin).add_ptx(ptx(halve)).complete()));
}

TEST(Linker, IsACopyOfItsOwn) {
  Linker first({.arch = "sm_90"});
  Linker second = first;
  second.add_ltoir("anything");
  EXPECT_TRUE(second.options().lto);
  EXPECT_FALSE(first.options().lto);
}

TEST(Linker, RefusesWhatIsNoArchitecture) {
  for (const char* const arch :
       {"sm_1", "sm_05", "sm_", "90", "sm_1234", "sm_90ab", "compute_90", " sm_90"}) {
    EXPECT_TRUE(has(message_of<LogicError>([&] { Linker({.arch = arch}); }),
                    std::string("the linker's arch \"") + arch + '"'))
        << arch;
  }
  EXPECT_EQ(Linker({.arch = "sm_90a"}).options().arch, "sm_90a");
}

TEST(Linker, WantsAnArchitectureOnTheCpu) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(message_of<LogicError>([] { Linker(); }),
            "kernels are compiled for GPUs, and this is the CPU device: state an arch");
}

}  // namespace
}  // namespace quarry
