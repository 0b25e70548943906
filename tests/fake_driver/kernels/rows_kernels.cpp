// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <vector>

#include <quarry/kernels/rows.hpp>

#include "backend/cpu/runs.hpp"
#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

const kernels::rows_loops& loops_of(const Launch& launch) {
  return *static_cast<const kernels::rows_loops*>(launch.program->loops);
}

/// The arguments of the kernels <PROGRAM, ...>.
struct Variant {
  explicit Variant(const Launch& launch)
      : kept_rank(launch.argument(0)),
        has_wide_index(launch.argument(1) == 8),
        is_along(launch.argument(2) == 1),
        width(launch.argument(3)),
        wide(launch.argument(4)) {}
  int kept_rank;
  bool has_wide_index, is_along;
  int width, wide;
};

/// The accumulator of one row.
struct alignas(64) Total {
  std::byte accumulator[64], first[16], second[16];
};

/// Calls f(n, addresses, strides, i) on the runs of the elements [begin, end) of a row.
template <class F>
bool for_runs(const Operands& operands, int axis, std::int64_t row, std::int64_t begin,
              std::int64_t end, const F& f) {
  std::vector<std::int64_t> strides;
  for (int k = 0; k < operands.count(); ++k) strides.push_back(operands.stride(k, axis));
  std::vector<char*> addresses;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t n = operands.run(end - i);
    Operands::Offsets offsets = operands.start();
    operands.advance(offsets, row, 0, axis);
    operands.advance(offsets, i, axis, axis + 1);
    if (!operands.resolve(offsets, addresses)) return false;
    f(n, addresses, strides, i);
    i += n;
  }
  return true;
}

bool fold(const Launch& launch, const Operands& operands, std::int64_t row, std::int64_t begin,
          std::int64_t end, void* accumulator) {
  return for_runs(operands, launch.argument(0), row, begin, end,
                  [&](std::int64_t n, auto& addresses, auto& strides, std::int64_t i) {
                    backend::cpu_backend::fold_rows(loops_of(launch), accumulator, 1, n,
                                                    addresses.data() + 1, strides.data() + 1,
                                                    strides.data() + 1, launch.scalars(), i);
                  });
}

bool apply(const Launch& launch, const Operands& operands, std::int64_t row, std::int64_t begin,
           std::int64_t end, Total& total) {
  loops_of(launch).totals(total.first, total.second, total.accumulator, 1,
                          launch.word(block_places::reduced), launch.scalars());
  return for_runs(operands, launch.argument(0), row, begin, end,
                  [&](std::int64_t n, auto addresses, auto strides, std::int64_t i) {
                    addresses.push_back(reinterpret_cast<char*>(total.first));
                    addresses.push_back(reinterpret_cast<char*>(total.second));
                    strides.insert(strides.end(), 2, 0);
                    backend::cpu_backend::map_run(*loops_of(launch).elements, n, addresses.data(),
                                                  strides.data(), launch.scalars(), i);
                  });
}

/// Empty when the geometry has every row and every element of it once.
std::string wrong_geometry(const Launch& launch, const Operands& operands) {
  const Variant variant(launch);
  const std::int64_t rows = launch.word(block_places::kept),
                     reduced = launch.word(block_places::reduced),
                     chunk = launch.word(block_places::chunk);
  const std::int64_t in_block = variant.is_along ? launch.block_y : launch.block_x * variant.width;
  if (variant.is_along && !std::has_single_bit(static_cast<std::uint64_t>(launch.block_x))) {
    return "the lanes of a row are no power of two";
  }
  if (launch.block_x * launch.block_y < 32) return "a block is less than a warp";
  if (launch.grid_x * in_block < rows) return "the grid covers too few rows";
  if (chunk <= 0 || launch.grid_y * chunk < reduced) return "the splits cover too little";
  const int axis = variant.is_along ? variant.kept_rank : variant.kept_rank - 1;
  if (operands.extent(axis) % variant.width != 0) return "vectors go beyond the axis";
  if (variant.is_along && chunk % variant.width != 0) return "vectors go beyond the chunk";
  return {};
}

std::string wrong_count(const Launch& launch) {
  const Variant variant(launch);
  if (launch.grid_y != 1) return "several blocks have the whole of a row";
  const std::int64_t count = launch.argument(5);
  if (count == 0) return {};
  const std::int64_t lanes = variant.is_along ? launch.block_x : launch.block_y;
  const std::int64_t elements = launch.word(block_places::reduced);
  const std::int64_t accesses = variant.is_along ? elements / variant.width : elements;
  const bool is_right = (count - 1) * lanes < accesses && accesses <= count * lanes;
  return is_right ? "" : "lanes have another number of accesses";
}

