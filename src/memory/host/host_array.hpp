// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/host_array.hpp>

namespace quarry::memory {

/// Throws LogicError for a host array at a null address.
void require_address(const HostRef& host);

}  // namespace quarry::memory
