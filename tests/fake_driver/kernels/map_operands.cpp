// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/map_operands.hpp"

#include <bit>
#include <cstring>

namespace quarry::fake {

bool is_dense(const Launch& launch, const Operands& operands, int k) {
  std::int64_t stride = launch.program->itemsize[k];
  for (int axis = launch.rank() - 1; axis >= 0; stride *= operands.extent(axis--)) {
    if (operands.stride(k, axis) != stride) return false;
  }
  return true;
}

bool has_masked_rows(const Launch& launch, const Operands& operands) {
  const kernels::program& program = *launch.program;
  const std::uint32_t size = program.itemsize[0];
  if (program.stores != kernels::stored_elements::one_constant) return false;
  if (!std::has_single_bit(size) || size > 16 || launch.pointer(0) % size != 0) return false;
  if (!is_dense(launch, operands, 0) || operands.extent(1) >= 1 << 25) return false;
  for (int k = 1; k < operands.count(); ++k) {
    if (operands.stride(k, 1) != 0) return false;
  }
  return has_legal_vectors(launch, operands, 0, 1, 0, 1);
}

bool is_congruent(const Launch& launch, const Operands& operands, int k, std::uint64_t vector) {
  std::uint64_t apart = launch.pointer(k) - launch.pointer(0);
  for (int axis = 0; axis + 1 < launch.rank(); ++axis) {
    apart |= static_cast<std::uint64_t>(operands.stride(k, axis) - operands.stride(0, axis));
  }
  return apart % vector == 0;
}

bool has_whole_steps(const Launch& launch, int k) {
  const kernels::own_axes own = launch.program->own[k];
  for (int s = own.first; s < own.first + own.count; ++s) {
    if (launch.scalars()[2 * s + 1] % launch.program->itemsize[k] != 0) return false;
  }
  return true;
}

std::string wrong_masked_rows(const Launch& launch, const Operands& operands) {
  kernels::masked_rows of;
  std::memcpy(&of, launch.more.data(), sizeof of);
  const std::int64_t threads = launch.grid_x * launch.block_x, rows = operands.extent(0);
  const std::int64_t bytes = operands.extent(1) * std::int64_t{launch.program->itemsize[0]};
  if (of.groups < 0 || of.groups > kernels::most_row_groups || of.sharers < 1)
    return "the warps have no rows";
  if (of.groups > 0 && bytes < 32) return "rows have no two vectors";
  const std::int64_t covered = of.groups > 0 ? threads / 32 / of.sharers * of.groups * 32 * bytes
                                             : threads * kernels::chosen_row_vectors * 16 - 15;
  return covered < rows * bytes ? "the grid covers too little" : "";
}

}  // namespace quarry::fake
