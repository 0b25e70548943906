// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include "backend/cuda/driver/driver.hpp"

/// Whether the driver can be used at all.
namespace quarry::backend::cuda {

struct DriverStatus {
  bool available = false;
  std::string why;    ///< one sentence, empty when available
  std::string error;  ///< CUDA_ERROR_NAME (code) when the driver itself failed
  int version = 0;    ///< 1000 * major + 10 * minor
  int devices = 0;
};

/// Initialises the driver of `table` and counts its devices.
DriverStatus probe(const DriverTable& table);
/// The same for the installed driver, once a process.
const DriverStatus& driver_status();

}  // namespace quarry::backend::cuda
