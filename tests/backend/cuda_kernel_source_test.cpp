// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include <quarry/base/error.hpp>

#include "backend/cuda/jit.hpp"
#include "backend/cuda/nvrtc.hpp"

namespace quarry::backend::cuda {
namespace {

using namespace quarry::kernels;

struct doubled {
  static constexpr const char* quarry_source =
      "QUARRY_HD auto operator()(auto x) const { return x + x; }";
  QUARRY_HD auto operator()(auto x) const { return x + x; }
};
struct also_doubled : doubled {};
struct broken {
  static constexpr const char* quarry_source =
      "QUARRY_HD auto operator()(auto x) const { return nonsense; }";
  QUARRY_HD auto operator()(auto x) const { return x; }
};

template <class F>
using map_with = map_of<call<F, call<F, in<float, 0>>>, float, 0, float>;
template <class F>
const program& program_with() {
  return program_for<map_with<F>>::value;
}

constexpr Variant flat{.kind = Variant::Kind::map_flat, .width = 4};

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(cuda_kernel_source, instantiations_are_named_as_the_kernels_are_declared) {
  program p{.name = "M",
            .inputs = 0,
            .scalars = 0,
            .itemsize = nullptr,
            .alignment = nullptr,
            .users = [](void*, user_visitor) {}};
  const auto name = [&](const Variant& v) { return kernel_source(p, v).instantiation; };
  EXPECT_EQ(name(flat), "quarry::kernels::map_flat<M, 4>");
  EXPECT_EQ(name({.kind = Variant::Kind::map_strided, .rows = 4, .rank = 3, .wide_index = true}),
            "quarry::kernels::map_strided<M, 3, long, 4, 1, 0>");
  EXPECT_EQ(name({.kind = Variant::Kind::map_strided, .width = 4, .rows = 2, .rank = 2, .wide = 5}),
            "quarry::kernels::map_strided<M, 2, int, 2, 4, 5>");
  EXPECT_EQ(
      name({.kind = Variant::Kind::reduce, .rank = 1, .reduced_rank = 2, .along_reduced = true}),
      "quarry::kernels::reduce<M, 1, 2, int, 1, 1, 0>");
  EXPECT_EQ(name({.kind = Variant::Kind::reduce_finish}), "quarry::kernels::reduce_finish<M>");
}

TEST(cuda_kernel_source, different_variants_have_different_keys) {
  std::set<std::uint64_t> keys;
  int variants = 0;
  for (const auto kind :
       {Variant::Kind::map_flat, Variant::Kind::map_strided, Variant::Kind::reduce}) {
    for (const std::uint8_t rank : std::initializer_list<std::uint8_t>{0, 1, 32}) {
      for (const std::uint8_t other : std::initializer_list<std::uint8_t>{0, 1, 4, 16, 32}) {
        for (const bool flag : {false, true}) {
          keys.insert(Variant{kind, other, 1, rank, 0, flag, false, 0}.key());
          keys.insert(Variant{kind, 1, other, rank, 2, flag, false, 0}.key());
          keys.insert(Variant{kind, 2, 3, rank, other, flag, true, 1}.key());
          keys.insert(Variant{kind, 2, 3, rank, other, flag, true, 0xffff}.key());
          variants += 4;
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(variants));
}

TEST(cuda_kernel_source, renaming_replaces_whole_types_only) {
  EXPECT_EQ(renamed("call<f, in<f, 0>, ff, xf>", "f", "g"), "call<g, in<g, 0>, ff, xf>");
  EXPECT_EQ(renamed("call<a::f, f::b, f<int>, f>", "f", "g"), "call<a::f, f::b, f<int>, g>");
  EXPECT_EQ(renamed("call<{anonymous}::f, float>", "{anonymous}::f", "g"), "call<g, float>");
  EXPECT_EQ(renamed("call<(anonymous namespace)::f>", "(anonymous namespace)::f", "g"), "call<g>");
  EXPECT_EQ(renamed("f", "f", "ff"), "ff");
}

TEST(cuda_kernel_source, a_user_function_is_defined_once_under_a_name_of_its_source) {
  const KernelSource source = kernel_source(program_with<doubled>(), flat);
  const std::string identifier = user_identifier(doubled::quarry_source);
  EXPECT_EQ(count(source.text, "struct " + identifier), 1);
  EXPECT_EQ(count(source.instantiation, "quarry::kernels::" + identifier), 2);
  EXPECT_EQ(count(source.instantiation, "doubled"), 0);
  EXPECT_EQ(count(source.instantiation, "anonymous"), 0);
}

TEST(cuda_kernel_source, the_same_source_gives_the_same_kernel_wherever_it_is_written) {
  const KernelSource a = kernel_source(program_with<doubled>(), flat);
  const KernelSource b = kernel_source(program_with<also_doubled>(), flat);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.instantiation, b.instantiation);
  EXPECT_NE(kernel_source(program_with<broken>(), flat).text, a.text);
}

TEST(cuda_kernel_source, machine_code_for_known_gpus_and_ptx_for_newer_ones) {
  const int supported[] = {75, 80, 86, 90, 100, 120};
  const auto name = [&](int major, int minor) {
    return architecture_for({major, minor}, supported).name;
  };
  EXPECT_EQ(name(9, 0), "sm_90");
  EXPECT_EQ(name(8, 9), "sm_86");
  EXPECT_EQ(name(10, 3), "sm_100");
  EXPECT_EQ(name(11, 0), "compute_100");
  EXPECT_EQ(name(13, 0), "compute_120");
  EXPECT_TRUE(architecture_for({13, 0}, supported).is_ptx);
  EXPECT_FALSE(architecture_for({9, 0}, supported).is_ptx);
  EXPECT_THROW(architecture_for({7, 0}, supported), BackendUnavailable);
  EXPECT_THROW(architecture_for({7, 0}, {}), BackendUnavailable);
}

class cuda_jit : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
    if (kind && std::string(kind) == "fake") GTEST_SKIP() << "the fake compiler makes no code";
    if (!load_nvrtc().table) GTEST_SKIP() << "no NVRTC on this machine";
  }
};

TEST_F(cuda_jit, user_functions_compile) {
  const Binary binary = compile_kernel(kernel_source(program_with<doubled>(), flat), {"sm_90"});
  EXPECT_TRUE(binary.code.starts_with("\177ELF"));
  EXPECT_FALSE(binary.function.empty());
}

TEST_F(cuda_jit, ptx_is_text) {
  const Binary binary =
      compile_kernel(kernel_source(program_with<doubled>(), flat), {"compute_90", true});
  EXPECT_NE(binary.code.find(".entry " + binary.function), std::string::npos);
}

TEST_F(cuda_jit, an_error_carries_log_source_and_options) {
  try {
    compile_kernel(kernel_source(program_with<broken>(), flat), {"sm_90"});
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(e.log().find("nonsense"), std::string::npos);
    EXPECT_NE(e.source().find("return nonsense"), std::string::npos);
    EXPECT_NE(e.options().find("sm_90"), std::string::npos);
  }
}

TEST_F(cuda_jit, files_of_the_machine_are_out_of_reach) {
  const KernelSource source{"#include \"cuda_kernel_source_test.cpp\"\n__global__ void f() {}\n",
                            "f"};
  EXPECT_THROW(compile_kernel(source, {"sm_90"}), CompileError);
}

TEST_F(cuda_jit, the_key_names_all_that_the_binary_depends_on) {
  const KernelSource source = kernel_source(program_with<doubled>(), flat);
  const std::string key = kernel_key(source, {"sm_90"});
  EXPECT_EQ(key, kernel_key(source, {"sm_90"}));
  EXPECT_NE(key, kernel_key(source, {"sm_80"}));
  EXPECT_NE(key, kernel_key({source.text + " ", source.instantiation}, {"sm_90"}));
  EXPECT_NE(key, kernel_key({source.text, source.instantiation + " "}, {"sm_90"}));
  for (const char* part : {"library ", "headers ", "nvrtc ", "options ", "-fmad=false"}) {
    EXPECT_NE(key.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace quarry::backend::cuda
