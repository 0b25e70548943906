// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <string>

#include <quarry/kernels/access.hpp>
#include <quarry/kernels/params.hpp>

#include "fake_driver/kernels/reduction.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

/// The arguments of reduce_staged<PROGRAM, ...>, and the rows that it is for.
struct Staged {
  Staged(const Launch& launch, const Operands& operands)
      : kept_rank(launch.argument(0)),
        has_gaps(kernels::input_access::of(static_cast<unsigned>(launch.argument(3)), 0).has_gaps),
        lanes(launch.argument(4)),
        segments(launch.argument(5)),
        accesses(launch.argument(6)),
        size(launch.program->itemsize[1]),
        unit(size * (has_gaps ? 2 : 1)),
        length(operands.extent(launch.rank() - 1)),
        places(launch.word(block_places::reduced) / length),
        columns(operands.extent(kept_rank - 1)),
        pitch(operands.stride(1, kept_rank - 1)),
        has_places(launch.argument(1) > 1) {}
  int kept_rank;
  bool has_gaps;
  int lanes, segments, accesses;
  std::int64_t size, unit, length, places, columns, pitch;
  bool has_places;
};

/// Empty when all rows are read whole, each output's once.
std::string wrong(const Launch& launch, const Operands& operands) {
  const Staged of(launch, operands);
  const std::int64_t chunk = launch.word(block_places::chunk);
  const std::int64_t row = (of.length - 1) * of.unit + of.size, vector = 16 / of.unit;
  if (operands.stride(1, launch.rank() - 1) != of.unit || of.pitch < row) return "rows overlap";
  for (const int power : {of.lanes, of.segments}) {
    if (!std::has_single_bit(static_cast<unsigned>(power))) return "a stage has odd parts";
  }
  const std::int64_t rows = 32 / of.lanes;
  if ((rows - 1) * of.pitch + row + 15 > kernels::stage_vectors * 16 / of.segments) {
    return "a segment goes beyond its stage";
  }
  const std::int64_t whole = (of.accesses - 1) * of.lanes * vector;
  if (whole > of.length || whole + of.lanes * vector < of.length) return "a row is read in part";
  if (launch.block_x * launch.block_y != 256 || launch.block_x % 32 != 0) {
    return "a block has no whole warps";
  }
  const std::int64_t item = rows * (of.has_places ? 1 : of.segments);
  const std::int64_t lines = launch.word(block_places::kept) / of.columns;
  const std::int64_t items = lines * ((of.columns + item - 1) / item);
  if (!of.has_places) {
    const bool is_alone = launch.grid_y == 1 && launch.block_y == 1 && launch.more[0] == 0;
    return chunk == items && is_alone ? "" : "warps have not all items";
  }
  if (launch.grid_x * (launch.block_x / 32) < items) return "the grid covers too few outputs";
  if (chunk <= 0 || launch.grid_y * chunk < of.places) return "the splits cover too little";
  if (launch.grid_y > 1 && launch.more[0] == 0) return "several splits write one output";
  return {};
}

}  // namespace

CUresult run_staged_reduction(const Launch& launch) {
  const std::uint64_t to = launch.more[0];
  const Operands operands = launch.operands(launch.argument(2) == 8, to == 0, launch.argument(0));
  if (const std::string what = wrong(launch, operands); !what.empty()) return illegal(launch, what);
  if (!is_natural(launch, operands, 1)) return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  const std::int64_t splits = launch.grid_y, kept = launch.word(block_places::kept);
  std::byte* const partial = to ? partial_results(launch, to, splits * kept) : nullptr;
  if (to && !partial) return illegal(launch, "the partial results are not in live memory");
  const Staged of(launch, operands);
  const std::int64_t reduced = launch.word(block_places::reduced);
  const std::int64_t chunk = of.has_places ? launch.word(block_places::chunk) * of.length : reduced;
  for (std::int64_t i = 0; i < splits * kept; ++i) {
    Operands::Offsets base = operands.start();
    operands.advance(base, i % kept, 0, of.kept_rank);
    const Accumulator accumulator = new_accumulator(launch);
    const std::int64_t begin = i / kept * chunk, end = std::min(begin + chunk, reduced);
    if (!fold(launch, operands, base, accumulator.get(), begin, end) ||
        !store(launch, operands, base, accumulator.get(), i, partial)) {
      return illegal(launch, "a 32-bit offset has wrapped");
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake
