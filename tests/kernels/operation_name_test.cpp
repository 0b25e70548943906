// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/operation_name.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include <quarry/quarry.hpp>

namespace quarry::kernels {
namespace {

using Sum = op<add_op, float, in<float, 0>, op<multiply_op, float, in<float, 1>, val<float, 0>>>;

template <class M>
std::string operations() {
  return operation_name(program_for<M>::value);
}

template <class M>
std::string identifier(std::string_view kernel) {
  return kernel_identifier(kernel, program_for<M>::value.name);
}

TEST(operation_name, says_what_a_program_does) {
  EXPECT_EQ((operations<map_of<Sum, float, 1, float, float>>()), "map add multiply float32");
  EXPECT_EQ((operations<map_of<in<int, 0>, std::int64_t, 0, int>>()), "map int64");
  using Root = op<sqrt_op, double, in<double, 0>>;
  EXPECT_EQ((operations<map_of<Root, double, 0, double>>()), "map sqrt float64");
}

TEST(operation_name, names_kernels_by_identifiers) {
  EXPECT_EQ((identifier<map_of<Sum, float, 1, float, float>>("map_flat")),
            "map_flat_add_multiply_float32");
  EXPECT_EQ((identifier<map_of<in<int, 0>, std::int64_t, 0, int>>("map_strided")),
            "map_strided_int64");
}

TEST(operation_name, names_no_more_than_eight_operations) {
  using Twice = op<add_op, float, in<float, 0>, in<float, 0>>;
  using Four = op<multiply_op, float, Twice, op<subtract_op, float, Twice, Twice>>;
  using Ten = op<add_op, float, Four, Four>;
  EXPECT_EQ((operations<map_of<Ten, float, 0, float>>()),
            "map add multiply add subtract add add multiply add ... float32");
  EXPECT_EQ((identifier<map_of<Ten, float, 0, float>>("map_flat")),
            "map_flat_add_multiply_add_subtract_add_add_multiply_add_float32");
}

}  // namespace
}  // namespace quarry::kernels
