// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "backend/cuda/launch/grid.hpp"
#include "backend/cuda/launch/launch.hpp"
#include "backend/cuda/launch/parted.hpp"
#include "backend/cuda/launch/tiles.hpp"
#include "kernels/words.hpp"

namespace quarry::backend::cuda {
namespace {

void launch_flat(const Launcher& launcher, int width) {
  const KernelCall& call = launcher.call;
  const int backwards = launcher.backwards();
  const kernels::program& program = *call.program;
  const std::span sizes(program.itemsize, static_cast<std::size_t>(program.operands()));
  const auto inputs = sizes.subspan(static_cast<std::size_t>(program.outputs));
  const int of_thread = width * vectors_of_thread(program.stores, width, inputs);
  launcher.run_early(FlatMap{width}, {flat_grid(call.kept, of_thread), 1, flat_threads, 1},
                     parameter_block(call, false, call.reduced), backwards);
}

/// Those that an operand has; of others the elements are the same ones.
std::int64_t distinct_elements(const KernelCall& call, std::size_t operand) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < call.rank(); ++d) {
    if (call.operands[operand].strides[d] != 0) count *= call.shape[d];
  }
  return count;
}

/// Whether a kernel with `threads` in a block, which reads its inputs as `wide` says, copies rows
/// of one axis, so that it can check their positions: kernels/check.cuh.
bool copies_rows(const kernels::program& program, int wide, unsigned threads) {
  if (program.rows_at < 0 || program.operands() != 3) return false;
  const int side = program.rows_at == 1 ? 2 : 1;  // behind the output; the other one has positions
  return wide == 1 << (side - program.outputs) && threads % 32 == 0;
}

/// The parameters of a kernel that makes the check itself, if it can, or leaves it to one of its
/// own. With `word` what is queued behind it looks at what it leaves there.
ParameterBlock checking_block(const Launcher& launcher, bool can_check, void** word = nullptr) {
  const KernelCall& call = launcher.call;
  can_check = can_check && call.check && call.is_new;
  if (std::uint32_t* const counter = can_check ? launcher.workspace.counter() : nullptr) {
    const auto k = static_cast<std::size_t>(call.program->rows_at);
    if (void* const place = call.check->place(*call.check_stream, call.operands[k].data,
                                              distinct_elements(call, k), word)) {
      ParameterBlock block = parameter_block(call, true, reinterpret_cast<std::int64_t>(place));
      block[kernels::block_places::reduced] = reinterpret_cast<std::uint64_t>(counter);
      return block;
    }
  }
  return parameter_block(call, true, call.word_of_check());
}

/// Of a kernel along rows.
ParameterBlock checked_block(const Launcher& launcher, int wide, unsigned threads) {
  return checking_block(launcher, copies_rows(*launcher.call.program, wide, threads));
}

/// A kernel whose threads are along rows: `Map` is its variant.
template <class Map>
void launch_rows(const Launcher& launcher, const VectorAccess& vectors, std::int64_t lead) {
  const KernelCall& call = launcher.call;
  const std::int64_t columns = call.shape.back();
  const StridedGeometry g =
      strided_geometry({.columns = columns,
                        .rows = call.kept / columns,
                        .span = call.span,
                        .lead = lead,
                        .operands = call.program->outputs - 1 + launcher.distinct_inputs(),
                        .vector_width = vectors.width},
                       launcher.multiprocessors());
  const Map variant{.rank = static_cast<int>(call.rank()),
                    .index_bytes = g.wide_index ? 8 : 4,
                    .rows = g.rows_a_thread,
                    .width = vectors.width,
                    .wide = vectors.wide};
  int order = launcher.backwards() != 0 ? kernels::blocks_backwards : 0;
  const auto columns_of_block = static_cast<std::int64_t>(g.block_x) * vectors.width;
  if (std::uint64_t{g.grid_x} * g.grid_y <= 0xffffffff &&
      repeats_rows(launcher.operands, call.shape, columns_of_block, launcher.cache())) {
    order |= kernels::blocks_rows_first;
  }
  launcher.run_early(variant, {g.grid_x, g.grid_y, g.block_x, g.block_y},
                     checked_block(launcher, vectors.wide, g.block_x * g.block_y), order);
}

void launch_across(const Launcher& launcher, const VectorsAcross& vectors) {
  const KernelCall& call = launcher.call;
  const AcrossGeometry g = across_geometry(call.kept, call.span, vectors.width,
                                           call.program->copies ? kernels::across_copies : 1);
  const AcrossMap variant{.rank = static_cast<int>(call.rank()),
                          .index_bytes = g.wide_index ? 8 : 4,
                          .width = vectors.width,
                          .wide = vectors.wide,
                          .flat = vectors.flat};
  const int backwards = launcher.backwards();
  launcher.run_early(variant, {g.grid, 1, flat_threads, 1},
                     checked_block(launcher, vectors.wide, flat_threads), backwards);
}

std::optional<Tiles> tiles_of(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  if (!call.any_order || call.has_sides()) return std::nullopt;
  return tiles_of(launcher.operands, call.shape, launcher.multiprocessors());
}

