// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <string_view>

#include "backend/cuda/ptx/cuda_ptx_case.hpp"
#include "backend/cuda/ptx/operations.hpp"

namespace quarry::test {
namespace {

class PtxKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
    if (kind && std::string_view(kind) != "cpu") GTEST_SKIP() << "needs no device: done once";
    if (backend::cuda::operation_table().empty()) GTEST_SKIP() << "built without NVRTC";
  }
};

template <class T>
struct Of {
  using type = T;
};
void for_each_type(const auto& run) {
  run(Of<bool>{}), run(Of<i8>{}), run(Of<i16>{}), run(Of<i32>{}), run(Of<i64>{});
  run(Of<u8>{}), run(Of<u16>{}), run(Of<u32>{}), run(Of<u64>{});
  run(Of<float16>{}), run(Of<bfloat16>{}), run(Of<float>{}), run(Of<double>{});
}

TEST_F(PtxKernels, ConvertEveryTypeToEveryOther) {
  for_each_type([]<class From>(Of<From>) {
    for_each_type([]<class To>(Of<To>) {
      check<map_of<cast<To, in<From, 0>>, To, 0, From>>(sizeof(From) * 16 + sizeof(To));
    });
  });
}

TEST_F(PtxKernels, ComputeWithEveryType) {
  for_each_type([]<class T>(Of<T>) {
    using A = in<T, 0>;
    using B = in<T, 1>;
    check<map_of<op<add_op, T, A, B>, T, 0, T, T>>(1);
    check<map_of<op<multiply_op, T, A, op<maximum_op, T, A, B>>, T, 0, T, T>>(2);
    check<map_of<op<less_op, T, A, B>, bool, 0, T, T>>(3);
    check<map_of<op<where_op, T, B, A, val<T, 0>>, T, 1, T, T>>(4);
    check<map_of<op<logical_xor_op, bool, A, B>, bool, 0, T, T>>(5);
    if constexpr (is_integer<T>) {
      check<map_of<op<bitwise_xor_op, T, op<invert_op, T, A>, B>, T, 0, T, T>>(6);
    }
  });
}

TEST_F(PtxKernels, ComputeWithOperandsOfSeveralTypes) {
  using Mixed = op<add_op, double, cast<double, op<negative_op, i16, in<i16, 0>>>,
                   op<multiply_op, float, in<float, 1>, val<float, 0>>>;
  check<map_of<Mixed, double, 1, i16, float>>(10);
  check<map_of<op<where_op, float, in<bool, 0>, in<i8, 1>, in<float, 2>>, float16, 0, bool, i8,
               float>>(11);
}

TEST_F(PtxKernels, KnowTheElementsPosition) {
  check<map_of<iota<i64>, i64, 0>>(20);
  check<map_of<op<add_op, float, iota<float>, in<u8, 0>>, float, 0, u8>>(21);
}

TEST_F(PtxKernels, WriteSeveralOutputs) {
  using Sum = op<add_op, i32, in<i32, 0>, in<i32, 1>>;
  using IsLess = op<less_op, i32, in<i32, 0>, val<i32, 0>>;
  check<map_of<several<Sum, IsLess, iota<i16>>, several<i64, bool, i16>, 1, i32, i32>>(30);
}

TEST_F(PtxKernels, ReadAndWriteEveryLayout) {
  for_each_type([]<class T>(Of<T>) {
    check_strided<map_of<op<add_op, T, in<T, 0>, in<T, 1>>, double, 0, T, T>>(sizeof(T), 12);
  });
  check_strided<map_of<op<add_op, double, in<double, 0>, in<i8, 1>>, float, 0, double, i8>>(40, 60);
  check_strided<map_of<op<where_op, i32, in<bool, 0>, iota<i32>, in<i32, 1>>, i32, 0, bool, i32>>(
      41, 60);
  check_strided<map_of<several<in<i16, 0>, iota<i64>>, several<i32, i64>, 0, i16>>(42, 60);
}

/// Threads of rows of 1024 columns or more begin at whole lines of the output, before the first
/// one.
TEST_F(PtxKernels, WriteNothingBeforeLongRows) {
  check_strided<map_of<op<add_op, float, in<float, 0>, in<float, 1>>, float, 0, float, float>>(
      50, 6, 1200);
}

/// A thread that computed equal parts for each use would take long for expressions of many.
TEST_F(PtxKernels, ComputeEqualPartsOnce) {
  using A = op<divide_op, double, in<double, 0>, in<double, 1>>;
  using E = op<add_op, double, A, op<multiply_op, double, A, A>>;
  const auto kernel = ptx_kernel(
      flat_name(quarry::detail::type_name<map_of<E, double, 0, double, double>>(), 1), "k", hopper);
  ASSERT_TRUE(kernel);
  const auto first = kernel->text.find("div.rn.f64");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(kernel->text.find("div.rn.f64", first + 1), std::string::npos);
}

