// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/parted.hpp"

#include <quarry/base/error.hpp>
#include <quarry/kernels/params.hpp>

#include <algorithm>
#include <bit>
#include <optional>

#include "backend/cuda/launch/grid.hpp"

namespace quarry::backend::cuda {
namespace {

/// The side operand whose single elements a map accesses, and whether it reads them.
struct Accessed {
  std::size_t operand;
  bool is_read;
};

std::optional<Accessed> accessed(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const kernels::program& program = *call.program;
  const CallOperands& operands = launcher.operands;
  if (call.rank() != 1 || program.outputs != 1) return std::nullopt;
  const auto is_single = [&](std::size_t k) {
    return program.is_side(k) && operands.last_stride(k) == 0;
  };
  if (program.is_at_one_place && is_single(0)) return Accessed{0, false};
  if (program.picks != 1 || operands.last_stride(0) != program.itemsize[0]) return std::nullopt;
  for (std::size_t k = 1; k < call.operands.size(); ++k) {
    if (is_single(k)) return Accessed{k, true};
  }
  return std::nullopt;
}

/// The bytes from the lowest place of a side operand on, relative to its pointer.
struct Places {
  std::int64_t first = 0, bytes = 0;
};

Places places_of(const KernelCall& call, std::size_t operand) {
  const kernels::own_axes own = call.program->own[operand];
  Places all{0, call.program->itemsize[operand]};
  for (int s = own.first; s < own.first + own.count; ++s) {
    const auto& axis = call.scalars[static_cast<std::size_t>(s)].word;  // kernels::side_axis
    const auto last = static_cast<std::int64_t>((axis[0] - 1) * axis[1]);
    if (last < 0) all.first += last;
    all.bytes += last < 0 ? -last : last;
  }
  return all;
}

/// The bytes of a part, a power of two: those of the parts that blocks access at the same time stay
/// in the cache together. 0 if it takes too many parts.
std::int64_t part_bytes(std::int64_t all, std::int64_t cache) {
  constexpr std::int64_t usual = std::int64_t{4} << 20;
  const auto least = std::bit_ceil(static_cast<std::uint64_t>(divide_up(all, kernels::most_parts)));
  const std::int64_t bytes = std::max(usual, static_cast<std::int64_t>(least));
  return bytes <= std::max(usual, cache / 4) ? bytes : 0;
}

/// Whether sorting takes less time than accesses in no order, of which each takes a line of memory:
/// all of the operand is read once, by how few elements however.
bool is_worth_it(const KernelCall& call, const Places& places, std::int64_t cache) {
  constexpr std::int64_t many = std::int64_t{1} << 22, bytes_an_element = 32;
  return call.kept >= many && places.bytes > cache && places.bytes / bytes_an_element <= call.kept;
}

constexpr std::size_t up_to(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

bool launch_parted(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const std::optional<Accessed> found = accessed(launcher);
  if (!found) return false;
  const auto [operand, is_read] = *found;
  const std::uint32_t size = call.program->itemsize[operand];
  const Places places = places_of(call, operand);
  const std::int64_t bytes = part_bytes(places.bytes, launcher.cache());
  const bool has_whole_steps = launcher.operands.own_strides(operand) % size == 0;
  if (!std::has_single_bit(size) || size > 16 || !has_whole_steps || bytes == 0) return false;
  if (!is_worth_it(call, places, launcher.cache())) return false;

  const int tile = kernels::parted_tile(size, is_read);
  kernels::parted parts{};
  parts.first = places.first;
  parts.tiles = divide_up(call.kept, tile);
  parts.shift =
      static_cast<kernels::u32>(std::countr_zero(static_cast<std::uint64_t>(bytes / size)));
  parts.count = static_cast<kernels::u32>(divide_up(places.bytes, bytes));
  const auto elements = static_cast<std::size_t>(parts.tiles) * static_cast<std::size_t>(tile);
  const bool in_place = is_read && size == sizeof *parts.places;
  const std::size_t sizes[] = {
      elements * sizeof *parts.places, in_place ? 0 : elements * size,
      is_read ? elements * sizeof *parts.slots : 0,
      up_to(static_cast<std::size_t>(parts.tiles) * (parts.count + 1) * sizeof *parts.runs, 16)};
  std::byte* memory = nullptr;
  try {
    memory =
        static_cast<std::byte*>(launcher.workspace.take(sizes[0] + sizes[1] + sizes[2] + sizes[3]));
  } catch (const MemoryError&) {
    return false;
  }
  parts.places = reinterpret_cast<kernels::u32*>(memory);
  parts.values = in_place ? memory : memory + sizes[0];
  parts.slots = reinterpret_cast<kernels::u16*>(memory + sizes[0] + sizes[1]);
  parts.runs = reinterpret_cast<kernels::u32*>(memory + sizes[0] + sizes[1] + sizes[2]);

  constexpr std::int64_t whole = 16;  // every width divides a tile, the last ones are there in part
  const VectorAccess vectors =
      is_read ? map_vectors(launcher.operands, whole) : aligned_vectors(launcher.operands);
  const ParameterBlock block = parameter_block(call, true, call.reduced);
  const auto run = [&](kernels::parted_step step, std::int64_t blocks) {
    parts.step = step;
    launcher.run_early(PartedMap{vectors.width, vectors.wide},
                       {static_cast<unsigned>(blocks), 1, kernels::parted_threads, 1}, block,
                       parts);
  };
  constexpr std::int64_t tiles_a_block = kernels::parted_threads / 32 * kernels::parted_runs;
  run(kernels::parted_step::partition, parts.tiles);
  run(kernels::parted_step::access, parts.count * divide_up(parts.tiles, tiles_a_block));
  if (is_read) run(kernels::parted_step::restore, parts.tiles);
  return true;
}

}  // namespace quarry::backend::cuda
