// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <quarry/base/error.hpp>
#include <quarry/kernels/join.hpp>
#include <quarry/kernels/reduce.hpp>

#include "backend/cuda/jit/jit.hpp"
#include "backend/cuda/jit/nvrtc.hpp"

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

constexpr FlatMap flat{4};

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(cuda_kernel_source, instantiations_are_named_as_the_kernels_are_declared) {
  program p{.kind = family::map,
            .name = "M",
            .outputs = 1,
            .inputs = 0,
            .scalars = 0,
            .itemsize = nullptr,
            .alignment = nullptr,
            .own = nullptr,
            .users = [](void*, user_visitor) {},
            .singles = single_access::none,
            .is_at_one_place = nullptr,
            .loops = nullptr};
  const auto name = [&](const Variant& v) { return kernel_source(p, v).instantiation; };
  EXPECT_EQ(name(flat), "quarry::kernels::map_flat<M, 4>");
  EXPECT_EQ(name(StridedMap{.rank = 3, .index_bytes = 8, .rows = 4}),
            "quarry::kernels::map_strided<M, 3, 8, 4, 1, 0>");
  EXPECT_EQ(name(StridedMap{.rank = 2, .index_bytes = 4, .rows = 2, .width = 4, .wide = 5}),
            "quarry::kernels::map_strided<M, 2, 4, 2, 4, 5>");
  EXPECT_EQ(name(TiledMap{.rank = 3,
                          .read_rank = 2,
                          .write_rank = 1,
                          .width = 4,
                          .wide = 2,
                          .tiled = 1,
                          .shifted = true}),
            "quarry::kernels::map_tiled<M, 3, 2, 1, 4, 2, 1, 2>");
  EXPECT_EQ(name(Reduce{.kept_rank = 1, .reduced_rank = 2, .index_bytes = 4, .along_reduced = 1}),
            "quarry::kernels::reduce<M, 1, 2, 4, 1, 1, 0>");
  EXPECT_EQ(name(Reduce{.kept_rank = 1,
                        .reduced_rank = 1,
                        .index_bytes = 8,
                        .along_reduced = 2,
                        .width = 4,
                        .wide = 1,
                        .finishes = true}),
            "quarry::kernels::reduce_and_finish<M, 1, 1, 8, 2, 4, 1>");
  EXPECT_EQ(name(ReduceFinish{2, 1}), "quarry::kernels::reduce_finish<M, 2, 1>");
  EXPECT_EQ(
      name(ReduceFew{{.kept_rank = 2, .reduced_rank = 1, .index_bytes = 4, .along_reduced = 3}, 7}),
      "quarry::kernels::reduce_few<M, 2, 1, 4, 3, 1, 0, 7>");
  EXPECT_EQ(name(ReduceStaged{.kept_rank = 1,
                              .reduced_rank = 2,
                              .index_bytes = 8,
                              .wide = 1,
                              .lanes = 4,
                              .segments = 2,
                              .accesses = 3}),
            "quarry::kernels::reduce_staged<M, 1, 2, 8, 1, 4, 2, 3>");
  EXPECT_EQ(name(ReduceSlabs{.kept_rank = 2, .index_bytes = 4}),
            "quarry::kernels::reduce_slabs<M, 2, 4>");
}