/// What is wrong with a launch, which is added to the faults then.
CUresult check(const Launch& launch, const Operands& operands) {
  const Variant variant(launch);
  if (const std::string wrong = wrong_geometry(launch, operands); !wrong.empty()) {
    return illegal(launch, wrong);
  }
  const int axis = variant.is_along ? variant.kept_rank : variant.kept_rank - 1;
  if (!has_legal_vectors(launch, operands, 0, variant.width, variant.wide, axis)) {
    return misaligned(launch);
  }
  return operands.are_inside() ? CUDA_SUCCESS : illegal(launch, "an operand is not in live memory");
}

/// Calls f(row) for all rows, in a drawn order.
template <class F>
CUresult for_rows(const Launch& launch, const F& f) {
  const std::int64_t rows = launch.word(block_places::kept);
  const auto first = static_cast<std::int64_t>(launch.seed % static_cast<std::uint64_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!f((first + row) % rows)) return illegal(launch, "a 32-bit offset has wrapped");
  }
  return CUDA_SUCCESS;
}

CUresult run_rows(const Launch& launch) {
  const Operands operands = launch.operands(Variant(launch).has_wide_index);
  if (const CUresult wrong = check(launch, operands)) return wrong;
  if (const std::string wrong = wrong_count(launch); !wrong.empty()) return illegal(launch, wrong);
  const std::int64_t elements = launch.word(block_places::reduced);
  return for_rows(launch, [&](std::int64_t row) {
    Total total;
    loops_of(launch).fold->begin(total.accumulator, 1);
    return fold(launch, operands, row, 0, elements, total.accumulator) &&
           apply(launch, operands, row, 0, elements, total);
  });
}

/// The partial results, [split][row]; null where they are not in live memory.
std::byte* partials_of(const Launch& launch) {
  const auto count = static_cast<std::size_t>(launch.grid_y * launch.word(block_places::kept));
  return state().memory.find(launch.more[0], count * loops_of(launch).fold->accumulator_size,
                             launch.device);
}

/// Calls f(row, split, begin, end, partial) for all parts of rows; the last is that of split 0.
template <class F>
CUresult for_parts(const Launch& launch, const Operands& operands, const F& f) {
  if (const CUresult wrong = check(launch, operands)) return wrong;
  std::byte* const partial = partials_of(launch);
  if (!partial) return illegal(launch, "the partial results are not in live memory");
  const std::int64_t chunk = launch.word(block_places::chunk);
  return for_rows(launch, [&](std::int64_t row) {
    for (std::int64_t split = 0; split < launch.grid_y; ++split) {
      const std::int64_t end = std::min((split + 1) * chunk, launch.word(block_places::reduced));
      if (!f(row, split, split * chunk, end, partial)) return false;
    }
    return true;
  });
}

std::byte* slot(const Launch& launch, std::byte* partial, std::int64_t split, std::int64_t row) {
  const auto place = static_cast<std::size_t>(split * launch.word(block_places::kept) + row);
  return partial + place * loops_of(launch).fold->accumulator_size;
}

CUresult run_partial(const Launch& launch) {
  const Operands operands = launch.operands(Variant(launch).has_wide_index, false);
  const auto part = [&](std::int64_t row, std::int64_t split, std::int64_t begin, std::int64_t end,
                        std::byte* partial) {
    std::byte* const to = slot(launch, partial, split, row);
    loops_of(launch).fold->begin(to, 1);
    return fold(launch, operands, row, begin, end, to);
  };
  return for_parts(launch, operands, part);
}

CUresult run_apply(const Launch& launch) {
  const Operands operands = launch.operands(Variant(launch).has_wide_index);
  const auto part = [&](std::int64_t row, std::int64_t, std::int64_t begin, std::int64_t end,
                        std::byte* partial) {
    Total total;
    loops_of(launch).fold->begin(total.accumulator, 1);
    for (std::int64_t s = 0; s < launch.grid_y; ++s) {
      loops_of(launch).fold->merge(total.accumulator, slot(launch, partial, s, row), 1);
    }
    return apply(launch, operands, row, begin, end, total);
  };
  return for_parts(launch, operands, part);
}

}  // namespace

std::span<const Kernel> rows_kernels() {
  static constexpr auto rank = [](const std::vector<int>& arguments) { return arguments[0] + 1; };
  static constexpr Kernel kernels[] = {
      {"rows", "rows", 6, 512, rank, {}, run_rows},
      {"rows", "rows_partial", 5, 512, rank, {sizeof(void*)}, run_partial},
      {"rows", "rows_apply", 5, 512, rank, {sizeof(void*)}, run_apply}};
  return kernels;
}

}  // namespace quarry::fake
