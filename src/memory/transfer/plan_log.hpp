// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"
#include "memory/transfer/transfer_plan.hpp"

namespace quarry::memory {

/// With QUARRY_LOG=transfer: one line to stderr for each plan, and the thresholds when they are
/// first used.
bool transfers_are_logged();
void log_plan(const backend::Device& device, const HostCopy& copy, const TransferInput& input,
              const TransferPlan& plan, const TransferThresholds& thresholds);

}  // namespace quarry::memory
