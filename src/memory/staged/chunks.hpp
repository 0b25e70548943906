// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <vector>

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
/// Whether a staged copy of long runs uses non-temporal stores, and its number of threads.
bool is_nontemporal(std::size_t bytes, bool up, const TransferThresholds& thresholds);
std::size_t pipeline_threads(std::size_t bytes, bool up, const TransferThresholds& thresholds);
/// Bytes of a chunk of one of short runs, so that all threads have some.
std::size_t strided_chunk(std::size_t bytes, const TransferThresholds& thresholds);

}  // namespace quarry::memory
