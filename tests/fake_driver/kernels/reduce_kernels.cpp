// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include <quarry/kernels/access.hpp>

#include "fake_driver/kernels/reduction.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

using kernels::block_places;

/// The arguments of reduce<PROGRAM, ...>.
struct Variant {
  explicit Variant(const Launch& launch)
      : kept_rank(launch.argument(0)),
        reduced_rank(launch.argument(1)),
        along(launch.argument(3)),
        has_wide_index(launch.argument(2) == 8),
        width(launch.argument(4)),
        wide(launch.argument(5)) {}
  int kept_rank, reduced_rank;
  int along;  ///< kernels/reduce_body.cuh
  bool has_wide_index;
  int width, wide;

  bool has_pieces = along == 3, is_tile = along >= 4, is_shifted = along == 2;
  bool is_ragged = along == -2, is_run = along == -3;
  bool is_along = along == 1 || is_shifted || is_ragged || is_run;
  bool is_folded = along == -1 || along == -5, is_unaligned = along == -4 || along == -5;

  /// Whether rows begin as many elements from a vector in all inputs.
  bool begins_anywhere() const { return is_shifted || is_ragged || is_run; }
  /// Outputs that a thread computes, and the axis along which its vectors are.
  int outputs() const { return is_along || has_pieces ? 1 : width; }
  /// The vectors of a row of `columns` outputs.
  std::int64_t vectors(std::int64_t columns) const {
    return (columns + (is_unaligned ? outputs() - 1 : 0)) / outputs();
  }
  int vector_axis(const Launch& launch) const {
    return is_along || has_pieces ? launch.rank() - 1 : kept_rank - 1;
  }
};

/// Of folded rows: what the strides of the output, which is not written, say.
struct Folded {
  Folded(const Launch& launch, const Operands& operands)
      : is_short(Variant(launch).vectors(operands.extent(launch.argument(0) - 1)) <
                 kernels::short_row),
        row(operands.extent(launch.argument(0) - 1)),
        rows(kernels::folded_rows::of(operands.stride(0, launch.argument(0) - 1),
                                      operands.stride(0, launch.rank() - 1))) {}
  /// How many elements an output has in a folded row.
  std::int64_t parts() const { return row / rows.row * (rows.group / rows.columns); }
  /// The output that an element of the kept axes belongs to, and its number among those of it.
  std::pair<std::int64_t, std::int64_t> output_of(std::int64_t element) const {
    const std::int64_t in_row = element % row % rows.row, fold = element % row / rows.row;
    const std::int64_t part = in_row % rows.group / rows.columns;
    const std::int64_t groups = element / row * (rows.row / rows.group) + in_row / rows.group;
    return {groups * rows.columns + in_row % rows.columns,
            fold * (rows.group / rows.columns) + part};
  }
  /// Of the accumulator of an element of `kept` ones, which short rows have together.
  std::int64_t place(std::int64_t kept, std::int64_t element, std::int64_t split) const {
    const auto [output, part] = output_of(element);
    const std::int64_t in_split = is_short ? 0 : part, of_split = is_short ? 1 : parts();
    return (split * of_split + in_split) * (kept / parts()) + output;
  }
  /// Folds the elements behind all whole rows that the split takes; false if an offset wraps.
  bool fold_rest(const Launch& launch, const Operands& operands, const Operands::Offsets& base,
                 std::int64_t split, void* accumulator) const {
    const int axis = launch.rank() - 1;
    const std::int64_t last = operands.extent(axis),
                       others = launch.word(block_places::reduced) / last;
    for (std::int64_t n = split; n < others; n += launch.grid_y) {
      Operands::Offsets at = base;
      operands.advance(at, n, launch.argument(0), axis);
      for (int k = launch.program->outputs; k < operands.count(); ++k) {
        at[std::size_t(k)] += last * operands.stride(k, axis);
      }
      if (!fold(launch, operands, at, accumulator, 0, 1)) return false;
    }
    return true;
  }
  bool is_short;
  std::int64_t row;
  kernels::folded_rows rows;
};

