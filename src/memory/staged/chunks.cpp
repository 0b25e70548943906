// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/chunks.hpp"

#include <algorithm>

namespace quarry::memory {

/// Small chunks first, then each twice the last one, and at the end each half of what is left.
std::vector<std::size_t> chunk_ends(std::size_t bytes, std::size_t least, std::size_t most) {
  constexpr std::size_t page = 4096;  // so that copies start at full lines
  std::vector<std::size_t> ends;
  least = std::max<std::size_t>(std::min(least, most), 1);
  std::size_t size = least;
  for (std::size_t at = 0; at < bytes; size = std::min(2 * size, most)) {
    const std::size_t left = bytes - at, half = left / 2 / page * page;
    at += std::min(left, std::min(size, std::max(half, least)));
    ends.push_back(at);
  }
  return ends;
}

/// The link reads lines slowly that were just written and are in another core's cache: at less than
/// half of its speed. In long uploads they have left it by then. Downloads that are larger than the
/// caches need not read lines before they are written.
Stores stores_for(const Walk& walk, bool up, const TransferThresholds& t) {
  const std::size_t bytes = walk.bytes();
  const bool is_nontemporal =
      up ? bytes <= (walk.is_dense() ? t.nontemporal_bytes : t.nontemporal_strided_bytes)
         : walk.is_dense() && bytes > t.nontemporal_bytes;
  return is_nontemporal ? Stores::nontemporal : Stores::cached;
}

/// Too many threads with non-temporal stores slow down the link's reads of memory; in a copy of a
/// few chunks the link reads little.
std::size_t threads_for(const Walk& walk, bool up, const TransferThresholds& t) {
  if (!walk.has_long_runs()) return t.strided_threads;
  const bool is_slowed = up && walk.is_dense() && walk.bytes() > t.chunk_bytes &&
                         stores_for(walk, up, t) == Stores::nontemporal;
  return is_slowed ? std::max<std::size_t>(t.threads * 5 / 8, 1) : t.threads;
}

/// Few enough that all threads have a part of the first chunk and of the last one.
std::size_t block_for(std::size_t bytes, const TransferThresholds& t) {
  constexpr std::size_t page = 4096, least = 4 * page, parts = 64;
  return std::min(std::max(bytes / parts / page * page, least), t.block_bytes);
}

}  // namespace quarry::memory
