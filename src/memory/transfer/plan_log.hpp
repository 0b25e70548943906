// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string_view>

#include "backend/backend.hpp"
#include "memory/transfer/transfer_plan.hpp"

namespace quarry::memory {

/// With QUARRY_LOG=transfer: one line to stderr for each plan, and the thresholds when they are
/// first used.
bool transfers_are_logged();
void log_plan(const backend::Device& device, std::string_view direction, const TransferPlan& plan,
              const TransferInput& input);

}  // namespace quarry::memory
