// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/deferred_cleanup.hpp>

#include "memory/manager_forwarding.hpp"
#include "memory/resource/deferred.hpp"

namespace quarry {

DeferredCleanup::DeferredCleanup(const Device& device)
    : device_(device), manager_(memory::defer_cleanup_of_manager(device)) {
  memory::begin_deferring(device.backend());
}

DeferredCleanup::~DeferredCleanup() { memory::end_deferring(device_.backend()); }

}  // namespace quarry
