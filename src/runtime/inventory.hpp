// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include "backend/ledger.hpp"

namespace quarry::runtime {

/// What is alive on `device`, whoever owns it, with what the library itself keeps there: memory of
/// pools, staging and its events. Waits for nothing.
backend::Inventory inventory(const Device& device);

/// What programs own on `device`: waits for all its work, gives back what the library keeps there,
/// and counts what is left. Of a pool's arrays those are the pool's blocks that they lie in.
backend::Inventory owned_inventory(const Device& device);

}  // namespace quarry::runtime