/// The part of one output that the blocks of one split compute.
bool reduce_output(const Launch& launch, const Operands& operands, std::int64_t output,
                   std::int64_t split, std::byte* partial) {
  const std::int64_t kept = launch.word(block_places::kept),
                     reduced = launch.word(block_places::reduced),
                     chunk = launch.word(block_places::chunk);
  Operands::Offsets base = operands.start();
  operands.advance(base, output, 0, launch.argument(0));
  const Accumulator accumulator = new_accumulator(launch);
  const std::int64_t begin = split * chunk, end = std::min(begin + chunk, reduced);
  if (!fold(launch, operands, base, accumulator.get(), begin, end)) return false;
  std::int64_t place = split * kept + output;
  if (Variant(launch).is_folded) {
    const Folded folded(launch, operands);
    if (output % folded.row < folded.rows.rest &&
        !folded.fold_rest(launch, operands, base, split, accumulator.get())) {
      return false;
    }
    place = folded.place(kept, output, split);
    if (folded.is_short && folded.output_of(output).second > 0) {
      const auto& fold = *loops_of(launch).fold;
      fold.merge(partial + static_cast<std::size_t>(place) * fold.accumulator_size,
                 accumulator.get(), 1);
      return true;
    }
  }
  return store(launch, operands, base, accumulator.get(), place, partial);
}

/// Whether the inputs have the reduced elements side by side, in the order of the axes.
bool is_one_run(const Launch& launch, const Operands& operands, const Variant& variant) {
  for (int k = launch.program->outputs; k < operands.count(); ++k) {
    for (int axis = variant.kept_rank; axis + 1 < launch.rank(); ++axis) {
      if (operands.stride(k, axis) != operands.stride(k, axis + 1) * operands.extent(axis + 1))
        return false;
    }
  }
  return true;
}

/// Empty when the vectors of rows of `extent` elements have no others.
std::string wrong_vectors(const Variant& variant, std::int64_t extent) {
  if (variant.width == 1 || variant.begins_anywhere()) return {};
  if (variant.is_unaligned) return extent < variant.width ? "rows have no vector" : "";
  return extent % variant.width != 0 ? "vectors go beyond the axis" : "";
}

/// Empty when the geometry computes every output from every element once.
std::string wrong_geometry(const Launch& launch, const Operands& operands) {
  const Variant variant(launch);
  const std::int64_t kept = launch.word(block_places::kept),
                     reduced = launch.word(block_places::reduced),
                     chunk = launch.word(block_places::chunk);
  const std::int64_t columns = variant.kept_rank == 0 ? 1 : operands.extent(variant.kept_rank - 1);
  const std::int64_t vectors = variant.vectors(columns);
  const bool has_short_rows = !variant.is_along && !variant.is_tile && vectors < 32;
  if (has_short_rows && launch.block_x % vectors != 0) return "a block has parts of rows";
  const std::int64_t a_block = variant.is_along ? launch.block_y
                               : has_short_rows ? launch.block_y * vectors
                                                : launch.block_x;
  if (variant.is_along && !std::has_single_bit(static_cast<std::uint64_t>(launch.block_x))) {
    return "the lanes of a row are no power of two";
  }
  if (launch.block_x * launch.block_y < 32) return "a block is less than a warp";
  if (variant.is_tile) {
    std::int64_t row = 1;
    for (int axis = variant.along - 3; axis < variant.kept_rank; ++axis) {
      row *= operands.extent(axis);
    }
    const std::int64_t a_row = launch.block_x * variant.width, tiles = (row + a_row - 1) / a_row;
    if (launch.grid_x / tiles * launch.block_y * row < kept) return "too few tiles";
  } else if (launch.grid_x * a_block < (variant.is_along ? kept : kept / columns * vectors)) {
    return "the grid covers too few outputs";
  }
  std::int64_t places = reduced;
  if (variant.is_ragged) {  // of as many vectors as a row may be in, wherever it begins
    const std::int64_t row = operands.extent(launch.rank() - 1), width = variant.width;
    places = reduced / row * ((row + 2 * width - 2) / width * width);
  }
  if (chunk <= 0 || launch.grid_y * chunk < places) return "the splits cover too little";
  const bool has_several = launch.grid_y > 1 || variant.is_folded;
  if (has_several && launch.more[0] == 0) return "several splits write one output";
  if (variant.width == 1) return {};
  const int axis = variant.vector_axis(launch);
  if (variant.is_shifted && variant.reduced_rank != 1) return "rows are not of one axis";
  if (variant.is_run && !is_one_run(launch, operands, variant)) return "elements are no run";
  if (const std::string wrong = wrong_vectors(variant, operands.extent(axis)); !wrong.empty())
    return wrong;
  if (variant.outputs() == 1 && chunk % variant.width != 0) return "vectors go beyond the chunk";
  return {};
}

/// How far elements of input k are apart in its vectors.
std::uint32_t unit_of(const Launch& launch, int k, const Variant& variant) {
  const auto access =
      kernels::input_access::of(static_cast<unsigned>(variant.wide), k - launch.program->outputs);
  return launch.program->itemsize[k] * (access.has_gaps ? 2 : 1);
}