void launch_tiled(const Launcher& launcher, Tiles& tiles) {
  KernelCall call(*launcher.call.program);
  call.kept = launcher.call.kept;
  call.shape = tiles.shape;
  std::ranges::move(tiles.operands, call.operands.begin());
  std::ranges::copy(launcher.call.scalars, call.scalars.begin());
  const int backwards = launcher.backwards() != 0 ? kernels::blocks_backwards : 0;
  launcher.run_ahead(launcher.find(tiles.variant), {tiles.count, 1, tile_threads, 1},
                     parameter_block(call, true, call.reduced), backwards, tiles.tiling);
}

/// Returns false unless one constant is stored into rows of a dense output.
bool launch_masked_rows(const Launcher& launcher) {
  constexpr std::int64_t most_columns = std::int64_t{1} << 25;
  const KernelCall& call = launcher.call;
  const kernels::program& program = *call.program;
  if (program.stores != kernels::stored_elements::one_constant) return false;
  if (call.rank() != 2 || call.shape[1] >= most_columns) return false;
  if (!launcher.operands.has_dense_rows(0, call.shape[1])) return false;
  const std::uint32_t size = program.itemsize[0];
  if (!std::has_single_bit(size) || size > 16) return false;
  if (launcher.operands.address(0) % size != 0) return false;
  for (std::size_t k = 1; k < call.operands.size(); ++k) {
    if (call.operands[k].strides[1] != 0) return false;
  }
  const std::int64_t row_bytes = call.shape[1] * size;
  const MaskedRowsGeometry g =
      masked_rows_geometry(call.shape[0], row_bytes, launcher.multiprocessors());
  if (g.walk.groups == 0) {  // map_strided is as fast with rows of whole vectors
    constexpr std::int64_t most_elements = (std::int64_t{1} << 31) - (1 << 20);
    const bool is_whole = row_bytes % 16 == 0 && launcher.operands.address(0) % 16 == 0;
    if (is_whole || call.kept >= most_elements) return false;
  }
  launcher.run_early(MaskedRows{}, {g.grid, 1, flat_threads, 1},
                     parameter_block(call, true, call.reduced), g.walk);
  return true;
}

/// Returns false unless its vectors are wider than those of `width` elements.
bool launch_unaligned(const Launcher& launcher, int width) {
  const CallOperands& operands = launcher.operands;
  const std::int64_t columns = launcher.call.shape.back();
  const VectorAccess vectors =
      unaligned_map_vectors(operands, launcher.call.kept / columns, columns, width);
  if (vectors.width <= width) return false;
  const std::int64_t lead = unaligned_lead(operands.itemsizes[0], columns, vectors.width);
  if (operands.is_side(0))
    launch_rows<ScatterRows>(launcher, vectors, lead);
  else
    launch_rows<UnalignedMap>(launcher, vectors, lead);
  return true;
}

void launch_singles(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const VectorAccess vectors = aligned_vectors(launcher.operands);
  const std::int64_t of_block =
      std::int64_t{flat_threads} * vectors.width * kernels::scatter_vectors;
  const auto blocks = static_cast<unsigned>(divide_up(call.kept, of_block));
  // those that are there at once: each waits for the counter of the check
  const bool can_check = call.program->rows_at > 0 && call.program->operands() == 2 &&
                         blocks <= 4 * static_cast<unsigned>(launcher.multiprocessors());
  void* word = nullptr;
  const ParameterBlock block = checking_block(launcher, can_check, &word);
  launcher.run_early(ScatterSingles{vectors.width, vectors.wide}, {blocks, 1, flat_threads, 1},
                     block, word);
  if (word) call.check->launched();
}

/// Whether rows are a few bytes, such as the channels of a pixel, of which threads have no vectors,
/// and so many that two more launches are worth it.
bool has_short_rows(const Launcher& launcher) {
  constexpr std::int64_t most_bytes = 16, word = 4, enough = 1 << 24;
  const KernelCall& call = launcher.call;
  if (call.rank() != 2 || !call.any_order || call.check || call.has_sides()) return false;
  const std::int64_t columns = call.shape[1];
  const std::int64_t size =
      *std::min_element(call.program->itemsize, call.program->itemsize + call.operands.size());
  if (size > 2 || columns * size >= most_bytes || call.kept * size < enough) return false;
  const std::int64_t width = map_vectors(launcher.operands, columns).width;
  return size == 1 ? width <= word : width == 1;
}

/// Of a map of two axes: the inputs that are the same in every row, but not constant. None if an
/// operand is neither that nor dense, or constant, or has elements that are no words.
std::vector<std::size_t> repeated_rows(const Launcher& launcher) {
  constexpr std::uint32_t most = 16;
  const KernelCall& call = launcher.call;
  std::vector<std::size_t> repeated;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    const Strides& strides = call.operands[k].strides;
    const bool is_input = k >= launcher.operands.outputs, is_same = is_input && strides[0] == 0;
    if (is_same && strides[1] == 0) continue;
    const std::uint32_t size = call.program->itemsize[k];
    const bool is_known = is_same ? std::has_single_bit(size) && size <= most
                                  : launcher.operands.has_dense_rows(k, call.shape[1]);
    if (!is_known) return {};
    if (is_same) repeated.push_back(k);
  }
  return repeated;
}

