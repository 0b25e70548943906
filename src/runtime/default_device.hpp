// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <optional>
#include <string>

/// Which device a program uses that names none.
namespace quarry::runtime {

/// "cpu", "cuda" or "cuda:1" as a number of a GPU; nothing for the CPU. Throws LogicError.
std::optional<int> parse_device_name(const std::string& text);

struct DefaultDevice {
  Device device;
  bool is_asked_for = false;  ///< by a variable or a file: else the CPU means that no GPU works
};
/// Looked for on the first call, and kept; see get_current_device. If that throws, the next call
/// looks again.
const DefaultDevice& default_device();

}  // namespace quarry::runtime
