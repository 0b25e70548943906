// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"

/// What Linux tells of this machine.
namespace quarry::backend::cpu_backend {

DeviceInfo machine_info();
std::map<std::string, std::int64_t> machine_attributes();

}  // namespace quarry::backend::cpu_backend
