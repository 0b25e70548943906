// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/ops/kernel_parameters.hpp>

#include <gtest/gtest.h>

namespace quarry {
namespace {

struct Want {
  const char *type, *name;
  bool is_raw = false, is_pointer = false, is_const = false;
};

void expect_parameters(const char* list, const std::vector<Want>& want) {
  const auto got = kernel_parameters(list);
  ASSERT_EQ(got.size(), want.size()) << list;
  for (std::size_t k = 0; k < got.size(); ++k) {
    EXPECT_EQ(got[k].type, want[k].type) << list;
    EXPECT_EQ(got[k].name, want[k].name) << list;
    EXPECT_EQ(got[k].is_raw, want[k].is_raw) << list;
    EXPECT_EQ(got[k].is_pointer, want[k].is_pointer) << list;
    EXPECT_EQ(got[k].is_const, want[k].is_const) << list;
  }
}

TEST(KernelParameters, AreTypesAndNames) {
  expect_parameters("", {});
  expect_parameters("float32 x, T y", {{"float32", "x"}, {"T", "y"}});
  expect_parameters("raw T x,\n  raw  U  y", {{"T", "x", true}, {"U", "y", true}});
  expect_parameters("float *z, const float* x",
                    {{"float", "z", false, true, false}, {"float", "x", false, true, true}});
  expect_parameters("unsigned  long long n, complex<float>* c",
                    {{"unsigned long long", "n"}, {"complex<float>", "c", false, true}});
  expect_parameters("float* const __restrict__ x", {{"float", "x", false, true}});
}

TEST(KernelParameters, AreRefusedWithTheList) {
  for (const char* const list : {"float", "float *", "x,", ",", "T x,, T y", "T 3"}) {
    EXPECT_THROW(kernel_parameters(list), LogicError) << list;
  }
  EXPECT_THROW(kernel_parameters("T x, U x"), LogicError);
}

TEST(KernelParameters, HaveTypesOfNumPyAndOfC) {
  EXPECT_EQ(dtype_named("float32"), DType(TypeId::float32));
  EXPECT_EQ(dtype_named("bool"), DType(TypeId::bool_));
  EXPECT_EQ(dtype_named("complex128"), DType(TypeId::complex128));
  EXPECT_EQ(dtype_named("bfloat16"), DType(TypeId::bfloat16));
  EXPECT_EQ(dtype_named("unsigned int"), DType(TypeId::uint32));
  EXPECT_EQ(dtype_named("long"), DType(TypeId::int64));
  EXPECT_EQ(dtype_named("T"), std::nullopt);
  EXPECT_TRUE(kernel_parameters("T x")[0].is_generic());
  EXPECT_FALSE(kernel_parameters("int x")[0].is_generic());
  EXPECT_EQ(c_type_name(TypeId::uint64), "unsigned long long");
  EXPECT_THROW(c_type_name(TypeId::float16), DTypeError);
}

}  // namespace
}  // namespace quarry
