// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_device.hpp"

#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>

#include "fake_driver/shim.hpp"

/// Kernels that wait themselves for the work ahead of them are launched before it is done, others
/// are not.
namespace quarry::backend {
namespace {

using namespace kernels;
namespace shim = cuda::shim;
using cuda::DriverFunction;

using Copy = map_of<in<int, 0>, int, 0, int>;
using Total = reduction_of<in<int, 0>, sum_of, i64, i64, 0, int>;

class EarlyLaunches : public OverFake {};

TEST_F(EarlyLaunches, AreThoseOfReductions) {
  constexpr i64 n = 100000;
  const OnDevice<int> in(gpu(), std::vector<int>(n, 3)), copy(gpu(), std::vector<int>(n));
  const OnDevice<i64> out(gpu(), {0});
  shim::reset_counts();
  gpu().launch(test::flat_call(program_for<Copy>::value, n, {copy.data(), in.data()}),
               no_workspace(), nullptr);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernel), 1);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 0);
  KernelCall call =
      test::call_of(program_for<Total>::value, {}, {n}, {{out.data()}, {copy.data(), {4}}});
  call.along_reduced = true;
  DeviceWorkspace workspace(gpu());
  gpu().launch(call, workspace, nullptr);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernel), 1);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 2);  // in splits, which are combined
  EXPECT_EQ(out.values()[0], 3 * n);
}

}  // namespace
}  // namespace quarry::backend
