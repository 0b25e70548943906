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

using Extents = std::vector<i64>;

/// Sums of Value, which is of(element) of bytes, over a matrix or more axes. Its kernels are those
/// of no other test.
template <class Value>
class Sums {
 public:
  explicit Sums(Device& gpu) : gpu_(gpu) {}

  /// The sums over the reduced axes of dense memory, whose axes have these extents and are kept or
  /// not; the kept ones are the call's first.
  template <class F>
  void expect(const Extents& extents, const std::vector<bool>& kept, const F& of) {
    Extents some, others, strides, more;
    i64 elements = 1;
    for (std::size_t d = extents.size(); d-- > 0; elements *= extents[d]) {
      (kept[d] ? some : others).insert((kept[d] ? some : others).begin(), extents[d]);
      (kept[d] ? strides : more).insert((kept[d] ? strides : more).begin(), elements);
    }
    strides.insert(strides.end(), more.begin(), more.end());
    std::vector<i8> values(static_cast<std::size_t>(elements));
    std::iota(values.begin(), values.end(), i8{1});
    std::vector<i64> expected(static_cast<std::size_t>(test::count(some)));
    for (i64 i = 0; i < elements; ++i) {
      i64 output = 0, step = 1, rest = i;
      for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
        if (!kept[d]) continue;
        output += rest % extents[d] * step;
        step *= extents[d];
      }
      expected[std::size_t(output)] += of(i64{values[std::size_t(i)]});
    }
    const OnDevice<i8> in(gpu_, values);
    const OnDevice<i64> out(gpu_, std::vector<i64>(expected.size()));
    Extents written(some.size());
    i64 step = sizeof(i64);
    for (std::size_t d = some.size(); d-- > 0; step *= some[d]) written[d] = step;
    const KernelCall call =
        test::call_of(sum_, some, others, {{out.data(), written}, {in.data(), strides}});
    DeviceWorkspace workspace(gpu_);
    gpu_.launch(call, workspace, nullptr);
    EXPECT_EQ(out.values(), expected);
  }
  /// Argument `number`, in the order of cuda::Reduce, of the kernels that have read the elements.
  std::set<int> arguments(std::size_t number) const {
    std::set<int> found;
    const auto* entry = static_cast<const cuda::LoadedKernel*>(sum_.compiled.load());
    for (; entry; entry = entry->next) {
      const std::string_view kernel = entry->variant.kernel();
      if (kernel.starts_with("reduce") && kernel != "reduce_finish") {
        found.insert(entry->variant.argument(number));
      }
    }
    return found;
  }
  std::set<int> along() const { return arguments(3); }
  std::set<int> outputs_of_thread() const { return arguments(4); }

 private:
  Device& gpu_;
  const program& sum_ = program_for<reduction_of<Value, sum_of, i64, i64, 0, i8>>::value;
};

/// A wider vector of outputs is written in parts of sectors.
TEST_F(FakeColumns, OutputsThatAreNoSmallPartAreASectorOfAThread) {
  using In = in<i8, 0>;
  const auto expect = [&](auto sums, i64 rows, const auto& of, int outputs) {
    sums.expect({rows, 512}, {false, true}, of);
    EXPECT_EQ(sums.outputs_of_thread(), std::set<int>{outputs});
  };
  expect(
      Sums<op<add_op, i64, In, In>>(gpu()), 40, [](i64 x) { return x + x; }, 4);
  expect(
      Sums<op<multiply_op, i64, In, In>>(gpu()), 1000, [](i64 x) { return x * x; }, 4);
  expect(
      Sums<op<subtract_op, i64, In, In>>(gpu()), 4000, [](i64 x) { return x - x; }, 8);
}

/// Few columns, which are at any element, between reduced axes.
TEST_F(FakeColumns, RowsThatCannotBeFoldedToAlignedOnesAreFoldedToAnyOnes) {
  using In = in<i8, 0>;
  const auto expect = [&](auto sums, const Extents& extents, const std::vector<bool>& kept,
                          const auto& of) {
    sums.expect(extents, kept, of);
    EXPECT_EQ(sums.along(), std::set<int>{-5});
    EXPECT_EQ(sums.outputs_of_thread(), std::set<int>{8});
  };
  // 431 rows are no multiple of anything: some are left behind each of the first axis
  expect(Sums<op<maximum_op, i64, In, In>>(gpu()), {10, 12, 431, 21}, {false, true, false, true},
         [](i64 x) { return x; });
  // there are many of the first axis: all 37 rows are one
  expect(Sums<op<bitwise_or_op, i64, In, In>>(gpu()), {300, 3, 37, 21}, {false, true, false, true},
         [](i64 x) { return x; });
  // 38 rows are one, and none is left
  expect(Sums<op<bitwise_and_op, i64, In, In>>(gpu()), {3, 171 * 38, 7}, {true, false, true},
         [](i64 x) { return x; });
}

/// Few elements side by side, between kept axes or behind them, and many positions around these.
TEST_F(FakeColumns, AnInnerReducedAxisIsReadWithTheKeptOnesAsOneRow) {
  using In = in<i8, 0>;
  const auto expect = [&](auto sums, const Extents& extents, const std::vector<bool>& kept,
                          const auto& of, int along) {
    sums.expect(extents, kept, of);
    EXPECT_EQ(sums.along(), std::set<int>{along}) << testing::PrintToString(extents);
  };
  expect(
      Sums<op<add_op, i64, In, op<maximum_op, i64, In, In>>>(gpu()), {2000, 16, 6},
      {false, true, false}, [](i64 x) { return 2 * x; }, -1);
  expect(
      Sums<op<add_op, i64, In, op<minimum_op, i64, In, In>>>(gpu()), {2000, 15, 7},
      {false, true, false}, [](i64 x) { return 2 * x; }, -5);
  expect(
      Sums<op<multiply_op, i64, In, op<maximum_op, i64, In, In>>>(gpu()), {2000, 12, 10, 3},
      {false, true, false, true}, [](i64 x) { return x * x; }, -1);
  expect(
      Sums<op<multiply_op, i64, In, op<minimum_op, i64, In, In>>>(gpu()), {2, 1000, 13, 6},
      {true, false, true, false}, [](i64 x) { return x * x; }, -5);
  // eight of these rows are one, which a block has all of, or not
  expect(
      Sums<op<add_op, i64, In, op<bitwise_or_op, i64, In, In>>>(gpu()), {12003, 7, 3},
      {false, true, false}, [](i64 x) { return 2 * x; }, -1);
  expect(
      Sums<op<add_op, i64, In, op<bitwise_and_op, i64, In, In>>>(gpu()), {12003, 11, 5},
      {false, true, false}, [](i64 x) { return 2 * x; }, -1);
  // longer ones are read by themselves
  expect(
      Sums<op<subtract_op, i64, In, op<maximum_op, i64, In, In>>>(gpu()), {500, 16, 64},
      {false, true, false}, [](i64) { return 0; }, 3);
}

}  // namespace
}  // namespace quarry::backend
