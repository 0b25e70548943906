// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <span>

#include <quarry/base/error.hpp>

#include "backend/cuda/check.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/cuda/geometry.hpp"

/// Maps and reductions: which variant, how many blocks, and the launch. The places of the words are
/// those of kernels/params.hpp.
namespace quarry::backend::cuda {
namespace {

struct Blocks {
  unsigned grid_x, grid_y, block_x, block_y;
};

template <class... Parameters>
void launch(CUfunction function, const Blocks& b, Stream stream, const Parameters*... parameters) {
  std::array<void*, sizeof...(Parameters)> pointers{
      const_cast<void*>(static_cast<const void*>(parameters))...};
  check_launch(driver().LaunchKernel(function, b.grid_x, b.grid_y, 1, b.block_x, b.block_y, 1, 0,
                                     static_cast<CUstream>(stream), pointers.data(), nullptr));
}

constexpr std::size_t map_head = 1, reduce_head = 3;

std::span<const std::uint64_t> pointers_of(const kernels::program& program, const Words& words) {
  return {words.data() + map_head, static_cast<std::size_t>(program.inputs) + 1};
}

StridedOperands operands_of(const kernels::program& program, const Words& words, std::size_t head,
                            int rank) {
  const auto inputs = static_cast<std::size_t>(program.inputs);
  const std::size_t shape = head + inputs + 1 + 2 * static_cast<std::size_t>(program.scalars);
  return {.pointers = {words.data() + head, inputs + 1},
          .itemsizes = program.itemsize,
          .strides = words.data() + shape + rank,
          .rank = rank};
}

std::int64_t last_extent(const StridedOperands& operands) {
  return static_cast<std::int64_t>(*(operands.strides - 1));
}

/// How one reduction runs: the same for its scratch memory and its launch.
struct ReducePlan {
  ReducePlan(const ReduceCall& call, int multiprocessors)
      : vectors(vectors_of(call)),
        geometry(reduce_geometry({.kept = call.kept,
                                  .reduced = call.reduced,
                                  .span = call.span,
                                  .along_reduced = call.along_reduced,
                                  .can_split = call.dense_output,
                                  .vector_width = vectors.width},
                                 multiprocessors)) {}

  static VectorAccess vectors_of(const ReduceCall& call) {
    if (!call.along_reduced || call.reduced_rank != 1) return {};
    const int rank = call.kept_rank + call.reduced_rank;
    return reduce_vectors(operands_of(*call.program, call.words, reduce_head, rank));
  }
  Variant variant(const ReduceCall& call) const {
    return {.kind = Variant::Kind::reduce,
            .width = static_cast<std::uint8_t>(vectors.width),
            .rank = static_cast<std::uint8_t>(call.kept_rank),
            .reduced_rank = static_cast<std::uint8_t>(call.reduced_rank),
            .wide_index = geometry.wide_index,
            .along_reduced = call.along_reduced,
            .wide = vectors.wide};
  }

  VectorAccess vectors;
  ReduceGeometry geometry;
};

void finish(const ReduceCall& call, const ReduceGeometry& geometry, const KernelTarget& target,
            void* scratch, Stream stream) {
  const CUfunction function = kernel(*call.program, {.kind = Variant::Kind::reduce_finish}, target);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(call.kept, 2147483647));
  launch(function, {blocks, 1, finish_threads, 1}, stream, call.words.data() + reduce_head,
         &scratch, &call.kept, &geometry.splits, &call.reduced);
}

}  // namespace

void CudaDevice::map(const MapCall& call, Stream stream) {
  const auto current = context_.bind();
  const int backwards = static_cast<int>(maps_.fetch_add(1, std::memory_order_relaxed) % 2);
  if (call.rank == 0) {
    map_flat(call, backwards, stream);
  } else {
    map_strided(call, backwards, stream);
  }
}

void CudaDevice::map_flat(const MapCall& call, int backwards, Stream stream) const {
  const kernels::program& program = *call.program;
  const int width = vector_width(pointers_of(program, call.words), program.itemsize);
  const Variant variant{.kind = Variant::Kind::map_flat, .width = static_cast<std::uint8_t>(width)};
  const FlatGeometry g = flat_geometry(call.size, width);
  launch(kernel(program, variant, target()), {g.grid_x, 1, flat_threads, 1}, stream,
         call.words.data(), &backwards);
}

void CudaDevice::map_strided(const MapCall& call, int backwards, Stream stream) const {
  const kernels::program& program = *call.program;
  const StridedOperands operands = operands_of(program, call.words, map_head, call.rank);
  const std::int64_t columns = last_extent(operands);
  const VectorAccess vectors = map_vectors(operands, columns);
  const StridedGeometry g = strided_geometry({.columns = columns,
                                              .rows = call.size / columns,
                                              .span = call.span,
                                              .lead = lead_of(operands, columns),
                                              .inputs = program.inputs,
                                              .vector_width = vectors.width},
                                             multiprocessors_);
  const Variant variant{.kind = Variant::Kind::map_strided,
                        .width = static_cast<std::uint8_t>(vectors.width),
                        .rows = static_cast<std::uint8_t>(g.rows_a_thread),
                        .rank = static_cast<std::uint8_t>(call.rank),
                        .wide_index = g.wide_index,
                        .wide = vectors.wide};
  launch(kernel(program, variant, target()), {g.grid_x, g.grid_y, g.block_x, g.block_y}, stream,
         call.words.data(), &backwards);
}

std::size_t CudaDevice::reduce_scratch(const ReduceCall& call) const {
  const ReduceGeometry g = ReducePlan(call, multiprocessors_).geometry;
  if (g.splits == 1) return 0;
  return static_cast<std::size_t>(g.splits) * static_cast<std::size_t>(call.kept) *
         call.program->accumulator_size;
}

void CudaDevice::reduce(const ReduceCall& call, void* scratch, Stream stream) {
  const auto current = context_.bind();
  const ReducePlan plan(call, multiprocessors_);
  const ReduceGeometry& g = plan.geometry;
  const bool is_split = g.splits > 1;
  require<LogicError>(!is_split || scratch, "a split reduction needs scratch memory");
  void* const partial = is_split ? scratch : nullptr;
  Words words = call.words;
  words[2] = static_cast<std::uint64_t>(g.chunk);
  launch(kernel(*call.program, plan.variant(call), target()),
         {g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y}, stream, words.data(),
         &partial);
  if (is_split) finish(call, g, target(), scratch, stream);
}

}  // namespace quarry::backend::cuda
