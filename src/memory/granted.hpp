// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <memory>

namespace quarry::memory {

/// Records that `resource`, chosen by the program, has allocated `memory`, until the result is
/// destroyed. Throws LogicError if it is already allocated: then two arrays would share memory.
std::shared_ptr<void> note_granted(void* memory, const Resource& resource);

}  // namespace quarry::memory
