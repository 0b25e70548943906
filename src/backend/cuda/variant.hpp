// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

namespace quarry::backend::cuda {

/// Which instantiation of a program's kernels: everything but the program that is in the kernel's
/// name.
struct Variant {
  enum class Kind : std::uint8_t { map_flat, map_strided, reduce, reduce_finish };
  Kind kind;
  std::uint8_t width = 1;         ///< elements of one access
  std::uint8_t rows = 0;          ///< map_strided: rows a thread
  std::uint8_t rank = 0;          ///< of the map, or kept axes
  std::uint8_t reduced_rank = 0;  ///< reduced axes
  bool wide_index = false;
  bool along_reduced = false;
  std::uint16_t wide =
      0;  ///< which inputs are read by vectors along the last axis; not of map_flat

  /// Different for different variants.
  constexpr std::uint64_t key() const {
    const auto at = [](auto value, int shift) {
      return static_cast<std::uint64_t>(value) << shift;
    };
    return at(kind, 0) | at(width, 8) | at(rows, 16) | at(rank, 24) | at(reduced_rank, 32) |
           at(wide_index, 40) | at(along_reduced, 41) | at(wide, 42);
  }
};

}  // namespace quarry::backend::cuda
