// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>
#include <set>

#include <quarry/kernels/reduce.hpp>

#include "backend/cuda/fake_device.hpp"
#include "backend/cuda/jit/kernel.hpp"

/// How reductions of columns are launched.
namespace quarry::backend {
namespace {

using namespace kernels;

class FakeColumns : public OverFake {};

/// The outputs of a thread, of kernels that sum Value over so many rows, which is of(element) of
/// bytes. Its kernels are those of no other test.
template <class Value, class F>
std::set<int> outputs_of_thread(Device& gpu, i64 rows, const F& of) {
  using Sum = reduction_of<Value, sum_of, i64, i64, 0, i8>;
  const program& sum = program_for<Sum>::value;
  constexpr i64 columns = 512;
  std::vector<i8> values(static_cast<std::size_t>(rows * columns));
  std::iota(values.begin(), values.end(), i8{1});
  const OnDevice<i8> in(gpu, values);
  const OnDevice<i64> out(gpu, std::vector<i64>(columns));
  const KernelCall call =
      test::call_of(sum, {columns}, {rows}, {{out.data(), {8, 0}}, {in.data(), {1, columns}}});
  DeviceWorkspace workspace(gpu);
  gpu.launch(call, workspace, nullptr);
  const std::vector<i64> result = out.values();
  for (i64 j = 0; j < columns; ++j) {
    i64 expected = 0;
    for (i64 i = 0; i < rows; ++i) expected += of(i64{values[std::size_t(i * columns + j)]});
    EXPECT_EQ(result[std::size_t(j)], expected) << j;
  }
  std::set<int> widths;
  const auto* entry = static_cast<const cuda::LoadedKernel*>(sum.compiled.load());
  for (; entry; entry = entry->next) {
    constexpr std::size_t width = 4;  // of the arguments of cuda::Reduce
    const std::string_view kernel = entry->variant.kernel();
    if (kernel.starts_with("reduce") && kernel != "reduce_finish") {
      widths.insert(entry->variant.argument(width));
    }
  }
  return widths;
}

/// A wider vector of outputs is written in parts of sectors.
TEST_F(FakeColumns, OutputsThatAreNoSmallPartAreASectorOfAThread) {
  using In = in<i8, 0>;
  const auto twice = [](i64 x) { return x + x; };
  EXPECT_EQ((outputs_of_thread<op<add_op, i64, In, In>>(gpu(), 40, twice)), std::set<int>{4});
  const auto square = [](i64 x) { return x * x; };
  EXPECT_EQ((outputs_of_thread<op<multiply_op, i64, In, In>>(gpu(), 1000, square)),
            std::set<int>{4});
  const auto nothing = [](i64 x) { return x - x; };
  EXPECT_EQ((outputs_of_thread<op<subtract_op, i64, In, In>>(gpu(), 4000, nothing)),
            std::set<int>{8});
}

}  // namespace
}  // namespace quarry::backend
