// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include <quarry/kernels/map.hpp>

#include "backend/cpu/runs.hpp"
#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/kernels/tiled_map.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

void run_loops(const Launch& launch, std::int64_t n, const std::vector<char*>& addresses,
               const std::vector<std::int64_t>& strides, std::int64_t first) {
  backend::cpu_backend::map_run(*static_cast<const kernels::map_loops*>(launch.program->loops), n,
                                addresses.data(), strides.data(), launch.scalars(), first);
}

CUresult run_flat(const Launch& launch) {
  const kernels::program& program = *launch.program;
  const std::int64_t n = launch.word(block_places::kept), width = launch.argument(0);
  if (launch.grid_x * launch.block_x < n / width + n % width)
    return illegal(launch, "the grid covers too little");
  std::vector<char*> addresses;
  std::vector<std::int64_t> strides;
  for (int k = 0; k < program.operands(); ++k) {
    if (program.is_side[k]) return illegal(launch, "a side operand of a flat map");
    const std::uint64_t at = launch.pointer(k);
    const std::uint32_t size = program.itemsize[k];
    const auto unit = static_cast<std::uint64_t>(width) * size;
    const bool is_legal = width == 1 ? at % program.alignment[k] == 0
                                     : std::has_single_bit(size) && unit <= 16 && at % unit == 0;
    if (!is_legal) return misaligned(launch);
    std::byte* const memory =
        state().memory.find(at, static_cast<std::size_t>(n) * size, launch.device);
    if (!memory) return illegal(launch, "operand " + std::to_string(k) + " is not in live memory");
    addresses.push_back(reinterpret_cast<char*>(memory));
    strides.push_back(size);
  }
  run_loops(launch, n, addresses, strides, 0);
  return CUDA_SUCCESS;
}

/// Idle columns that the kernel adds before the first one, so that rows begin at lines of 128
/// bytes.
std::int64_t lead(const Launch& launch, const Operands& operands, std::int64_t columns) {
  const std::uint32_t size = launch.program->itemsize[0];
  const bool is_dense = operands.stride(0, launch.rank() - 1) == size;
  if (columns < 1024 || !is_dense || !std::has_single_bit(size) || size > 16) return 0;
  return static_cast<std::int64_t>(launch.pointer(0) % 128 / size);
}

bool run_row(const Launch& launch, const Operands& operands, std::int64_t row) {
  const int inner = launch.rank() - 1;
  const std::int64_t columns = operands.extent(inner), step = operands.run(columns);
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) strides.push_back(operands.stride(k, inner));
  std::vector<char*> addresses;
  for (std::int64_t column = 0; column < columns; column += step) {
    Operands::Offsets offsets = operands.start();
    operands.advance(offsets, row, 0, inner);
    operands.advance(offsets, column, inner, inner + 1);
    if (!operands.resolve(offsets, addresses)) return false;
    run_loops(launch, step, addresses, strides, row * columns + column);
  }
  return true;
}

CUresult run_strided(const Launch& launch) {
  const int rank = launch.argument(0), width = launch.argument(3), wide = launch.argument(4);
  const Operands operands = launch.operands(launch.argument(1) == 8);
  const std::int64_t n = launch.word(block_places::kept), columns = operands.extent(rank - 1);
  if (n <= 0 || columns <= 0 || n % columns != 0)
    return illegal(launch, "the shape is not the size");
  if (launch.grid_x * launch.block_x * width < columns + lead(launch, operands, columns))
    return illegal(launch, "the grid covers too little");
  if (columns % width != 0 || !has_legal_vectors(launch, operands, 0, width, wide, rank - 1))
    return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  const std::int64_t rows = n / columns;
  const auto first = static_cast<std::int64_t>(launch.seed % static_cast<std::uint64_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!run_row(launch, operands, (first + row) % rows)) {
      return illegal(launch, "a 32-bit offset has wrapped");
    }
  }
  return CUDA_SUCCESS;
}

CUresult run_if_direction(const Launch& launch, CUresult (*run)(const Launch&)) {
  return launch.more.back() > 1 ? illegal(launch, "`backwards` is neither 0 nor 1") : run(launch);
}

}  // namespace

std::span<const Kernel> map_kernels() {
  static constexpr Kernel kernels[] = {
      {"map",
       "map_flat",
       1,
       256,
       [](const std::vector<int>&) { return 0; },
       {sizeof(int)},
       [](const Launch& launch) { return run_if_direction(launch, run_flat); }},
      {"map",
       "map_strided",
       5,
       256,
       [](const std::vector<int>& arguments) { return arguments[0]; },
       {sizeof(int)},
       [](const Launch& launch) { return run_if_direction(launch, run_strided); }},
      {"map",
       "map_tiled",
       6,
       256,
       [](const std::vector<int>& arguments) { return arguments[0]; },
       {sizeof(kernels::tiling), sizeof(int)},
       [](const Launch& launch) { return run_if_direction(launch, run_tiled); }}};
  return kernels;
}

}  // namespace quarry::fake
