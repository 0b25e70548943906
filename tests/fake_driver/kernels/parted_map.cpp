// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/parted_map.hpp"

#include <cstdlib>

#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

/// How many places of operand k there are, from the lowest one on, and how many bytes that is from
/// its pointer.
struct AllPlaces {
  std::int64_t first = 0, count = 1;
  AllPlaces(const Launch& launch, int k) {
    const bool are_bits = launch.program->singles == kernels::single_access::mark;
    const std::int64_t size = are_bits ? 1 : launch.program->itemsize[k];
    const kernels::own_axes own = launch.program->own[k];
    for (int s = own.first; s < own.first + own.count; ++s) {
      const auto extent = static_cast<std::int64_t>(launch.scalars()[2 * s]);
      const auto stride = static_cast<std::int64_t>(launch.scalars()[2 * s + 1]);
      if (stride < 0) first += (extent - 1) * stride;
      count += (extent - 1) * std::abs(stride) / size;
    }
  }
};

}  // namespace

int parted_operand(const Launch& launch, const Operands& operands) {
  for (int k = 0; k < operands.count(); ++k) {
    if (launch.program->is_side(static_cast<std::size_t>(k)) && operands.stride(k, 0) == 0)
      return k;
  }
  return -1;
}

std::string wrong_parts(const Launch& launch, const kernels::parted& parts, int k) {
  using kernels::single_access;
  const single_access access = launch.program->singles;
  const AllPlaces all(launch, k);
  const std::int64_t size = launch.program->itemsize[k],
                     of_parts = std::int64_t{parts.count} << parts.shift;
  const bool marks = access == single_access::mark;
  if (parts.first != all.first || of_parts < all.count || parts.count > kernels::most_parts)
    return "the parts are not all places";
  if (!marks && parts.bytes != static_cast<std::uint64_t>(all.count * size))
    return "the places have other bytes";
  if (marks && (parts.shift < 5 || parts.shift > kernels::most_marks_log2))
    return "a part is no whole words, or more than a block has";
  const std::int64_t tile = kernels::parted_tile(static_cast<std::uint64_t>(size), access);
  if (parts.tiles * tile < launch.word(block_places::kept)) return "there are too few tiles";
  if (tile / kernels::parted_threads % launch.argument(0) != 0)
    return "a thread has no whole vectors";
  const bool is_access = parts.step == kernels::parted_step::access;
  const std::int64_t at_once =
      marks ? parts.tiles : kernels::parted_threads / 32 * kernels::parted_runs;
  const std::int64_t tiles = is_access ? launch.grid_x / parts.count * at_once : launch.grid_x;
  const bool covers =
      is_access ? tiles >= parts.tiles && launch.grid_x % parts.count == 0 : tiles == parts.tiles;
  if (!covers || launch.block_x != kernels::parted_threads || launch.grid_y != 1)
    return "the grid covers too little";
  const auto is_there = [&](const void* memory, std::int64_t bytes) {
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    return at % 16 == 0 && state().memory.find(at, static_cast<std::size_t>(bytes), launch.device);
  };
  const std::int64_t elements = parts.tiles * tile;
  const bool are_there = is_there(parts.places, elements * 4) &&
                         (marks || is_there(parts.values, elements * size)) &&
                         (access != single_access::read || is_there(parts.slots, elements * 2)) &&
                         is_there(parts.runs, (parts.count + 1) * parts.tiles * 4);
  return are_there ? "" : "what the steps leave is not in live memory";
}

}  // namespace quarry::fake
