// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <span>

namespace quarry::memory {

/// The packed bytes of an upload that are not in memory: those of a file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Those from byte `first` on. Called by several threads at once; what it throws, the copy
  /// throws.
  virtual void read(std::size_t first, std::span<std::byte> out) const = 0;
};

}  // namespace quarry::memory
