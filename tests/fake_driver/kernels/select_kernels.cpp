// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/select.hpp>

#include <algorithm>

#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

constexpr int out = 1, inputs = 2;  // operands

/// Empty when the tiles cover every element once, and blocks can tell each other of them.
std::string wrong_tiles(const Launch& launch) {
  const auto* const sizes = launch.program->itemsize;
  const std::uint32_t largest = *std::max_element(sizes + out, sizes + launch.program->operands());
  const int width = launch.argument(2);
  const std::int64_t tile =
      std::int64_t{kernels::select_threads} * width * kernels::select_vectors(largest, width);
  const std::int64_t n = launch.word(block_places::kept);
  if (launch.block_x != kernels::select_threads || launch.block_y != 1 || launch.grid_y != 1) {
    return "the blocks have the wrong size";
  }
  if (width > kernels::select_items(largest)) return "a vector is more than a thread takes";
  const std::uint64_t words = launch.more[0];
  if (words == 0) return n <= tile && launch.grid_x == 1 ? "" : "one tile is too little";
  const auto count = static_cast<std::size_t>((n + tile - 1) / tile + 1);
  const std::byte* const memory = state().memory.find(words, 8 * count, launch.device);
  if (!memory) return "the words of the tiles are not in live memory";
  const bool is_clear = std::all_of(memory, memory + 8 * count, [](auto b) { return !int(b); });
  return is_clear ? "" : "the words of the tiles are not 0";
}

/// Calls f(n, addresses, strides, position) for the runs along the last axis.
template <class F>
bool for_runs(const Launch& launch, const Operands& operands, const F& f) {
  const int inner = launch.rank() - 1;
  const std::int64_t columns = operands.extent(inner), n = launch.word(block_places::kept);
  const std::int64_t step = operands.run(columns);
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) strides.push_back(operands.stride(k, inner));
  std::vector<char*> addresses;
  for (std::int64_t i = 0; i < n; i += step) {
    Operands::Offsets offsets = operands.start();
    operands.advance(offsets, i / columns, 0, inner);
    operands.advance(offsets, i % columns, inner, inner + 1);
    if (!operands.resolve(offsets, addresses)) return false;
    f(step, addresses.data(), strides.data(), i);
  }
  return true;
}

CUresult run_select(const Launch& given) {
  if (const std::string wrong = wrong_tiles(given); !wrong.empty()) return illegal(given, wrong);
  Launch launch = given;
  const bool is_stored = launch.pointer(out) != 0;
  // where nothing is stored the count's memory stands for that of the values
  if (!is_stored) launch.words[block_places::pointers + out] = launch.pointer(0);
  const Operands operands = launch.operands(launch.argument(1) == 8);
  const int inner = launch.rank() - 1, width = launch.argument(2);
  if (inner > 0 && operands.extent(inner) % width != 0) return misaligned(launch);
  if (!has_legal_vectors(launch, operands, inputs, width, launch.argument(3), inner)) {
    return misaligned(launch);
  }
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  const auto& loops = *static_cast<const kernels::select_loops*>(launch.program->loops);
  std::int64_t kept = 0, rank = 0;
  bool is_inside = for_runs(launch, operands, [&](auto n, auto at, auto strides, auto i) {
    kept += loops.count(n, at, strides, launch.scalars(), i);
  });
  std::byte* const count = state().memory.find(launch.pointer(0), sizeof kept, launch.device);
  if (!count || !is_inside) return illegal(launch, "an operand is not in live memory");
  *reinterpret_cast<std::int64_t*>(count) = kept;
  if (!is_stored || kept == 0) return CUDA_SUCCESS;
  bool is_dense = true;
  for (int axis = 0; axis <= inner; ++axis) is_dense &= operands.stride(out, axis) == 0;
  const auto bytes = static_cast<std::size_t>(kept) * launch.program->itemsize[out];
  if (is_dense && !state().memory.find(launch.pointer(out), bytes, launch.device)) {
    return illegal(launch, "there is too little memory for the values");
  }
  is_inside = for_runs(launch, operands, [&](auto n, auto at, auto strides, auto i) {
    const std::int64_t here = loops.count(n, at, strides, launch.scalars(), i);
    loops.store(n, at, strides, launch.scalars(), i, rank, here);
    rank += here;
  });
  return is_inside ? CUDA_SUCCESS : illegal(launch, "an operand is not in live memory");
}

}  // namespace

std::span<const Kernel> select_kernels() {
  static constexpr auto rank = [](const std::vector<int>& arguments) { return arguments[0]; };
  static constexpr Kernel kernels[] = {{"select", "select", 4, 512, rank, {8}, run_select}};
  return kernels;
}

}  // namespace quarry::fake
