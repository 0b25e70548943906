// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"

/// Properties of this machine, from Linux.
namespace quarry::backend::cpu_backend {

DeviceInfo machine_info();
std::map<std::string, std::int64_t> machine_attributes();

}  // namespace quarry::backend::cpu_backend