TEST(cuda_kernel_source, variants_are_equal_if_kernel_and_arguments_are) {
  const Variant base = StridedMap{.rank = 2, .index_bytes = 4, .rows = 2, .width = 4, .wide = 5};
  EXPECT_EQ(base, (Variant{"map_strided", {2, 4, 2, 4, 5}}));
  EXPECT_EQ(base.hash(), (Variant{"map_strided", {2, 4, 2, 4, 5}}.hash()));
  EXPECT_NE(base, (Variant{"map_strided", {2, 4, 2, 4, 4}}));
  EXPECT_NE(base, (Variant{"map_strided", {2, 4, 2, 4, 5, 0}}));
  EXPECT_NE(base, (Variant{"reduce", {2, 4, 2, 4, 5}}));
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

TEST(cuda_kernel_source, a_table_keeps_the_rows_of_the_functors_named) {
  constexpr std::string_view table =
      "// a table\n\nQUARRY_UNARY(sin, inexact, math::sin(x))\nQUARRY_UNARY(arcsin, inexact,\n"
      "             math::asin(x))\n\nQUARRY_TERNARY(where, select, x ? y : z)\n";
  EXPECT_EQ(rows_of(table, {"sin_op"}), "QUARRY_UNARY(sin, inexact, math::sin(x))\n");
  EXPECT_EQ(rows_of(table, {"where_op", "arcsin_op"}),
            "QUARRY_UNARY(arcsin, inexact,\n             math::asin(x))\n\n"
            "QUARRY_TERNARY(where, select, x ? y : z)\n\n");
  EXPECT_EQ(rows_of(table, {"sin", "co_sin_op"}), "");
}

using Sine = op<sin_op, float, in<float, 0>>;

TEST(cuda_kernel_source, a_kernel_gets_the_operations_that_it_names) {
  const KernelSource sine = kernel_source(program_for<map_of<Sine, float, 0, float>>::value, flat);
  EXPECT_EQ(count(sine.operations, "(sin,"), 1);
  EXPECT_EQ(count(sine.operations, "(cos,"), 0);
  EXPECT_EQ(count(sine.text, "QUARRY_REAL_NUMBERS_ONLY"), 1);

  using Number = kernels::complex<float>;
  using Real = op<real_op, Number, in<Number, 0>>;
  const KernelSource real = kernel_source(program_for<map_of<Real, float, 0, Number>>::value, flat);
  EXPECT_EQ(count(real.text, "QUARRY_REAL_NUMBERS_ONLY"), 0);
}

TEST(cuda_kernel_source, a_user_function_may_use_every_operation_and_complex_numbers) {
  const KernelSource source = kernel_source(program_with<doubled>(), flat);
  EXPECT_EQ(count(source.text, "QUARRY_REAL_NUMBERS_ONLY"), 0);
  for (const char* const operation : {"(cos,", "(where,", "(conj,"}) {
    EXPECT_EQ(count(source.operations, operation), 1) << operation;
  }
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

/// The kernel's own instructions.
std::string instructions_of(const program& of, const Variant& variant) {
  const std::string code = compile_kernel(kernel_source(of, variant), {"compute_90", true}).code;
  return code.substr(code.find(".entry"));
}

using SumOfTwo = op<add_op, float, in<float, 0>, in<float, 1>>;
const program& map = program_for<map_of<SumOfTwo, float, 0, float, float>>::value;
const program& total =
    program_for<reduction_of<in<float, 0>, sum_of, float, float, 0, float>>::value;

/// What is launched before the work ahead of it is done waits for that before it reads.
TEST_F(cuda_jit, kernels_of_maps_and_reductions_wait_before_they_read) {
  const auto expect_wait = [](const program& of, const Variant& variant) {
    const std::string code = instructions_of(of, variant);
    const auto wait = code.find("griddepcontrol.wait"), read = code.find("ld.global");
    EXPECT_NE(read, code.npos) << variant.kernel();
    EXPECT_LT(wait, read) << variant.kernel();
  };
  expect_wait(map, flat);
  expect_wait(map, StridedMap{2, 4, 4});
  expect_wait(map, UnalignedMap{2, 4, 2, 4, 3});
  expect_wait(map, AcrossMap{2, 4, 4, 1, 2});
  expect_wait(map, TiledMap{2, 2, 4, 2, 1});
  expect_wait(program_for<join_of<u8>>::value, Interleave{3});
  expect_wait(total, Reduce{0, 1, 4, 1});
  expect_wait(total, ReduceFinish{0, 1});
}

/// What may read ahead of the work before it waits for that between its first read and its first
/// write.
TEST_F(cuda_jit, kernels_that_read_ahead_wait_before_they_write) {
  const auto expect_wait = [](const program& of, const Variant& variant) {
    const std::string code = instructions_of(of, variant);
    const auto read =
        std::min({code.find("ld.global"), code.find("cp.async"), code.find("ld.v4.")});
    const auto write = std::min(code.find("st.global"), code.find("atom."));
    ASSERT_NE(std::max(read, write), code.npos) << variant.kernel();
    EXPECT_LT(code.find("griddepcontrol.wait", read), write) << variant.kernel();
  };
  expect_wait(map, TiledMap{2, 2, 4, 2, 1});
  expect_wait(total, Reduce{0, 1, 4, 1});
  expect_wait(total, Reduce{.kept_rank = 0,
                            .reduced_rank = 1,
                            .index_bytes = 4,
                            .along_reduced = 1,
                            .finishes = true});
  expect_wait(total, Reduce{1, 1, 4, 0});
  expect_wait(total, ReduceFew{{1, 1, 4, 0}, 3});
  expect_wait(total, ReduceStaged{1, 1, 4, 1, 4, 2, 3});
  expect_wait(total, ReduceSlabs{2, 4});
}

/// Loads are not moved behind branches, of which the sine has one.
TEST_F(cuda_jit, all_loads_of_a_thread_are_in_flight_together) {
  using Sine = op<sin_op, float, in<float, 0>>;
  const program& map = program_for<map_of<Sine, float, 0, float>>::value;
  const std::string code = instructions_of(map, StridedMap{2, 4, 4});
  EXPECT_EQ(count(code, "ld.global"), 4) << code;
  EXPECT_LT(code.rfind("ld.global"), code.find("call")) << code;
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
