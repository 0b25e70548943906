// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <string>

#include <quarry/kernels/params.hpp>

#include "fake_driver/kernels/reduction.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

/// Empty when reduce_slabs<PROGRAM, kept rank, index bytes> has all elements of every output in
/// shared memory, and each output once.
std::string wrong(const Launch& launch, const Operands& operands) {
  const int kept_rank = launch.argument(0);
  if (kept_rank < 2) return "there are no slabs";
  kernels::slab_stages of;
  std::memcpy(static_cast<void*>(&of), launch.more.data(), sizeof of);
  const std::int64_t columns = operands.extent(kept_rank - 1),
                     count = operands.extent(kept_rank - 2), rows = operands.extent(kept_rank);
  const auto is_divisor = [](const kernels::divisor& d) {
    const kernels::divisor same = kernels::divisor::by(d.constant);
    return d.constant > 0 && d.magic == same.magic && d.shift == same.shift;
  };
  if (!is_divisor(of.columns) || !is_divisor(of.lanes)) return "a divisor is none";
  if (of.columns.constant != columns) return "a row has other columns";
  if (operands.stride(1, kept_rank - 1) != of.unit ||
      operands.stride(1, kept_rank) != of.row_pitch ||
      operands.stride(1, kept_rank - 2) != of.slab_pitch) {
    return "the input lies otherwise";
  }
  const std::int64_t bytes =
      (rows - 1) * of.row_pitch + (columns - 1) * of.unit + launch.program->itemsize[1];
  if (of.slab_bytes != bytes) return "slabs are copied in part";
  if (of.slabs == 0 || (of.slabs - 1) * std::int64_t{of.slab_pitch} + bytes + 15 >
                           std::int64_t{kernels::slab_stage_bytes}) {
    return "slabs go beyond their stage";
  }
  if (launch.block_x != kernels::slab_threads || launch.block_y != 1 || launch.grid_y != 1) {
    return "a block is no row of threads";
  }
  if (of.slabs * columns * of.lanes.constant > kernels::slab_threads) {
    return "an output has no thread";
  }
  const std::int64_t lines = launch.word(block_places::kept) / columns / count;
  const std::int64_t stages = lines * ((count + of.slabs - 1) / of.slabs);
  if (launch.word(block_places::chunk) != stages) return "blocks have not all stages";
  return launch.grid_x <= stages ? "" : "a block has no stage";
}

}  // namespace

CUresult run_slab_reduction(const Launch& launch) {
  const Operands operands = launch.operands(launch.argument(1) == 8, true, launch.argument(0));
  if (const std::string what = wrong(launch, operands); !what.empty()) return illegal(launch, what);
  if (!is_natural(launch, operands, 1)) return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  for (std::int64_t i = 0; i < launch.word(block_places::kept); ++i) {
    Operands::Offsets base = operands.start();
    operands.advance(base, i, 0, launch.argument(0));
    const Accumulator accumulator = new_accumulator(launch);
    if (!fold(launch, operands, base, accumulator.get(), 0, launch.word(block_places::reduced)) ||
        !store(launch, operands, base, accumulator.get(), i, nullptr)) {
      return illegal(launch, "a 32-bit offset has wrapped");
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake
