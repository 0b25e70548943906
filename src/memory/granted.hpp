// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <memory>

namespace quarry::memory {

/// Notes that `resource`, one of the program's choice, has handed out `memory`, until the result is
/// gone. Throws LogicError if it has handed it out already: then two arrays would be one.
std::shared_ptr<void> note_granted(void* memory, const Resource& resource);

}  // namespace quarry::memory
