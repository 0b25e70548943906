// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstring>

#include <quarry/kernels/access.hpp>
#include <quarry/kernels/map.hpp>

#include "backend/cpu/runs.hpp"
#include "backend/cuda/launch/vectors.hpp"
#include "fake_driver/kernels/checked_map.hpp"
#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/kernels/map_operands.hpp"
#include "fake_driver/kernels/parted_map.hpp"
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
  const int of_thread = backend::cuda::vectors_of_thread(
      program.stores, static_cast<int>(width),
      {program.itemsize + program.outputs, static_cast<std::size_t>(program.inputs)});
  if (launch.grid_x * launch.block_x * of_thread < n / width + n % width)
    return illegal(launch, "the grid covers too little");
  std::vector<char*> addresses;
  std::vector<std::int64_t> strides;
  for (int k = 0; k < program.operands(); ++k) {
    if (program.is_side(static_cast<std::size_t>(k)))
      return illegal(launch, "a side operand of a flat map");
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

CUresult run_rows(const Launch& launch, const Operands& operands,
                  bool (*is_legal)(const Launch&, const Operands&)) {
  const std::int64_t n = launch.word(block_places::kept),
                     columns = operands.extent(launch.rank() - 1);
  if (n <= 0 || columns <= 0 || n % columns != 0)
    return illegal(launch, "the shape is not the size");
  if (!is_legal(launch, operands)) return misaligned(launch);
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

/// Whether the threads of all blocks along x are enough for a row and `idle` columns besides.
bool covers_rows(const Launch& launch, const Operands& operands, std::int64_t idle) {
  return launch.grid_x * launch.block_x * launch.argument(3) >=
         operands.extent(launch.rank() - 1) + idle;
}

bool has_aligned_rows(const Launch& launch, const Operands& operands) {
  const int last = launch.rank() - 1, width = launch.argument(3), wide = launch.argument(4);
  return operands.extent(last) % width == 0 &&
         has_legal_vectors(launch, operands, 0, width, wide, last);
}

/// run_rows, unless the check of the map has found something.
CUresult run_checked_rows(const Launch& launch, const Operands& operands, int wide,
                          bool (*is_legal)(const Launch&, const Operands&), std::int64_t word = 0) {
  return run_checked(launch, operands, wide, word,
                     [&] { return run_rows(launch, operands, is_legal); });
}

CUresult run_strided(const Launch& launch) {
  const Operands operands = launch.operands(launch.argument(1) == 8);
  const std::int64_t columns = operands.extent(launch.rank() - 1);
  if (!covers_rows(launch, operands, lead(launch, operands, columns)))
    return illegal(launch, "the grid covers too little");
  return run_checked_rows(launch, operands, launch.argument(4), has_aligned_rows);
}

bool has_unaligned_vectors(const Launch& launch, const Operands& operands) {
  const kernels::program& program = *launch.program;
  const int last = launch.rank() - 1, width = launch.argument(3), wide = launch.argument(4);
  if (width < 2 || !has_legal_vectors(launch, operands, 0, 1, 0, last)) return false;
  const auto has = [wide](int bit) { return (wide >> bit & 1) != 0; };
  for (int k = 0; k < operands.count(); ++k) {
    const std::uint32_t size = program.itemsize[k];
    const int input = k - program.outputs;
    const bool is_wide = input < 0 || has(input), is_other = input >= 0 && has(16 + input);
    const int step = is_wide ? (is_other ? 2 : 1) : is_other ? -1 : 0;
    const std::int64_t apart = step * std::int64_t{size};
    const bool is_side = program.is_side(static_cast<std::size_t>(k));
    if (is_side && (is_other || !has_whole_steps(launch, k))) return false;
    if (operands.stride(k, last) != apart) return false;
    if (!std::has_single_bit(size) || width * std::abs(apart) > 16) return false;
    const std::uint64_t vector = static_cast<std::uint64_t>(width) * size;
    const bool is_like_first = size == program.itemsize[0];
    if (input < 0 && !(is_like_first && is_congruent(launch, operands, k, vector))) return false;
  }
  return true;
}

/// Whether all of a row of the output are at one place.
bool has_rows_at_places(const Launch& launch, const Operands& operands) {
  const kernels::program& program = *launch.program;
  std::vector<std::int64_t> strides;
  for (int k = program.outputs; k < operands.count(); ++k) {
    strides.push_back(operands.stride(k, launch.rank() - 1));
  }
  return program.is_side(0) && program.is_at_one_place && program.is_at_one_place(strides.data());
}

/// With Scatters the output is a side operand.
template <bool Scatters>
CUresult run_unaligned(const Launch& launch) {
  const Operands operands = launch.operands(launch.argument(1) == 8);
  const bool is_legal =
      Scatters ? has_rows_at_places(launch, operands) : !launch.program->is_side(0);
  if (!is_legal) return illegal(launch, "the output is not of this kernel");
  const std::int64_t columns = operands.extent(launch.rank() - 1);
  const auto vector = std::int64_t{launch.argument(3)} * launch.program->itemsize[0];
  const std::int64_t line = columns < 1024 ? vector : 128;
  if (!covers_rows(launch, operands, line / launch.program->itemsize[0] - 1))
    return illegal(launch, "the grid covers too little");
  return run_checked_rows(launch, operands, launch.argument(4), has_unaligned_vectors);
}

bool has_vectors_across(const Launch& launch, const Operands& operands) {
  const kernels::program& program = *launch.program;
  const int last = launch.rank() - 1, width = launch.argument(2);
  if (width < 2 || operands.extent(last) < width) return false;
  if (!has_legal_vectors(launch, operands, 0, 1, 0, last)) return false;
  for (int k = 0; k < operands.count(); ++k) {
    const std::uint32_t size = program.itemsize[k];
    const int input = std::max(k - program.outputs, 0);
    const bool is_flat = k < program.outputs || (launch.argument(4) >> input & 1) != 0;
    const auto access = kernels::input_access::of(static_cast<unsigned>(launch.argument(3)), input);
    const bool is_backwards = !is_flat && access.is_backwards, is_wide = is_flat || access.moves();
    const std::uint64_t vector = static_cast<std::uint64_t>(width) * size;
    const bool is_side = program.is_side(static_cast<std::size_t>(k));
    const bool is_copied = is_wide && !is_flat && !is_backwards && has_whole_steps(launch, k);
    if (program.copies && k >= program.outputs && is_wide != is_side) return false;
    if (is_side && !(program.copies && is_copied)) return false;
    if (is_wide && (!std::has_single_bit(size) || vector > 16)) return false;
    if (is_flat && !(is_dense(launch, operands, k) && launch.pointer(k) % vector == 0))
      return false;
    const std::int64_t step = is_backwards ? -std::int64_t{size} : is_wide ? std::int64_t{size} : 0;
    if (!is_flat && operands.stride(k, last) != step) return false;
  }
  return true;
}

CUresult run_across(const Launch& launch) {
  const Operands operands = launch.operands(launch.argument(1) == 8);
  const std::int64_t n = launch.word(block_places::kept);
  const int copies = launch.program->copies ? kernels::across_copies : 1;
  const std::int64_t of_thread = std::int64_t{launch.argument(2)} * copies;
  if (launch.grid_x * launch.block_x * of_thread < n || launch.grid_y != 1)
    return illegal(launch, "the grid covers too little");
  return run_checked_rows(launch, operands, launch.argument(3), has_vectors_across);
}

CUresult run_masked_rows(const Launch& launch) {
  const Operands operands = launch.operands(true);
  if (const std::string wrong = wrong_masked_rows(launch, operands); !wrong.empty())
    return illegal(launch, wrong);
  return run_rows(launch, operands, has_masked_rows);
}

bool has_vectors_of_singles(const Launch& launch, const Operands& operands) {
  const int outputs = launch.program->outputs;
  return outputs == 1 && launch.program->is_side(0) && operands.stride(0, 0) == 0 &&
         has_legal_vectors(launch, operands, outputs, launch.argument(0), launch.argument(1), 0);
}

CUresult run_singles(const Launch& launch) {
  const std::int64_t of_thread = std::int64_t{launch.argument(0)} * kernels::scatter_vectors;
  const bool covers = launch.grid_x * launch.block_x * of_thread >= launch.word(block_places::kept);
  if (!covers || launch.grid_y != 1) return illegal(launch, "the grid covers too little");
  std::int64_t word;
  std::memcpy(&word, launch.more.data(), sizeof word);
  return run_checked_rows(launch, launch.operands(true), launch.argument(1), has_vectors_of_singles,
                          word);
}

/// The last step runs the map; each wants to find what the one before it has left.
CUresult run_parted(const Launch& launch) {
  kernels::parted parts;
  std::memcpy(&parts, launch.more.data(), sizeof parts);
  const Operands operands = launch.operands(true);
  const int k = parted_operand(launch, operands);
  if (k < 0) return illegal(launch, "no side operand is accessed by single elements");
  if (const std::string wrong = wrong_parts(launch, parts, k); !wrong.empty())
    return illegal(launch, wrong);
  const auto at = reinterpret_cast<std::uint64_t>(parts.runs);
  auto& step = *reinterpret_cast<std::uint32_t*>(state().memory.find(at, 4, launch.device));
  const auto own = static_cast<std::uint32_t>(parts.step);
  constexpr std::uint32_t left = 0x9a27ed00;
  if (own > 0 && step != left + own - 1) return illegal(launch, "the step before it is missing");
  step = left + own;
  const bool reads = launch.program->singles == kernels::single_access::read;
  const auto last = reads ? kernels::parted_step::restore : kernels::parted_step::access;
  if (parts.step != last) return CUDA_SUCCESS;
  return run_rows(launch, operands, [](const Launch& of, const Operands& all) {
    const int outputs = of.program->is_side(0) ? 1 : 0;
    return has_legal_vectors(of, all, outputs, of.argument(0), of.argument(1), 0);
  });
}

CUresult run_in_order(const Launch& launch, CUresult (*run)(const Launch&)) {
  return launch.more.back() > 3 ? illegal(launch, "the blocks have no order") : run(launch);
}
CUresult run_if_direction(const Launch& launch, CUresult (*run)(const Launch&)) {
  return launch.more.back() > 1 ? illegal(launch, "`backwards` is neither 0 nor 1") : run(launch);
}
CUresult run_if_tiled(const Launch& launch, CUresult (*run)(const Launch&)) {
  constexpr int known =
      kernels::blocks_backwards | kernels::order_reads_ahead | kernels::order_waits_first;
  const bool is_order = (launch.more.back() & ~std::uint64_t{known}) == 0;
  return is_order ? run(launch) : illegal(launch, "the order has other bits");
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
       [](const Launch& launch) { return run_in_order(launch, run_strided); }},
      {"map",
       "map_scatter",
       5,
       256,
       [](const std::vector<int>& arguments) { return arguments[0]; },
       {sizeof(int)},
       [](const Launch& launch) { return run_in_order(launch, run_strided); }},
      {"map",
       "map_unaligned",
       5,
       256,
       [](const std::vector<int>& arguments) { return arguments[0]; },
       {sizeof(int)},
       [](const Launch& launch) { return run_in_order(launch, run_unaligned<false>); }},
      {"map",
       "map_scatter_rows",
       5,
       256,
       [](const std::vector<int>& arguments) { return arguments[0]; },
       {sizeof(int)},
       [](const Launch& launch) { return run_in_order(launch, run_unaligned<true>); }},
      {"map",
       "map_scatter_singles",
       2,
       256,
       [](const std::vector<int>&) { return 1; },
       {sizeof(std::int64_t)},
       run_singles},
      {"map",
       "map_parted",
       2,
       kernels::parted_threads,
       [](const std::vector<int>&) { return 1; },
       {sizeof(kernels::parted)},
       run_parted},
      {"map",
       "map_masked_rows",
       0,
       256,
       [](const std::vector<int>&) { return 2; },
       {sizeof(kernels::masked_rows)},
       run_masked_rows},
      {"map",
       "map_across",
       5,
       256,
       [](const std::vector<int>& arguments) { return arguments[0]; },
       {sizeof(int)},
       [](const Launch& launch) { return run_if_direction(launch, run_across); }},
      {"map",
       "map_tiled",
       7,
       256,
       [](const std::vector<int>& arguments) { return arguments[0]; },
       {sizeof(kernels::tiling), sizeof(int)},
       [](const Launch& launch) { return run_if_tiled(launch, run_tiled); }}};
  return kernels;
}

}  // namespace quarry::fake
