// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/plan_log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <set>

#include "base/environment.hpp"
#include "memory/staged/chunks.hpp"

namespace quarry::memory {
namespace {

std::string layout_class(const Walk& walk) {
  if (walk.is_dense()) return "dense";
  return fmt::format("runs of {} bytes in {} axes", walk.run, walk.shape.size());
}

}  // namespace

bool transfers_are_logged() {
  static const bool logged = environment::logs_transfers();
  return logged;
}

void log_plan(const backend::Device& device, const HostCopy& copy, const TransferInput& input,
              const TransferPlan& plan, const TransferThresholds& t) {
  std::string text;
  {
    static auto& mutex = *new std::mutex;
    static auto& logged = *new std::set<const backend::Device*>;
    const std::lock_guard lock(mutex);
    if (logged.insert(&device).second) {
      text = fmt::format("quarry: transfers of {}: {}\n", device.info().name, to_string(t));
    }
  }
  const auto& [bytes, walk, unused] = plan.packed;
  const std::size_t threads = threads_for(walk, copy.is_up(), t);
  text += fmt::format("quarry: {} of {} bytes, {} {} memory, {}: {}{}{}\n",
                      copy.is_up() ? "upload" : "download", bytes,
                      input.page_locked ? "page-locked" : "pageable", layout_class(walk),
                      copy.waits ? "waiting" : "queued", to_string(plan.route),
                      plan.route == Route::staged ? fmt::format(", {} threads", threads) : "",
                      plan.lands ? "" : ", and a kernel on the device");
  std::fputs(text.c_str(), stderr);
}

}  // namespace quarry::memory
