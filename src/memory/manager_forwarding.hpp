// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/event.hpp>

#include <memory>
#include <optional>

/// Calls of a device's external memory manager, if it has one.
namespace quarry::memory {

/// The result of its defer_cleanup(); nullptr without a manager.
std::shared_ptr<void> defer_cleanup_of_manager(const Device& device);
/// For the block of an array that begins at `address`; empty for other memory.
std::optional<IpcBytes> ipc_handle_of_manager(const Device& device, const void* address);

}  // namespace quarry::memory
