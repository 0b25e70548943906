// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/params.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "array/model.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

/// The stride of the output along the last of the two kept axes that the latest kernel walked, with
/// two inputs and one reduced axis.
std::int64_t last_output_stride() {
  constexpr kernels::block_places at{3, 0, 3};
  const std::vector<std::uint64_t> block = fake::last_block();
  return static_cast<std::int64_t>(block.at(static_cast<std::size_t>(at.strides() + 1)));
}

TEST(reduce_order, results_larger_than_the_inputs_are_written_in_the_order_of_their_memory) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
  const auto x = ones<float>({40, 3}), y = ones<float>({50, 3});
  const auto rows = x(all, newaxis), columns = y(newaxis);
  for (const bool swapped : {false, true}) {
    const auto products = swapped ? sum(columns * rows, 2) : sum(rows * columns, 2);
    EXPECT_EQ(last_output_stride(), 4) << swapped;
    EXPECT_EQ(products(39, 49).item(), 3);
  }
}

TEST(reduce_order, larger_inputs_are_read_in_the_order_of_theirs) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
  const auto x = ones<float>({3, 50, 40}), y = ones<float>({40, 50, 3});
  const auto sums = sum(x.transpose() * y, 2);  // in C order, as the two disagree
  EXPECT_EQ(last_output_stride(), 4 * 50);
  EXPECT_EQ(sums(39, 49).item(), 3);
}

TEST(reduce_order, results_lie_as_those_of_the_computed_operand) {
  test::Ints first = {0, 1, 2}, second = first;
  int cycles = 0;  // of the two inputs: no order of all axes follows that of every two of them
  do {
    do {
      // 4 x 3 x 5, with the axes in memory in the order of the transposition's inverse.
      const auto input = [](const test::Ints& order) {
        const test::Ints shape = {4, 3, 5};
        test::Ints stored(3);
        for (std::size_t d = 0; d < 3; ++d) stored[std::size_t(order[d])] = shape[d];
        return to_device(test::counted<std::int32_t>(stored)).transpose(order);
      };
      const auto a = input(first), b = input(second);
      const DeviceNDArray<std::int32_t> product = a * b;
      for (const int axis : {0, 1, 2}) {
        const auto fused = sum(a * b, axis), apart = sum(product, axis);
        EXPECT_EQ(fused.strides(), apart.strides())
            << "axis " << axis << " of " << testing::PrintToString(first) << " and "
            << testing::PrintToString(second);
        EXPECT_EQ(test::values(fused), test::values(apart));
        cycles += axis == 1 && a.strides()[0] < a.strides()[2] && b.strides()[0] < b.strides()[2] &&
                  product.is_c_contiguous();
      }
    } while (std::next_permutation(second.begin(), second.end()));
  } while (std::next_permutation(first.begin(), first.end()));
  EXPECT_GT(cycles, 0);
}

}  // namespace
}  // namespace quarry
