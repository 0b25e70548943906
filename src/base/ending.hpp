// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>

namespace quarry {

/// Whether the exit handlers of the process have begun: what functions of the program refer to may
/// be gone.
inline constinit std::atomic<bool> process_is_ending = false;

}  // namespace quarry
