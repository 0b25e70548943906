// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/bincount.hpp>

#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

std::int64_t bins_of(const Launch& launch) {
  return static_cast<std::int64_t>(launch.scalars()[2 * (launch.program->scalars - 1)]);
}

/// Empty when the geometry counts every element once.
std::string wrong_geometry(const Launch& launch) {
  const std::int64_t chunk = launch.word(block_places::chunk);
  if (launch.block_x % 32 != 0 || launch.block_y != 1) return "a block is not made of whole warps";
  if (launch.grid_y != 1 || launch.grid_x * chunk < launch.word(block_places::reduced)) {
    return "the blocks cover too little";
  }
  if (chunk <= 0 || chunk % launch.argument(0) != 0) return "a chunk is not made of whole vectors";
  return {};
}

std::string wrong_privacy(const Launch& launch) {
  if (bins_of(launch) > kernels::most_private_bins) return "a block has no room for the bins";
  if (launch.word(block_places::chunk) >> 32 != 0) return "a counter of 32 bits overflows";
  return {};
}

CUresult count(const Launch& launch) {
  if (const std::string wrong = wrong_geometry(launch); !wrong.empty()) {
    return illegal(launch, wrong);
  }
  const Operands operands = launch.operands(true, false);
  if (!has_legal_vectors(launch, operands, 1, launch.argument(0), launch.argument(1),
                         launch.rank() - 1) ||
      launch.pointer(0) % sizeof(std::int64_t) != 0) {
    return misaligned(launch);
  }
  std::byte* const counts = state().memory.find(
      launch.pointer(0), static_cast<std::size_t>(bins_of(launch)) * sizeof(std::int64_t),
      launch.device);
  if (!operands.are_inside() || !counts) return illegal(launch, "an operand is not in live memory");
  std::vector<char*> addresses;
  operands.resolve(operands.start(), addresses);
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) strides.push_back(operands.stride(k, 1));
  static_cast<const kernels::bincount_loops*>(launch.program->loops)
      ->run(reinterpret_cast<kernels::i64*>(counts), launch.word(block_places::reduced),
            addresses.data() + 1, strides.data() + 1, launch.scalars(), 0);
  return CUDA_SUCCESS;
}

CUresult count_in_blocks(const Launch& launch) {
  const std::string wrong = wrong_privacy(launch);
  return wrong.empty() ? count(launch) : illegal(launch, wrong);
}

}  // namespace

std::span<const Kernel> bincount_kernels() {
  static constexpr auto rank = [](const std::vector<int>&) { return 2; };
  static constexpr Kernel kernels[] = {
      {"bincount", "bincount_private", 2, 512, rank, {}, count_in_blocks},
      {"bincount", "bincount_direct", 2, 512, rank, {}, count}};
  return kernels;
}

}  // namespace quarry::fake