/// Whether the inputs that move are as far from aligned vectors as each other at every output.
bool are_congruent(const Launch& launch, const Operands& operands, const Variant& variant) {
  const int last = launch.rank() - 1, outputs = launch.program->outputs;
  int first = -1;
  for (int k = outputs; k < operands.count(); ++k) {
    if (!is_natural(launch, operands, k)) return false;
    const auto access = kernels::input_access::of(static_cast<unsigned>(variant.wide), k - outputs);
    const std::uint32_t size = unit_of(launch, k, variant);
    if (!access.is_wide) {
      if (operands.stride(k, last) != 0) return false;
      continue;
    }
    const bool is_in_order = operands.stride(k, last) == size && std::has_single_bit(size);
    if (!is_in_order || size * static_cast<std::uint32_t>(variant.width) > 16) return false;
    if (launch.pointer(k) % size != 0) return false;
    if (first < 0) first = k;
    const auto apart = [&](std::int64_t place, std::int64_t first_place) {
      const std::int64_t first_size = unit_of(launch, first, variant);
      return (place / size - first_place / first_size) % variant.width;
    };
    const auto address = [&](int of) { return static_cast<std::int64_t>(launch.pointer(of)); };
    if (apart(address(k), address(first)) != 0) return false;
    for (int axis = 0; axis < last; ++axis) {
      if (apart(operands.stride(k, axis), operands.stride(first, axis)) != 0) return false;
    }
  }
  return first >= 0;
}

/// Whether the inputs that move along the axis are dense there, and aligned as their elements.
bool are_dense(const Launch& launch, const Operands& operands, const Variant& variant) {
  const int outputs = launch.program->outputs, axis = variant.vector_axis(launch);
  for (int k = outputs; k < operands.count(); ++k) {
    const auto access = kernels::input_access::of(static_cast<unsigned>(variant.wide), k - outputs);
    const std::int64_t apart = access.is_wide ? launch.program->itemsize[k] : 0;
    if (!is_natural(launch, operands, k) || access.has_gaps) return false;
    if (operands.stride(k, axis) != apart) return false;
  }
  return true;
}

bool has_legal_reads(const Launch& launch, const Operands& operands) {
  const Variant variant(launch);
  if (variant.is_unaligned) return are_dense(launch, operands, variant);
  if (variant.begins_anywhere()) {
    return are_congruent(launch, operands, variant);
  }
  const int axis = variant.vector_axis(launch);
  return has_legal_vectors(launch, operands, launch.program->outputs, variant.width, variant.wide,
                           axis);
}

CUresult run_reduce(const Launch& launch) {
  const Variant variant(launch);
  const std::int64_t kept = launch.word(block_places::kept), splits = launch.grid_y;
  const std::uint64_t to = launch.more[0];
  const Operands operands = launch.operands(variant.has_wide_index, to == 0, variant.kept_rank);
  if (const std::string wrong = wrong_geometry(launch, operands); !wrong.empty())
    return illegal(launch, wrong);
  if (!has_legal_reads(launch, operands)) return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  const std::int64_t of_split =
      variant.is_folded ? Folded(launch, operands).place(kept, 0, 1) : kept;
  std::byte* const partial = to ? partial_results(launch, to, splits * of_split) : nullptr;
  if (to && !partial) return illegal(launch, "the partial results are not in live memory");
  for (std::int64_t i = 0; i < splits * kept; ++i) {
    if (!reduce_output(launch, operands, i % kept, i / kept, partial)) {
      return illegal(launch, "a 32-bit offset has wrapped");
    }
  }
  return CUDA_SUCCESS;
}

/// Empty when reduce_few computes every output from all of its elements.
std::string wrong_few(const Launch& launch, const Operands& operands) {
  const Variant variant(launch);
  const std::int64_t kept = launch.word(block_places::kept),
                     reduced = launch.word(block_places::reduced), accesses = launch.argument(6);
  if (accesses * (variant.has_pieces ? variant.width : 1) != reduced) {
    return "a thread has not all elements of its outputs";
  }
  if (!variant.has_pieces && !variant.is_tile && !variant.is_unaligned && variant.along != 0) {
    return "several threads share an output";
  }
  if (launch.grid_y != 1) return "there are several splits";
  if (variant.is_tile) return wrong_geometry(launch, operands);
  if (launch.block_y != 1) return "a block is no row of threads";
  if (kept <= 0) return "there is no output";
  return wrong_vectors(variant, operands.extent(variant.vector_axis(launch)));
}

