// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

namespace quarry::memory {

/// Device memory that is 0 when it is allocated, which waits for that. It comes from the driver.
Resource zeroed_resource(const Device& device);

}  // namespace quarry::memory
