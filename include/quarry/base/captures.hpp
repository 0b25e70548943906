// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <atomic>

namespace quarry::detail {

extern std::atomic<int> captured_streams;

/// Whether any stream's work is being captured into a graph (see GraphMemory).
inline bool is_capturing() noexcept {
  return captured_streams.load(std::memory_order_relaxed) != 0;
}

}  // namespace quarry::detail
