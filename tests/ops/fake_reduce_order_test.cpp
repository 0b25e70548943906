// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/params.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

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

TEST(fake_reduce_order, results_larger_than_the_inputs_are_written_in_the_order_of_their_memory) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
  const auto x = ones<float>({40, 3}), y = ones<float>({50, 3});
  const auto rows = x(all, newaxis), columns = y(newaxis);
  for (const bool swapped : {false, true}) {
    const auto products = swapped ? sum(columns * rows, 2) : sum(rows * columns, 2);
    EXPECT_EQ(last_output_stride(), 4) << swapped;
    EXPECT_EQ(products(39, 49).item(), 3);
  }
}

TEST(fake_reduce_order, larger_inputs_are_read_in_the_order_of_theirs) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
  const auto x = ones<float>({3, 50, 40}), y = ones<float>({40, 50, 3});
  const auto sums = sum(x.transpose() * y, 2);  // in C order, as the two disagree
  EXPECT_EQ(last_output_stride(), 4 * 50);
  EXPECT_EQ(sums(39, 49).item(), 3);
}

}  // namespace
}  // namespace quarry
