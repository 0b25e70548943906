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

std::string layout_class(const TransferPlan& plan) {
  if (plan.host.is_dense()) return "dense";
  return fmt::format("runs of {} bytes in {} axes", plan.host.run, plan.host.shape.size());
}

}  // namespace

bool transfers_are_logged() {
  static const bool logged = environment::logs_transfers();
  return logged;
}

void log_plan(const backend::Device& device, std::string_view direction, const TransferPlan& plan,
              const TransferInput& input) {
  const TransferThresholds t = thresholds_of(device);
  std::string text;
  {
    static auto& mutex = *new std::mutex;
    static auto& logged = *new std::set<const backend::Device*>;
    const std::lock_guard lock(mutex);
    if (logged.insert(&device).second) {
      text = fmt::format("quarry: transfers of {}: {}\n", device.info().name, to_string(t));
    }
  }
  const std::size_t threads =
      plan.host.has_long_runs() ? pipeline_threads(plan.bytes, !input.down, t) : t.strided_threads;
  text += fmt::format("quarry: {} of {} bytes, {} {} memory, {}: {}{}{}\n", direction, plan.bytes,
                      input.page_locked ? "page-locked" : "pageable", layout_class(plan),
                      input.waits ? "waiting" : "queued", to_string(plan.route),
                      plan.route == Route::staged ? fmt::format(", {} threads", threads) : "",
                      plan.lands ? "" : ", and a kernel on the device");
  std::fputs(text.c_str(), stderr);
}

}  // namespace quarry::memory
