// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"
#include "runtime/guard_stack.hpp"

/// The current device of each thread.
namespace quarry::runtime {

using CurrentDevice = detail::GuardEntry<backend::Device*>;

/// The calling thread's, to be read and set; nullptr stands for the default device.
backend::Device*& current_device();

// As a DeviceGuard of the calling thread, for the stack of contexts.
CurrentDevice* push_current_device(backend::Device& device);
/// Wherever it is among the guards.
void end_current_device(CurrentDevice* entry);
/// Whether no guard that began later is alive.
bool is_innermost(const CurrentDevice* entry);

}  // namespace quarry::runtime
