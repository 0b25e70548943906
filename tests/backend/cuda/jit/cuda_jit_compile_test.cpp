// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/base/error.hpp>
#include <quarry/kernels/bincount.hpp>
#include <quarry/kernels/join.hpp>
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>
#include <quarry/kernels/rows.hpp>
#include <quarry/kernels/select.hpp>

#include "backend/cuda/jit/jit.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "kernels/operation_name.hpp"

/// Compiles kernels of every form from the embedded headers, as the backend does, without a GPU.
namespace {

using namespace quarry::kernels;
using quarry::backend::cuda::AcrossMap;
using quarry::backend::cuda::Binary;
using quarry::backend::cuda::Bincount;
using quarry::backend::cuda::compile_kernel;
using quarry::backend::cuda::FlatMap;
using quarry::backend::cuda::Interleave;
using quarry::backend::cuda::Join;
using quarry::backend::cuda::kernel_source;
using quarry::backend::cuda::MaskedRows;
using quarry::backend::cuda::Reduce;
using quarry::backend::cuda::ReduceFinish;
using quarry::backend::cuda::ReduceSlabs;
using quarry::backend::cuda::ReduceStaged;
using quarry::backend::cuda::RowParts;
using quarry::backend::cuda::Rows;
using quarry::backend::cuda::ScatterMap;
using quarry::backend::cuda::ScatterRows;
using quarry::backend::cuda::ScatterSingles;
using quarry::backend::cuda::Select;
using quarry::backend::cuda::StridedMap;
using quarry::backend::cuda::TiledMap;
using quarry::backend::cuda::UnalignedMap;
using quarry::backend::cuda::Variant;

struct Check {
  const program* of;
  Variant variant;
};

struct axpy {
  static constexpr const char* quarry_source =
      "QUARRY_HD auto operator()(auto a, auto x, auto y) const { return a * x + math::sqrt(y); }";
  QUARRY_HD auto operator()(auto a, auto x, auto y) const { return a * x + math::sqrt(y); }
};

template <class T>
using sum_expression = op<add_op, T, in<T, 0>, op<multiply_op, T, in<T, 1>, val<T, 0>>>;
template <class T>
using map_program = program_for<map_of<sum_expression<T>, T, 1, T, T>>;
template <class T>
using copy_program = program_for<map_of<in<T, 0>, T, 0, T>>;
template <class T, class Reducer, class Acc, class Out>
using reduce_program = program_for<reduction_of<in<T, 0>, Reducer, Acc, Out, 0, T>>;

Variant flat(int width) { return FlatMap{width}; }
Variant strided(int rank, int rows, bool wide_index, int width = 1, int wide = 0) {
  return StridedMap{rank, wide_index ? 8 : 4, rows, width, wide};
}
Variant reduction(int kept, int reduced, bool wide_index, bool along, int width = 1, int wide = 0) {
  return Reduce{kept, reduced, wide_index ? 8 : 4, along ? 1 : 0, width, wide};
}

template <class T>
void add_maps(std::vector<Check>& checks) {
  const program* of = &map_program<T>::value;
  checks.push_back({of, flat(1)});
  constexpr int widest = 16 / static_cast<int>(sizeof(T));
  if constexpr (widest > 1) {
    checks.push_back({of, flat(widest)});
    checks.push_back({of, strided(2, 2, false, widest, 2)});
    checks.push_back({of, UnalignedMap{2, 8, 2, widest, 3}});
    checks.push_back({of, UnalignedMap{2, 4, 1, widest, 0x10002}});
    checks.push_back({of, AcrossMap{2, 4, widest, 1, 2}});
    checks.push_back({of, TiledMap{2, 2, widest, 2, 1}});
    checks.push_back({of, TiledMap{3, 2, widest, 2, 1, sizeof(T) < 4 ? 16 : 0, true, true}});
    checks.push_back({of, TiledMap{.rank = 3,
                                   .read_rank = 2,
                                   .write_rank = 3,
                                   .width = widest,
                                   .wide = 2,
                                   .tiled = 1,
                                   .alike = true}});
  }
  if constexpr (sizeof(T) <= 2) {
    const TiledMap turned{.rank = 2,
                          .read_rank = 2,
                          .write_rank = 2,
                          .width = widest,
                          .tiled = 1,
                          .shifted = true,
                          .turned = true};
    checks.push_back({&copy_program<T>::value, turned});
  }
  checks.push_back({of, strided(1, 1, false)});
  checks.push_back({of, strided(2, 8, false)});
}

template <class T, class Reducer, class Acc, class Out>
void add_reductions(std::vector<Check>& checks) {
  const program* of = &reduce_program<T, Reducer, Acc, Out>::value;
  checks.push_back({of, reduction(0, 1, false, true)});
  if constexpr (sizeof(T) < 16) {
    checks.push_back({of, reduction(1, 1, false, true, 2, 1)});
    checks.push_back({of, reduction(1, 2, false, false, 2, 1)});
    checks.push_back({of, Reduce{1, 1, 4, 2, 2, 1}});
  }
  checks.push_back({of, reduction(1, 1, true, false)});
  if constexpr (sizeof(T) <= 8 && !is_located<Acc>) {
    checks.push_back({of, ReduceStaged{1, 1, 4, 1, 2, 1, 4}});
    checks.push_back({of, ReduceStaged{1, 2, 8, 0x10001, 1, 2, 2}});
  }
  if constexpr (sizeof(T) <= 4) checks.push_back({of, ReduceSlabs{2, 4}});
  checks.push_back({of, Reduce{1, 1, 4, 2, 1, 0, true}});
  checks.push_back({of, ReduceFinish{1, 1}});
}

/// Rows of T, computed in C.
template <class T, class Row>
void add_rows(std::vector<Check>& checks) {
  using C = typename value_of<typename Row::accumulator>::type;
  const program* of = &program_for<rows_of<cast<C, in<T, 0>>, Row, T, 1, T>>::value;
  constexpr int widest = 16 / static_cast<int>(sizeof(T));
  checks.push_back({of, Rows{1, 4, true, widest, widest > 1 ? 1 : 0, 4}});
  checks.push_back({of, Rows{2, 8, false, 1, 0, 8}});
  checks.push_back({of, Rows{1, 4, false, 1, 0, 0}});
  checks.push_back({of, RowParts{true, 1, 4, true}});
  checks.push_back({of, RowParts{false, 1, 4, true}});
}

template <class T>
void add_selections(std::vector<Check>& checks) {
  using kept = select_of<in<bool, 0>, in<T, 1>, T, false, 0, bool, T>;
  using placed = select_of<in<bool, 0>, pick<T, 1, place<index_mode::wrap, 0, iota<i64>>>, T, true,
                           1, bool, side<T>>;
  constexpr int widest = 16 / static_cast<int>(sizeof(T));
  checks.push_back({&program_for<kept>::value, Select{1, 4, widest, widest > 1 ? 3 : 0}});
  checks.push_back({&program_for<kept>::value, Select{2, 8}});
  checks.push_back({&program_for<placed>::value, Select{1, 4, 4, 1}});
  using where_true = map_of<guarded<in<bool, 0>, in<T, 1>>, T, 0, bool, T>;
  checks.push_back({&program_for<where_true>::value, FlatMap{widest}});
  using one_where_true = map_of<guarded<in<bool, 0>, val<T, 0>>, T, 1, bool>;
  checks.push_back({&program_for<one_where_true>::value, FlatMap{widest}});
  checks.push_back({&program_for<one_where_true>::value, MaskedRows{}});
}

template <class T>
void add_counts(std::vector<Check>& checks) {
  const program* of = &program_for<bincount_of<in<T, 0>, 1, T>>::value;
  constexpr int widest = 16 / static_cast<int>(sizeof(T));
  checks.push_back({of, Bincount{true, widest, 1}});
  checks.push_back({of, Bincount{false, widest, 1}});
  checks.push_back({of, Bincount{false}});
}

/// Programs that copy rows across their ends, which no other program with side operands may.
template <class E>
inline constexpr bool copies = copies_rows_of<map_of<E, float, 1, i64, side<float>>>;
template <class I>
using row_at = pick<float, 1, place<index_mode::clip, 0, I>>;
static_assert(copies<row_at<in<i64, 0>>> && copies<guarded<in<i64, 0>, row_at<in<i64, 0>>>>);
static_assert(!copies<row_at<iota<i64>>> && !copies<row_at<pick<i64, 0, in<i64, 0>>>>);
static_assert(!copies<guarded<iota<i64>, row_at<in<i64, 0>>>>);
static_assert(!copies<op<add_op, float, row_at<in<i64, 0>>, in<i64, 0>>>);

template <class T>
void add_joins(std::vector<Check>& checks) {
  const program* of = &program_for<join_of<T>>::value;
  checks.push_back({of, Join{1, 4}});
  checks.push_back({of, Join{3, 8}});
  if constexpr (sizeof(T) <= 8) {
    checks.push_back({of, Join{1, 4, 1}});
    checks.push_back({of, Join{1, 8, 2}});
  }
  if constexpr (sizeof(T) <= 2) {
    checks.push_back({of, Interleave{3}});
    checks.push_back({of, Interleave{8}});
  }
}

/// Rows where positions say, all of them and those of a mask; functors, which NVRTC knows, compute
/// both. Rows whose positions the kernel checks.
template <class T>
void add_copied_rows(std::vector<Check>& checks) {
  using row = pick<T, 1, place<index_mode::from_end, 0, call<peak_of, cast<double, in<i64, 0>>>>>;
  using kept =
      guarded<op<greater_op, i64, call<peak_of, cast<double, in<i64, 0>>>, val<i64, 1>>, row>;
  constexpr int widest = 16 / static_cast<int>(sizeof(T));
  checks.push_back(
      {&program_for<map_of<row, T, 1, i64, side<T>>>::value, AcrossMap{2, 4, widest, 2}});
  checks.push_back(
      {&program_for<map_of<kept, T, 2, i64, side<T>>>::value, AcrossMap{3, 8, widest, 2}});
  using checked =
      map_of<pick<T, 1, place<index_mode::from_end, 0, in<i64, 0>>>, T, 1, i64, side<T>>;
  const program* const rows = &program_for<checked>::value;
  checks.push_back({rows, AcrossMap{2, 4, widest, 2}});
  checks.push_back({rows, StridedMap{2, 8, 2, widest, 2}});
  checks.push_back({rows, UnalignedMap{3, 4, 2, widest, 2}});
}

template <class... T>
void add_maps_of(std::vector<Check>& checks) {
  (add_maps<T>(checks), ...);
}

template <class F, class T>
using scattered =
    map_of<into<F, in<T, 0>, place<index_mode::from_end, 0, in<i64, 1>>>, side<T, 0, 1>, 1, T, i64>;
void add_scatters(std::vector<Check>& checks) {
  const auto scatter = [](int rank, int rows, int width, int wide) -> Variant {
    return ScatterMap{rank, 8, rows, width, wide};
  };
  checks.push_back({&program_for<scattered<replaced, float>>::value, scatter(1, 4, 1, 0)});
  checks.push_back({&program_for<scattered<replaced, float>>::value, scatter(2, 2, 4, 1)});
  checks.push_back({&program_for<scattered<replaced, i8>>::value, ScatterRows{2, 8, 2, 16, 1}});
  checks.push_back({&program_for<scattered<replaced, float>>::value, ScatterSingles{2, 3}});
  checks.push_back({&program_for<scattered<largest, i64>>::value, ScatterSingles{1, 0}});
  checks.push_back(
      {&program_for<scattered<combined<multiply_op>, i8>>::value, scatter(1, 1, 1, 0)});
  checks.push_back(
      {&program_for<scattered<combined<maximum_op>, float16>>::value, scatter(2, 1, 1, 0)});
  checks.push_back(
      {&program_for<scattered<combined<minimum_op>, double>>::value, scatter(1, 1, 1, 0)});
  using peak = pick<i64, 1, place<index_mode::from_end, 1, in<i64, 2>>>;
  using limb = call<fixed_point<1>, in<float16, 0>, peak, val<i64, 2>>;
  using limbs = map_of<into<added, limb, place<index_mode::from_end, 0, in<i64, 3>>>, side<i64>, 3,
                       float16, side<i64, 1>, i64, i64>;
  checks.push_back({&program_for<limbs>::value, scatter(1, 1, 1, 0)});
  using total = call<fixed_sum, in<double, 0>, in<i64, 1>, in<i64, 2>, in<i64, 3>, val<i64, 0>>;
  checks.push_back({&program_for<map_of<total, double, 1, double, i64, i64, i64>>::value, flat(2)});
  using owner = pick<i64, 1, place<index_mode::from_end, 1, in<i32, 2>>>;
  using last = owned<owner, val<turns, 2>,
                     into<replaced, in<float, 0>, place<index_mode::from_end, 0, in<i32, 2>>>>;
  using last_scattered = map_of<last, side<float>, 3, float, side<i64, 1>, i32>;
  checks.push_back({&program_for<last_scattered>::value, scatter(2, 2, 4, 1)});
}

std::vector<Check> all_checks() {
  std::vector<Check> checks;
  add_maps_of<float, double, float16, bfloat16, i8, u16, i32, i64, complex<float>, complex<double>>(
      checks);
  using logic = map_of<op<greater_op, double, in<double, 0>, cast<double, in<float, 1>>>, bool, 0,
                       double, float>;
  checks.push_back({&program_for<logic>::value, flat(2)});
  checks.push_back({&program_for<map_of<iota<i64>, i64, 0>>::value, flat(2)});
  using user =
      map_of<call<axpy, val<float, 0>, in<float, 0>, in<float, 1>>, float, 1, float, float>;
  checks.push_back({&program_for<user>::value, flat(4)});
  checks.push_back({&program_for<user>::value, strided(3, 1, true)});
  checks.push_back(
      {&program_for<map_of<in<record<24, 8>, 0>, record<24, 8>, 0, record<24, 8>>>::value,
       strided(1, 1, false)});
  using both = several<op<add_op, float, in<float, 0>, in<float, 1>>,
                       op<subtract_op, double, in<float, 0>, val<double, 0>>>;
  const program* two = &program_for<map_of<both, several<float, double>, 1, float, float>>::value;
  checks.push_back({two, flat(2)});
  checks.push_back({two, strided(2, 4, false)});
  checks.push_back({two, strided(3, 2, true, 2, 3)});
  checks.push_back({two, TiledMap{4, 3, 2, 1, 2}});
  using table = pick<float16, 1, place<index_mode::wrap, 0, in<i32, 0>>>;
  using looked_up = map_of<op<add_op, float, table, val<float, 1>>, float, 2, i32, side<float16>>;
  checks.push_back({&program_for<looked_up>::value, strided(1, 1, false, 4, 1)});
  checks.push_back({&program_for<looked_up>::value, strided(2, 2, true, 2, 3)});
  using sum_of_looked_up = reduction_of<table, sum_of, float, float, 1, i32, side<float16>>;
  checks.push_back({&program_for<sum_of_looked_up>::value, reduction(1, 1, false, true, 4, 1)});
  using rows = map_of<pick<float, 0, place<index_mode::from_end, 0, in<i64, 1>>>, float, 1,
                      side<float>, i64>;
  checks.push_back({&program_for<rows>::value, strided(2, 2, true, 4, 1)});
  add_scatters(checks);
  using quotient = op<sqrt_op, float, op<divide_op, float, result<float>, val<float, 0>>>;
  using deviation =
      reduction_of<in<float, 0>, applied_to<sum_of, float, quotient>, float, float, 1, float>;
  checks.push_back({&program_for<deviation>::value, reduction(1, 1, false, true, 4, 1)});
  checks.push_back({&program_for<deviation>::value, ReduceFinish{2, 1}});
  add_reductions<float, sum_of, float, float>(checks);
  add_reductions<float16, mean_of, float, float16>(checks);
  add_reductions<i32, prod_of, i64, i64>(checks);
  add_reductions<double, max_of, double, double>(checks);
  add_reductions<bool, any_of, bool, bool>(checks);
  add_reductions<float, argmin_of, located<float>, i64>(checks);
  add_reductions<complex<float>, sum_of, complex<float>, complex<float>>(checks);
  add_reductions<i8, argmax_of, located<i8>, i64>(checks);
  add_reductions<float, moments_of, moments<float>, float>(checks);
  add_reductions<complex<double>, moments_of, moments<complex<double>>, double>(checks);
  add_reductions<double, exponentials_of, exponentials<double>, double>(checks);
  add_rows<float, softmax_of<float>>(checks);
  add_rows<float16, log_softmax_of<float>>(checks);
  add_rows<double, standardise_of<double, 0>>(checks);
  add_rows<complex<float>, standardise_of<complex<float>, 0>>(checks);
  checks.push_back(
      {&reduce_program<float, sum_of, float, float>::value, reduction(8, 8, true, true)});
  add_selections<u8>(checks);
  add_selections<float>(checks);
  add_selections<complex<double>>(checks);
  add_joins<u8>(checks);
  add_joins<u16>(checks);
  add_joins<u32>(checks);
  add_joins<u64>(checks);
  add_joins<record<16, 16>>(checks);
  add_copied_rows<i8>(checks);
  add_copied_rows<double>(checks);
  add_counts<bool>(checks);
  add_counts<i32>(checks);
  add_counts<u64>(checks);
  using bins = op<add_op, i64, in<i32, 0>, op<remainder_op, i64, in<i64, 1>, val<i64, 0>>>;
  checks.push_back({&program_for<bincount_of<bins, 2, i32, i64>>::value, Bincount{true, 2, 3}});
  return checks;
}

class cuda_jit_compile : public ::testing::TestWithParam<const char*> {};

TEST_P(cuda_jit_compile, every_form_of_kernel) {
  const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
  if (kind && std::string_view(kind) != "cpu") GTEST_SKIP() << "needs no device: done once";
  if (!quarry::backend::cuda::load_nvrtc().table) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Check& check : all_checks()) {
    const auto source = kernel_source(*check.of, check.variant);
    try {
      const Binary binary = compile_kernel(source, {GetParam()});
      EXPECT_FALSE(binary.code.empty()) << source.instantiation;
      const std::string shown = kernel_identifier(check.variant.kernel(), check.of->name);
      EXPECT_NE(binary.function.find(std::to_string(shown.size()) + shown), std::string::npos)
          << shown << " is not " << binary.function;
    } catch (const quarry::Error& e) {
      ADD_FAILURE() << e.what() << "\n" << source.text;
    }
  }
}

TEST(cuda_jit_machine_code, HoldsNoTraitsOfTypes) {
  const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
  if (kind && std::string_view(kind) == "fake") GTEST_SKIP() << "the fake compiler makes no code";
  if (!quarry::backend::cuda::load_nvrtc().table) GTEST_SKIP() << "no NVRTC on this machine";
  const auto source = kernel_source(map_program<float>::value, flat(4));
  const Binary binary = compile_kernel(source, {"compute_90", true});
  EXPECT_NE(binary.code.find(".entry"), std::string::npos);
  EXPECT_EQ(binary.code.find("is_"), std::string::npos) << binary.code;
}

INSTANTIATE_TEST_SUITE_P(architectures, cuda_jit_compile,
                         ::testing::Values("sm_80", "sm_90", "sm_100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