CUresult run_few(const Launch& launch) {
  const Variant variant(launch);
  const Operands operands = launch.operands(variant.has_wide_index, true, variant.kept_rank);
  if (const std::string wrong = wrong_few(launch, operands); !wrong.empty())
    return illegal(launch, wrong);
  if (!has_legal_reads(launch, operands)) return misaligned(launch);
  if (!operands.are_inside()) return illegal(launch, "an operand is not in live memory");
  for (std::int64_t i = 0; i < launch.word(block_places::kept); ++i) {
    if (!reduce_output(launch, operands, i, 0, nullptr)) {
      return illegal(launch, "a 32-bit offset has wrapped");
    }
  }
  return CUDA_SUCCESS;
}

CUresult finish(const Launch& launch, std::int64_t splits) {
  const std::int64_t kept = launch.word(block_places::kept),
                     count = launch.word(block_places::reduced);
  const std::size_t item = loops_of(launch).fold->accumulator_size;
  const auto slot = [&](std::int64_t n) { return static_cast<std::size_t>(n) * item; };
  const Operands operands = launch.operands(true, true, launch.argument(0));
  const std::byte* const partial =
      state().memory.find(launch.more[0], slot(splits * kept), launch.device);
  if (!operands.are_inside() || !partial) {
    return illegal(launch, "an operand is not in live memory");
  }
  std::vector<char*> addresses;
  for (std::int64_t output = 0; output < kept; ++output) {
    const Accumulator accumulator = new_accumulator(launch);
    for (std::int64_t split = 0; split < splits; ++split) {
      loops_of(launch).fold->merge(accumulator.get(), partial + slot(split * kept + output), 1);
    }
    Operands::Offsets offsets = operands.start();
    operands.advance(offsets, output, 0, launch.argument(0));
    if (!operands.resolve(offsets, addresses)) return illegal(launch, "an output is outside");
    loops_of(launch).finish(addresses[0], 0, accumulator.get(), 1, count, launch.scalars());
  }
  return CUDA_SUCCESS;
}

CUresult run_finish(const Launch& launch) {
  return finish(launch, static_cast<std::int64_t>(launch.more[1]));
}

CUresult run_reduce_and_finish(const Launch& launch) {
  const Variant variant(launch);
  const auto* const arrived = reinterpret_cast<const std::uint32_t*>(
      state().memory.find(launch.more[1], sizeof(std::uint32_t), launch.device));
  if (!arrived) return illegal(launch, "the counter of blocks is not in live memory");
  if (*arrived != 0) return illegal(launch, "the counter of blocks is not 0");
  const auto lanes = static_cast<std::uint32_t>(launch.more[2]);
  if (launch.block_x * launch.block_y != 256 || !std::has_single_bit(lanes) || lanes > 256) {
    return illegal(launch, "a block has not the threads that finish");
  }
  if (variant.is_folded || variant.is_tile || launch.more[0] == 0) {
    return illegal(launch, "the partial results are not those of the outputs");
  }
  const CUresult result = run_reduce(launch);
  return result == CUDA_SUCCESS ? finish(launch, launch.grid_y) : result;
}

/// The kept and the reduced ones.
int axes_of(const std::vector<int>& arguments) { return arguments[0] + arguments[1]; }
int axes_of_slabs(const std::vector<int>& arguments) { return arguments[0] + 1; }

}  // namespace

std::span<const Kernel> reduce_kernels() {
  static constexpr Kernel kernels[] = {
      {"reduce", "reduce", 6, 256, axes_of, {sizeof(void*), sizeof(int)}, run_reduce},
      {"reduce", "reduce_few", 7, 256, axes_of, {sizeof(int)}, run_few},
      {"reduce",
       "reduce_staged",
       7,
       256,
       axes_of,
       {sizeof(void*), sizeof(int)},
       run_staged_reduction},
      {"reduce",
       "reduce_slabs",
       2,
       256,
       axes_of_slabs,
       {sizeof(kernels::slab_stages), sizeof(int)},
       run_slab_reduction},
      {"reduce",
       "reduce_and_finish",
       6,
       256,
       axes_of,
       {sizeof(void*), sizeof(void*), sizeof(int), sizeof(int)},
       run_reduce_and_finish},
      {"reduce",
       "reduce_finish",
       2,
       512,
       axes_of,
       {sizeof(void*), sizeof(std::int64_t)},
       run_finish}};
  return kernels;
}

}  // namespace quarry::fake
