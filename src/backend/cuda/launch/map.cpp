// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>

#include "backend/cuda/launch/grid.hpp"
#include "backend/cuda/launch/launch.hpp"
#include "backend/cuda/launch/tiles.hpp"

namespace quarry::backend::cuda {
namespace {

void launch_flat(const Launcher& launcher, int width) {
  const KernelCall& call = launcher.call;
  const int backwards = launcher.backwards();
  launcher.run_early(FlatMap{width}, {flat_grid(call.kept, width), 1, flat_threads, 1},
                     parameter_block(call, false, call.reduced), backwards);
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
  const int backwards = launcher.backwards();
  launcher.run_early(variant, {g.grid_x, g.grid_y, g.block_x, g.block_y},
                     parameter_block(call, true, call.reduced), backwards);
}

bool has_sides(const KernelCall& call) {
  const kernels::own_axes* const own = call.program->own;
  return std::any_of(own, own + call.program->operands(), [](auto axes) { return axes.count > 0; });
}

void launch_across(const Launcher& launcher, const VectorsAcross& vectors) {
  const KernelCall& call = launcher.call;
  const AcrossGeometry g = across_geometry(call.kept, call.span, vectors.width);
  const AcrossMap variant{.rank = static_cast<int>(call.rank()),
                          .index_bytes = g.wide_index ? 8 : 4,
                          .width = vectors.width,
                          .wide = vectors.wide,
                          .flat = vectors.flat};
  const int backwards = launcher.backwards();
  launcher.run_early(variant, {g.grid, 1, flat_threads, 1},
                     parameter_block(call, true, call.reduced), backwards);
}

std::optional<Tiles> tiles_of(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  if (!call.any_order || has_sides(call)) return std::nullopt;
  return tiles_of(launcher.operands, call.shape, launcher.multiprocessors());
}

void launch_tiled(const Launcher& launcher, Tiles& tiles) {
  KernelCall call(*launcher.call.program);
  call.kept = launcher.call.kept;
  call.shape = tiles.shape;
  std::ranges::move(tiles.operands, call.operands.begin());
  std::ranges::copy(launcher.call.scalars, call.scalars.begin());
  const int backwards = launcher.backwards();
  launcher.run_early(tiles.variant, {tiles.count, 1, tile_threads, 1},
                     parameter_block(call, true, call.reduced), tiles.tiling, backwards);
}

/// Returns false unless its vectors are wider than those of `width` elements.
bool launch_unaligned(const Launcher& launcher, int width) {
  const CallOperands& operands = launcher.operands;
  const std::int64_t columns = launcher.call.shape.back();
  const VectorAccess vectors = unaligned_map_vectors(operands, columns, width);
  if (vectors.width <= width) return false;
  const std::int64_t lead = unaligned_lead(operands.itemsizes[0], columns, vectors.width);
  if (operands.is_side(0))
    launch_rows<ScatterRows>(launcher, vectors, lead);
  else
    launch_rows<UnalignedMap>(launcher, vectors, lead);
  return true;
}

/// The offsets of all places of the output.
kernels::scatter_window places_of(const KernelCall& call) {
  const kernels::own_axes own = call.program->own[0];
  kernels::scatter_window all{0, call.program->itemsize[0]};
  for (int s = own.first; s < own.first + own.count; ++s) {
    const auto& axis = call.scalars[static_cast<std::size_t>(s)].word;  // kernels::side_axis
    const auto last = static_cast<std::int64_t>((axis[0] - 1) * axis[1]);
    if (last < 0) all.first += last;
    all.bytes += static_cast<std::uint64_t>(last < 0 ? -last : last);
  }
  return all;
}

/// In how many passes elements are written to places that have so many bytes together. A pass reads
/// all positions and values, and writes what belongs to a part that the cache has. An element that
/// is written by itself takes a read and a write of its sector, as long as ten passes.
std::int64_t scatter_passes(const Launcher& launcher, std::uint64_t bytes) {
  constexpr std::int64_t most = 10, many = std::int64_t{1} << 22;
  const std::int64_t part = launcher.cache() / 2;
  if (!launcher.call.program->is_at_one_place || launcher.call.kept < many || part == 0) return 1;
  const std::int64_t passes = divide_up(static_cast<std::int64_t>(bytes), part);
  return passes > most ? 1 : passes;
}

void launch_singles(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const VectorAccess vectors = aligned_vectors(launcher.operands);
  const ScatterSingles variant{vectors.width, vectors.wide};
  const std::int64_t of_block =
      std::int64_t{flat_threads} * vectors.width * kernels::scatter_vectors;
  const auto grid = static_cast<unsigned>(divide_up(call.kept, of_block));
  const ParameterBlock block = parameter_block(call, true, call.reduced);
  const auto run = [&](const kernels::scatter_window& window) {
    launcher.run_early(variant, {grid, 1, flat_threads, 1}, block, window);
  };
  const kernels::scatter_window all = places_of(call);
  const std::int64_t passes = scatter_passes(launcher, all.bytes);
  if (passes == 1) return run({std::numeric_limits<std::int64_t>::min(), ~std::uint64_t{0}});
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const auto cut = [&](std::int64_t n) {
      return static_cast<std::int64_t>(all.bytes) * n / passes;
    };
    run({all.first + cut(pass), static_cast<std::uint64_t>(cut(pass + 1) - cut(pass))});
  }
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
/// of all rows as one, of rows that begin at any element.
void launch_map(const Launcher& launcher) {
  if (launcher.call.is_flat()) return launch_dense(launcher);
  const bool is_along_one_axis = launcher.call.rank() == 1;
  if (is_along_one_axis && launcher.operands.is_side(0) && launcher.operands.last_stride(0) == 0) {
    return launch_singles(launcher);
  }
  if (std::optional<Tiles> tiles = tiles_of(launcher)) return launch_tiled(launcher, *tiles);
  const CallOperands& operands = launcher.operands;
  const Shape& shape = launcher.call.shape;
  const VectorAccess aligned = map_vectors(operands, shape.back());
  if (!has_sides(launcher.call)) {
    const VectorsAcross across = vectors_across(operands, shape);
    if (across.width > aligned.width) return launch_across(launcher, across);
  }
  if (launch_unaligned(launcher, aligned.width)) return;
  const std::int64_t lead = lead_of(operands, shape.back());
  if (launcher.call.program->is_side(0)) return launch_rows<ScatterMap>(launcher, aligned, lead);
  launch_rows<StridedMap>(launcher, aligned, lead);
}

}  // namespace quarry::backend::cuda