/// `rows` of `columns` elements, from element `first` of the outputs on.
KernelCall part_of(const KernelCall& call, std::int64_t first, std::int64_t rows,
                   std::int64_t columns) {
  KernelCall part = call;
  part.shape = {rows, columns};
  part.kept = rows * columns;
  for (Operand& operand : part.operands) {
    if (operand.strides[0] == 0) continue;
    operand.data += first * operand.strides[1];
    operand.strides[0] = columns * operand.strides[1];
  }
  return part;
}

void launch_singly(const Launcher& launcher) {
  launch_rows<StridedMap>(launcher, {}, lead_of(launcher.operands, launcher.call.shape.back()));
}

/// Writes input k, the same in every row of a map of two axes, to `place`, as often as `elements`
/// have it.
void repeat_row(const Launcher& launcher, std::size_t k, std::byte* place, std::int64_t elements) {
  const KernelCall& call = launcher.call;
  const std::int64_t columns = call.shape[1], size = call.program->itemsize[k];
  KernelCall copy(kernels::copy_program_of(static_cast<std::size_t>(size)));
  copy.shape = {elements / columns, columns};
  copy.kept_rank = 2, copy.kept = elements, copy.span = call.span, copy.any_order = true;
  copy.is_captured = call.is_captured;
  copy.operands[0] = {place, {columns * size, size}};
  copy.operands[1] = call.operands[k];
  launch_singly(launcher.with(copy));
}

/// Short rows beside inputs that are the same in every row: these are repeated in memory first, so
/// that rows are long and of whole vectors. Returns false unless that is faster and there is memory
/// for it.
bool launch_repeated(const Launcher& launcher) {
  constexpr std::int64_t long_row = 2048, vector = 16;  // elements
  if (&launcher.workspace == &no_workspace() || !has_short_rows(launcher)) return false;
  const KernelCall& call = launcher.call;
  const std::vector<std::size_t> repeated = repeated_rows(launcher);
  if (repeated.empty()) return false;
  const std::int64_t columns = call.shape[1], whole = std::lcm(columns, vector),
                     row = divide_up(long_row, whole) * whole;
  std::int64_t bytes = 0;
  for (const std::size_t k : repeated) bytes += row * call.program->itemsize[k];
  std::byte* place = launcher.try_take(static_cast<std::size_t>(bytes));
  if (!place) return false;
  const std::int64_t rows = call.kept / row, rest = call.kept - rows * row;
  KernelCall most = part_of(call, 0, rows, row);
  for (const std::size_t k : repeated) {
    const std::int64_t size = call.program->itemsize[k];
    repeat_row(launcher, k, place, row);
    most.operands[k] = {place, {0, size}};
    place += row * size;
  }
  launch_map(launcher.with(most));
  if (rest > 0) launch_singly(launcher.with(part_of(call, rows * row, rest / columns, columns)));
  return true;
}

/// Dense operands that are not aligned alike have no vectors of map_flat.
void launch_dense(const Launcher& launcher) {
  const int width = vector_width(launcher.operands);
  const auto bytes = static_cast<std::uint32_t>(width) * launcher.operands.itemsizes[0];
  if (bytes < 8 && launch_unaligned(launcher, width)) return;
  launch_flat(launcher, width);
}

}  // namespace

/// Where operands are not dense, the kernel with the widest vectors: of rows that are whole ones,
/// of all rows as one, of rows that begin at any element. Side operands have rows as one only where
/// they are copied.
void launch_map(const Launcher& launcher) {
  if (launcher.call.is_flat()) return launch_dense(launcher);
  if (launch_masked_rows(launcher) || launch_parted(launcher)) return;
  if (launch_repeated(launcher)) return;
  const bool is_along_one_axis = launcher.call.rank() == 1;
  if (is_along_one_axis && launcher.operands.is_side(0) && launcher.operands.last_stride(0) == 0) {
    return launch_singles(launcher);
  }
  if (std::optional<Tiles> tiles = tiles_of(launcher)) return launch_tiled(launcher, *tiles);
  const CallOperands& operands = launcher.operands;
  const Shape& shape = launcher.call.shape;
  const VectorAccess aligned = map_vectors(operands, shape.back());
  const bool copies = launcher.call.program->copies && !operands.is_side(0);
  if (copies || !launcher.call.has_sides()) {
    const VectorsAcross across = vectors_across(operands, shape);
    const std::int64_t of_block = std::int64_t{flat_threads} * across.width;
    if (across.width > aligned.width &&
        !repeats_rows(operands, shape, of_block, launcher.cache())) {
      return launch_across(launcher, across);
    }
  }
  if (launch_unaligned(launcher, aligned.width)) return;
  const std::int64_t lead = lead_of(operands, shape.back());
  if (launcher.call.program->is_side(0)) return launch_rows<ScatterMap>(launcher, aligned, lead);
  launch_rows<StridedMap>(launcher, aligned, lead);
}

}  // namespace quarry::backend::cuda
