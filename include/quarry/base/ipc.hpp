// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <array>
#include <cstddef>

namespace quarry {

/// A handle with which another process opens an event or memory (CUipcEventHandle, CUipcMemHandle);
/// plain bytes that can be sent through a pipe or a file.
using IpcBytes = std::array<std::byte, 64>;

}  // namespace quarry
