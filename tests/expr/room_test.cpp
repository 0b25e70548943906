// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/map.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "array/model.hpp"
#include "runtime/launch.hpp"

namespace quarry {
namespace {

/// Copies `from` by a kernel with that many scalars, which it does not read.
template <int Scalars>
void copy_with(const DeviceNDArray<float>& to, const DeviceNDArray<float>& from) {
  using Copy = kernels::map_of<kernels::in<float, 0>, float, Scalars, float>;
  static const runtime::Scalar scalars[std::size_t{Scalars}] = {};
  const runtime::Operand operands[] = {{to.device_pointer(), &to.layout()},
                                       {from.device_pointer(), &from.layout()}};
  runtime::launch_map(kernels::program_for<Copy>::value, operands, scalars, to.stream());
}

TEST(Room, KernelsTakeHundredsOfScalarsAndMoreAreAnError) {
  const auto from = arange<float>(100.f), to = zeros<float>({100});
  copy_with<1000>(to, from);
  EXPECT_TRUE(all_of(to == from).item());
  EXPECT_THROW(copy_with<2000>(to, from), LogicError);
}

template <std::size_t... K>
const kernels::program& copy_of_first(std::index_sequence<K...>) {
  using Copy = kernels::map_of<kernels::in<float, 0>, float, 0,
                               std::conditional_t<(K >= 0), float, void>...>;
  return kernels::program_for<Copy>::value;
}

/// The same by a kernel with that many inputs, of which it reads one.
template <std::size_t Inputs>
void copy_first_of(const DeviceNDArray<float>& to, const DeviceNDArray<float>& from) {
  std::vector<runtime::Operand> operands(Inputs + 1, {from.device_pointer(), &from.layout()});
  operands[0] = {to.device_pointer(), &to.layout()};
  runtime::launch_map(copy_of_first(std::make_index_sequence<Inputs>()), operands, nullptr,
                      to.stream());
}

TEST(Room, KernelsTakeManyInputsAndMoreAreAnError) {
  const auto from = arange<float>(100.f), to = zeros<float>({100});
  copy_first_of<170>(to, from);
  EXPECT_TRUE(all_of(to == from).item());
  EXPECT_THROW(copy_first_of<200>(to, from), LogicError);
}

}  // namespace
}  // namespace quarry
