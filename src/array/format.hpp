// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/dtype.hpp>
#include <quarry/base/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quarry {

/// How arrays print; the names and defaults of numpy.set_printoptions.
struct PrintOptions {
  int precision = 8;              ///< digits after the point, at most
  std::int64_t threshold = 1000;  ///< more elements than this are summarised
  std::int64_t edgeitems = 3;     ///< shown at each end of a summarised axis, 1 at least
  int linewidth = 75;
  bool suppress = false;  ///< no exponents merely because numbers are small
};

/// The elements of one axis that are shown: this many at its start and at its end. An axis shown
/// in full has them all in `leading`.
struct Corner {
  std::int64_t leading;
  std::int64_t trailing;

  friend bool operator==(const Corner&, const Corner&) = default;
};

/// What format_array shows of an array of this shape, by axis.
std::vector<Corner> corners(const Shape& shape, const PrintOptions& options);

/// The extents of an array that consists of the corners alone.
Shape shape_of(const std::vector<Corner>& corners);

/// The text of numpy.array2string, or, for an array without axes, of str() of NumPy's scalar.
/// bfloat16 prints as float16 does; a record with its fields as NumPy does, without them as raw
/// bytes. `data` is element 0 in host memory; only the corners are read.
std::string format_array(DType type, const std::byte* data, const Layout& layout,
                         const PrintOptions& options = {});

/// The same text for an array of shape `full`, of which only the corners, put together, are at
/// hand: `layout` has the shape shape_of(corners(full, options)), else throws ShapeError.
std::string format_corners(DType type, const std::byte* data, const Layout& layout,
                           const Shape& full, const PrintOptions& options = {});

}  // namespace quarry
