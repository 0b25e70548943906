// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/block_copy.hpp>

#include <optional>
#include <string>

/// The implementation of the structured copies and of those of one-dimensional CUDA arrays.
namespace quarry::memory {

/// Bytes, rows, planes.
struct Box {
  std::size_t width, height, depth;
};

/// Where the box begins in a block, and the block's rows and planes.
struct Place {
  std::size_t x = 0, y = 0, z = 0, lod = 0, pitch = 0, height = 0;
};

/// One side of a copy under way: `name` is "Memcpy3D: the source", for errors.
struct BoxSide {
  std::string name;
  const detail::CopySide& memory;
  Place place;
  std::optional<Device> device = std::nullopt;
  std::shared_ptr<detail::ArrayState> array = nullptr;  ///< found by copy_box
};

/// Checks both sides. Without a stream in the default one, and done on return.
void copy_box(BoxSide to, BoxSide from, const Box& box, const Stream* stream, bool unaligned);

}  // namespace quarry::memory
