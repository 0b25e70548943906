// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <vector>

#include "memory/staged/pack.hpp"
#include "memory/staged/thresholds.hpp"

/// Division of a staged copy among buffers and threads.
namespace quarry::memory {

/// How many blocks of so many bytes hold them all; the last one may be smaller.
constexpr std::size_t blocks_of(std::size_t bytes, std::size_t block) {
  return (bytes + block - 1) / block;
}
/// Where the chunks of a copy of long runs end, of `least` to `most` bytes (the last one may be
/// smaller): so that both the link and the threads have work soon, all the time, and up to the end.
std::vector<std::size_t> chunk_ends(std::size_t bytes, std::size_t least, std::size_t most);
/// How a staged copy stores what it packs (up) or unpacks, and its number of threads.
Stores stores_for(const Walk& walk, bool up, const TransferThresholds& thresholds);
std::size_t threads_for(const Walk& walk, bool up, const TransferThresholds& thresholds);
/// Of a copy, that a thread copies at a time.
std::size_t block_for(std::size_t bytes, const TransferThresholds& thresholds);

}  // namespace quarry::memory
