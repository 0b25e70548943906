// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_device.hpp"

#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>

#include "fake_driver/shim.hpp"

/// Kernels that wait themselves for the work ahead of them, those of maps and reductions, are
/// launched before it is done; others are not.
namespace quarry::backend {
namespace {

using namespace kernels;
namespace shim = cuda::shim;
using cuda::DriverFunction;

using Copy = map_of<in<int, 0>, int, 0, int>;
using Total = reduction_of<in<int, 0>, sum_of, i64, i64, 0, int>;

class EarlyLaunches : public OverFake {};

TEST_F(EarlyLaunches, AreThoseOfMapsAndReductions) {
  constexpr i64 n = 100000;
  const OnDevice<int> in(gpu(), std::vector<int>(n, 3)), copy(gpu(), std::vector<int>(n));
  const OnDevice<i64> out(gpu(), {0});
  shim::reset_counts();
  gpu().launch(test::flat_call(program_for<Copy>::value, n, {copy.data(), in.data()}),
               no_workspace(), nullptr);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 1);
  KernelCall call =
      test::call_of(program_for<Total>::value, {}, {n}, {{out.data()}, {copy.data(), {4}}});
  call.along_reduced = true;
  DeviceWorkspace workspace(gpu());
  gpu().launch(call, workspace, nullptr);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 3);  // in splits, which are combined
  EXPECT_EQ(out.values()[0], 3 * n);
  EXPECT_EQ(shim::calls(DriverFunction::LaunchKernel), 0);
}
TEST_F(EarlyLaunches, AreThoseOfEveryMap) {
  const OnDevice<int> in(gpu(), std::vector<int>(4096, 3)), out(gpu(), std::vector<int>(4096));
  using test::Extents;
  const auto copy = [&](const Extents& shape, const Extents& to, const Extents& from, i64 first,
                        std::string_view kernel) {
    shim::reset_counts();
    KernelCall call = test::call_of(program_for<Copy>::value, shape, {},
                                    {{out.data(), to}, {in.data() + first, from}});
    call.any_order = true;
    gpu().launch(call, no_workspace(), nullptr);
    EXPECT_EQ(shim::calls(DriverFunction::LaunchKernelEx), 1) << kernel;
    EXPECT_NE(fake::last_kernel().find(kernel), std::string::npos) << fake::last_kernel();
  };
  copy({40, 9}, {64, 4}, {64, 4}, 0, "map_strided<");
  copy({8, 9}, {36, 4}, {0, 4}, 1, "map_across<");
  copy({1000}, {4}, {8}, 0, "map_unaligned<");
  copy({64, 64}, {256, 4}, {4, 256}, 0, "map_tiled<");
}

}  // namespace
}  // namespace quarry::backend
