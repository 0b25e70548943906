// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <array>
#include <cstddef>

namespace quarry {

/// What the driver gives to other processes to open an event or memory with (CUipcEventHandle,
/// CUipcMemHandle); plain bytes that can go through a pipe or a file.
using IpcBytes = std::array<std::byte, 64>;

}  // namespace quarry
