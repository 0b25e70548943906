// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>
#include <quarry/memory/write_log.hpp>

#include <cstddef>

/// The checked mode, QUARRY_CHECK=1: what was written where, in the order of the calls. Addresses
/// tell arrays apart, whatever buffers they belong to.
namespace quarry::memory {

/// Throws LogicError if QUARRY_CHECK is neither 0 nor 1.
bool checked_mode();

/// Elements of one array.
struct Elements {
  const std::byte* data;
  Layout layout;
  std::size_t itemsize;
};
void log_write(Elements written);

/// To be called before a write is queued.
inline void note_write(const std::byte* data, const Layout& layout, std::size_t itemsize) {
  if (checked_mode()) log_write({data, layout, itemsize});
}
inline void note_write(const void* data, std::size_t bytes) {
  if (checked_mode()) {
    log_write({static_cast<const std::byte*>(data), {Shape{bytes}, Strides{1}}, 1});
  }
}

/// Whether elements of `read` were written after the first `count` writes. Of very old writes
/// nothing is known.
bool written_since(std::uint64_t count, const Elements& read);

}  // namespace quarry::memory
