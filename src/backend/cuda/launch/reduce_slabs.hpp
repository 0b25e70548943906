// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>

#include <cstdint>
#include <optional>

#include "backend/kernel_call.hpp"

/// Reductions of short rows of outputs, one behind the other along the reduced axis, by way of
/// shared memory: kernels/reduce_slabs.cuh.
namespace quarry::backend::cuda {

/// `lines` times `count` slabs of `rows` rows with `columns` outputs each, and how many bytes apart
/// slabs, rows and elements are.
struct Slabs {
  std::int64_t lines, count, rows, columns;
  std::int64_t slab_pitch, row_pitch, unit;
  std::int64_t itemsize;

  std::int64_t bytes() const { return (rows - 1) * row_pitch + (columns - 1) * unit + itemsize; }
};
/// Those of a call with one input; none where these are not one behind the other in memory, or
/// where much lies between them.
std::optional<Slabs> slabs_of(const KernelCall& call);

struct SlabStages {
  kernels::slab_stages of;
  std::int64_t stages, blocks;
};
/// By which stages, and how many blocks. None where a slab is larger than a stage, or where most
/// threads would have no elements, or few.
std::optional<SlabStages> slab_stages(const Slabs& slabs, int multiprocessors);

}  // namespace quarry::backend::cuda
