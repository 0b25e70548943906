// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

/// Boxes of bytes in blocks, and what the structured copies are compared with.
namespace quarry::test {

using Bytes = std::vector<std::uint8_t>;

struct Extent {
  std::size_t x, y, z, pitch, height;
};
struct Box {
  std::size_t width, height, depth;
};

inline std::size_t past(const Extent& e, const Box& box) {
  return ((e.z + box.depth - 1) * e.height + e.y + box.height - 1) * e.pitch + e.x + box.width;
}

/// The oracle: plain loops.
inline void copy_box(Bytes& to, const Extent& t, const Bytes& from, const Extent& f,
                     const Box& box) {
  for (std::size_t z = 0; z < box.depth; ++z) {
    for (std::size_t y = 0; y < box.height; ++y) {
      for (std::size_t x = 0; x < box.width; ++x) {
        to[((t.z + z) * t.height + t.y + y) * t.pitch + t.x + x] =
            from[((f.z + z) * f.height + f.y + y) * f.pitch + f.x + x];
      }
    }
  }
}

}  // namespace quarry::test
