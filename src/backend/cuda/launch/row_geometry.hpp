// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "backend/cuda/launch/geometry.hpp"

/// Block shapes and grids of row programs: kernels/rows.cuh.
namespace quarry::backend::cuda {

/// The vectors of all operands, the output too, along the axis of an access: the reduced one, or
/// the last kept one.
VectorAccess row_program_vectors(const CallOperands& operands, std::size_t kept_rank,
                                 bool along_reduced, std::int64_t extent);

struct RowShape {
  std::int64_t rows, elements, span;  ///< how many rows, and how many elements each of them has
  bool along_reduced;
  int vector_width = 1;
  std::uint32_t itemsize = 4;  ///< of a result
};
struct RowGeometry {
  unsigned grid_x, block_x, block_y;
  int count;                   ///< accesses of a row that a thread keeps; 0: more than it can
  std::int64_t splits, chunk;  ///< elements [s * chunk, (s + 1) * chunk) belong to split s
  bool wide_index;
};
/// Few long rows are split over several blocks, and need partial results then.
RowGeometry row_geometry(const RowShape& shape, int multiprocessors);

}  // namespace quarry::backend::cuda
