// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <memory>

#include "backend/backend.hpp"

/// The contexts that a thread has pushed, latest last. An entry is a current device and, of a GPU,
/// a context on the thread's stack in the driver. A thread may end with contexts on its stack.
namespace quarry::runtime {

/// `handle` tells entries of one device apart; the entry keeps it, so that its address stays its
/// own.
void push_context(backend::Device& device, std::shared_ptr<const void> handle);
/// Throws LogicError unless the latest entry is of `device`, or of any if that is nullptr, and is
/// innermost. Returns the entry's device. Nothing in destructors that run after those of the
/// thread, whose stack is empty then.
backend::Device& pop_context(backend::Device* device);
/// What the latest entry was pushed with; nullptr if there is none.
const void* pushed_handle();
/// How many entries there are.
std::size_t pushed_contexts();
/// Ends all of them but the `kept` first, whatever is current now.
void drop_contexts(std::size_t kept) noexcept;

}  // namespace quarry::runtime
