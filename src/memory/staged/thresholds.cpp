// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace quarry::memory {
namespace {

struct Table {
  std::mutex mutex;
  std::map<const backend::Device*, TransferThresholds> set;
  static Table& instance() {
    static auto* const table = new Table;
    return *table;
  }
};

/// The smallest of all devices'.
std::atomic<std::size_t> least_staged_bytes = TransferThresholds{}.staged_bytes;

}  // namespace

std::string to_string(const TransferThresholds& t) {
  return fmt::format(
      "staged from {} bytes (taken at once up to {}), {} buffers of {}, {} threads ({} for strided "
      "memory), rows from {}, pieces from {}",
      t.staged_bytes, t.taken_bytes, t.buffers, t.chunk_bytes, t.threads, t.strided_threads,
      t.row_bytes, t.piece_bytes);
}

TransferThresholds default_thresholds() {
  TransferThresholds t;
  const std::size_t cores = std::thread::hardware_concurrency();
  t.threads = std::clamp<std::size_t>(cores * 5 / 8, 1, 10);
  t.strided_threads = std::clamp<std::size_t>(cores * 7 / 8, 1, 14);
  return t;
}

TransferThresholds thresholds_of(const backend::Device& device) {
  static const TransferThresholds otherwise = default_thresholds();
  Table& table = Table::instance();
  const std::lock_guard lock(table.mutex);
  const auto found = table.set.find(&device);
  return found == table.set.end() ? otherwise : found->second;
}

void set_thresholds(const backend::Device& device, const TransferThresholds& thresholds) {
  Table& table = Table::instance();
  const std::lock_guard lock(table.mutex);
  table.set[&device] = thresholds;
  std::size_t least = TransferThresholds{}.staged_bytes;
  for (const auto& [unused, t] : table.set) least = std::min(least, t.staged_bytes);
  least_staged_bytes.store(least, std::memory_order_relaxed);
}

std::size_t driver_bytes() noexcept { return least_staged_bytes.load(std::memory_order_relaxed); }

}  // namespace quarry::memory