TEST_F(PtxKernels, DefineWhatLongFunctionsUse) {
  const auto kernel = ptx_kernel(
      flat_name(
          quarry::detail::type_name<map_of<op<sin_op, double, in<double, 0>>, double, 0, double>>(),
          2),
      "k", hopper);
  ASSERT_TRUE(kernel);
  const auto defined = kernel->text.find(".func"), called = kernel->text.find("call.uni");
  ASSERT_NE(called, std::string::npos);
  EXPECT_LT(defined, called);
  EXPECT_NE(kernel->text.find("__cudart_i2opi_d"), std::string::npos);
}

template <class M>
bool has_ptx() {
  return ptx_kernel(flat_name(quarry::detail::type_name<M>(), 1), "k", hopper).has_value();
}

TEST_F(PtxKernels, AreNotWrittenOfWhatOnlyTheCompilerKnows) {
  struct Own {};
  EXPECT_TRUE((has_ptx<map_of<in<float, 0>, float, 0, float>>()));
  EXPECT_FALSE((has_ptx<map_of<in<complex<float>, 0>, complex<float>, 0, complex<float>>>()));
  EXPECT_FALSE((has_ptx<map_of<call<Own, in<float, 0>>, float, 0, float>>()));
  EXPECT_FALSE(
      (has_ptx<map_of<pick<float, 0, kernels::place<kernels::index_mode::wrap, 0, in<i64, 1>>>,
                      float, 2, side<float, 0, 1>, i64>>()));
  EXPECT_FALSE((has_ptx<map_of<guarded<in<bool, 0>, in<float, 1>>, float, 0, bool, float>>()));
  EXPECT_FALSE((has_ptx<map_of<in<record<12, 4>, 0>, record<12, 4>, 0, record<12, 4>>>()));
  // compared by their values, which the functor does with both types
  EXPECT_FALSE((has_ptx<map_of<op<less_op, i64, in<i64, 0>, in<u64, 1>>, bool, 0, i64, u64>>()));
}

/// Of which NVRTC's code is faster: docs/tuning.md.
TEST_F(PtxKernels, AreNotWrittenWhereInstructionsAreTheLimit) {
  const auto has = [](const std::string& name) {
    return ptx_kernel(name, "k", hopper).has_value();
  };
  EXPECT_TRUE(has(flat_name("map_of<in<bool, 0>, bool, 0, bool>", widest_vector)));
  EXPECT_FALSE(has(flat_name("map_of<in<bool, 0>, bool, 0, bool>", 2 * widest_vector)));
  const std::string sum = "op<add_op, float, in<float, 0>, in<float, 1>>";
  EXPECT_TRUE(has("map_strided<map_of<" + sum + ", float, 0, float, float>, 2, 4, 8, 1, 0>"));
  EXPECT_FALSE(has("map_strided<map_of<op<add_op, float, " + sum +
                   ", in<float, 2>>, float, 0, float, float, float>, 2, 4, 8, 1, 0>"));
  EXPECT_FALSE(has("map_strided<map_of<" + sum + ", float, 0, float, float>, 2, 8, 8, 1, 0>"));
  EXPECT_FALSE(has("map_strided<map_of<" + sum + ", bool, 0, float, float>, 2, 4, 8, 1, 0>"));
}

TEST_F(PtxKernels, HaveAsManyParametersAsOldDriversTake) {
  const auto has = [](int scalars) {
    const std::string map = fmt::format("map_of<in<float, 0>, float, {}, float>", scalars);
    return ptx_kernel(flat_name(map, 4), "k", hopper).has_value();
  };
  EXPECT_TRUE(has(250));   // 505 words and an int
  EXPECT_FALSE(has(254));  // 513
}

TEST_F(PtxKernels, AreForGpusThatCanTranslateThem) {
  const std::string name = flat_name("map_of<in<float, 0>, float, 0, float>", 4);
  EXPECT_FALSE(ptx_kernel(name, "k", {7, 5}));
  const auto ampere = ptx_kernel(name, "k", {8, 6}), blackwell = ptx_kernel(name, "k", {12, 0});
  ASSERT_TRUE(ampere && blackwell);
  EXPECT_NE(ampere->text.find(".target sm_80"), std::string::npos);
  EXPECT_EQ(ampere->text.find("griddepcontrol"), std::string::npos);
  EXPECT_NE(blackwell->text.find(".target sm_90"), std::string::npos);
  EXPECT_NE(blackwell->text.find("griddepcontrol.wait"), std::string::npos);
}

}  // namespace
}  // namespace quarry::test
