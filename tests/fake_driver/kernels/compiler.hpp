// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "fake_driver/fake_driver.hpp"

namespace quarry::fake {

/// What a test has set (set_compiler); the state's lock is held where more than while_compiling()
/// is used.
Compiler& compiler();

}  // namespace quarry::fake
