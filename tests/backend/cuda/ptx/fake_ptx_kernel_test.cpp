// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <quarry/kernels/map.hpp>

#include "backend/cuda/fake_device.hpp"
#include "backend/cuda/operands_case.hpp"
#include "backend/cuda/ptx/operations.hpp"
#include "fake_driver/shim.hpp"

/// Who translates a kernel: the driver, or NVRTC.
namespace quarry::backend {
namespace {

using namespace kernels;
using cuda::DriverFunction;
namespace shim = cuda::shim;

class PtxTranslation : public OverFake {
 protected:
  void SetUp() override {
    OverFake::SetUp();
    if (cuda::operation_table().empty()) GTEST_SKIP() << "built without NVRTC";
  }
  void TearDown() override {
    fake::set_compiler({});
    shim::clear_faults();
    OverFake::TearDown();
  }
  /// Expects these results of Program for {1, 2, 3, 4}.
  template <class Program>
  void expect(const std::vector<int>& expected) {
    const OnDevice<int> a(gpu(), {1, 2, 3, 4}), out(gpu(), {9, 9, 9, 9});
    gpu().launch(test::flat_call(program_for<Program>::value, 4, {out.data(), a.data()}),
                 no_workspace(), nullptr);
    EXPECT_EQ(out.values(), expected);
  }
};

template <class Functor>
using Twice = map_of<op<Functor, int, in<int, 0>, in<int, 0>>, int, 0, int>;

TEST_F(PtxTranslation, OfMapsIsTheDrivers) {
  const auto compilations = fake::statistics().compilations;
  shim::reset_counts();
  expect<Twice<bitwise_xor_op>>({0, 0, 0, 0});
  expect<Twice<bitwise_xor_op>>({0, 0, 0, 0});
  EXPECT_EQ(shim::calls(DriverFunction::LinkComplete), 1);
  EXPECT_EQ(shim::calls(DriverFunction::LinkDestroy), 1);
  EXPECT_EQ(fake::statistics().compilations - compilations, 1);
}

TEST_F(PtxTranslation, IsNvrtcsIfTheDriverRefusesIt) {
  fake::set_compiler({.refuses_ptx = true});
  const auto compilations = fake::statistics().compilations;
  shim::reset_counts();
  expect<Twice<bitwise_and_op>>({1, 2, 3, 4});
  EXPECT_EQ(shim::calls(DriverFunction::LinkComplete), 0);
  EXPECT_EQ(shim::calls(DriverFunction::LinkDestroy), 1);
  EXPECT_EQ(fake::statistics().compilations - compilations, 1);
}

/// The linker owns the code that it has made.
TEST_F(PtxTranslation, LeavesNothingBehindWhenItFails) {
  for (const auto function : {DriverFunction::LinkCreate, DriverFunction::LinkAddData,
                              DriverFunction::LinkComplete, DriverFunction::ModuleLoadDataEx}) {
    shim::reset_counts();
    shim::inject({CUDA_ERROR_OUT_OF_MEMORY, function});
    const OnDevice<int> a(gpu(), {1, 2, 3, 4}), out(gpu(), {9, 9, 9, 9});
    const KernelCall call =
        test::flat_call(program_for<Twice<multiply_op>>::value, 4, {out.data(), a.data()});
    EXPECT_THROW(gpu().launch(call, no_workspace(), nullptr), MemoryError);
    EXPECT_EQ(out.values(), (std::vector<int>{9, 9, 9, 9}));
    EXPECT_EQ(shim::calls(DriverFunction::LinkDestroy),
              function == DriverFunction::LinkCreate ? 0 : 1);
    shim::clear_faults();
  }
  expect<Twice<multiply_op>>({1, 4, 9, 16});
}

}  // namespace
}  // namespace quarry::backend
