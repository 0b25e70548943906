// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string_view>

#include "backend/backend.hpp"
#include "memory/transfer_plan.hpp"

namespace quarry::memory {

/// Of this process, for `device`: what was set, else constants. Any thread.
TransferThresholds thresholds_of(const backend::Device& device);
void set_thresholds(const backend::Device& device, const TransferThresholds& thresholds);
TransferThresholds default_thresholds();

/// Waiting copies of dense memory below this many bytes go to the driver whatever the memory is:
/// one load, so that a small copy costs no more than the driver's call.
std::size_t driver_bytes() noexcept;

/// With QUARRY_LOG=transfer: one line to stderr for each plan, and the thresholds when they are
/// first used.
bool transfers_are_logged();
void log_plan(const backend::Device& device, std::string_view direction, const TransferPlan& plan,
              const TransferInput& input);

}  // namespace quarry::memory
