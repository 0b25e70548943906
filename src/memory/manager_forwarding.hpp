// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/event.hpp>

#include <memory>
#include <optional>

/// What a device asks of its external memory manager, if it has one.
namespace quarry::memory {

/// What its defer_cleanup() returns; nullptr without a manager.
std::shared_ptr<void> defer_cleanup_of_manager(const Device& device);
/// Of the block of an array that begins at `address`; nothing for other memory.
std::optional<IpcBytes> ipc_handle_of_manager(const Device& device, const void* address);

}  // namespace quarry::memory
