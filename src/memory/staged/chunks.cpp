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

bool is_nontemporal(std::size_t bytes, bool up, const TransferThresholds& t) {
  return up && bytes <= t.nontemporal_bytes;
}

/// Too many threads with non-temporal stores slow down the link's reads of memory; in a copy of a
/// few chunks the link reads little.
std::size_t pipeline_threads(std::size_t bytes, bool up, const TransferThresholds& t) {
  if (!is_nontemporal(bytes, up, t) || bytes <= t.chunk_bytes) return t.threads;
  return std::max<std::size_t>(t.threads * 5 / 8, 1);
}

std::size_t strided_chunk(std::size_t bytes, const TransferThresholds& t) {
  constexpr std::size_t step = std::size_t{64} << 10;
  const std::size_t share = bytes / (2 * t.strided_threads) / step * step + step;
  return std::min({share, t.strided_bytes, t.chunk_bytes, bytes});
}

}  // namespace quarry::memory
