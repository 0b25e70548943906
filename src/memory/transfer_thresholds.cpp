// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer_thresholds.hpp"
#include "base/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace quarry::memory {
namespace {

struct Table {
  std::mutex mutex;
  std::map<const backend::Device*, TransferThresholds> set;
  std::set<const backend::Device*> logged;
  static Table& instance() {
    static auto* const table = new Table;
    return *table;
  }
};

/// The smallest of all devices'.
std::atomic<std::size_t> least_staged_bytes = TransferThresholds{}.staged_bytes;

std::string layout_class(const TransferPlan& plan) {
  if (plan.host.is_dense()) return "dense";
  return fmt::format("runs of {} bytes in {} axes", plan.host.run, plan.host.shape.size());
}

std::string text_of(const TransferThresholds& t) {
  return fmt::format(
      "staged from {} bytes (taken at once up to {}), {} slots of {}, {} threads ({} for strided "
      "memory), rows from {}, pieces from {}",
      t.staged_bytes, t.taken_bytes, t.slots, t.chunk_bytes, t.threads, t.strided_threads,
      t.row_bytes, t.piece_bytes);
}

}  // namespace

TransferThresholds default_thresholds() {
  TransferThresholds t;
  const std::size_t cores = std::thread::hardware_concurrency();
  t.threads = std::clamp<std::size_t>(cores / 2, 1, 8);
  t.strided_threads = std::clamp<std::size_t>(cores * 7 / 8, 1, 14);
  t.slots = std::max(2 * t.strided_threads, t.convoy_slots);
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

bool transfers_are_logged() {
  static const bool logged = environment::logs_transfers();
  return logged;
}

void log_plan(const backend::Device& device, std::string_view direction, const TransferPlan& plan,
              const TransferInput& input) {
  const TransferThresholds t = thresholds_of(device);
  std::string text;
  {
    Table& table = Table::instance();
    const std::lock_guard lock(table.mutex);
    if (table.logged.insert(&device).second) {
      text = fmt::format("quarry: transfers of {}: {}\n", device.info().name, text_of(t));
    }
  }
  const std::size_t threads =
      plan.host.has_long_runs() ? convoy_threads(plan.bytes, !input.down, t) : t.strided_threads;
  text += fmt::format("quarry: {} of {} bytes, {} {} memory, {}: {}{}{}\n", direction, plan.bytes,
                      input.page_locked ? "page-locked" : "pageable", layout_class(plan),
                      input.waits ? "waiting" : "queued", to_string(plan.route),
                      plan.route == Route::staged ? fmt::format(", {} threads", threads) : "",
                      plan.lands ? "" : ", and a kernel on the device");
  std::fputs(text.c_str(), stderr);
}

}  // namespace quarry::memory
