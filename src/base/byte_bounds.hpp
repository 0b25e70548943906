// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace quarry {

/// Those of a layout with elements, whose extents and strides are elsewhere. Throws SizeOverflow.
ByteBounds byte_bounds(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                       std::size_t itemsize);

}  // namespace quarry
