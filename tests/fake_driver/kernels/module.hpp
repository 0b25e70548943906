// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "fake_driver/state.hpp"

namespace quarry::fake {

/// The function of a loaded module with this handle, or nullptr. The state's lock is held.
Function* find_function(CUfunction handle);

/// Bytes of dynamic shared memory that every kernel may ask for, and that one can be allowed.
inline constexpr unsigned static_shared = 48 << 10, most_shared = 227 << 10;

}  // namespace quarry::fake
