// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>
#include <quarry/memory/upstream.hpp>

namespace quarry::detail {

/// The buffer of this library's page-locked, mapped, managed or registered memory that holds all of
/// [data, data + bytes), or nullptr. A copy that is queued with such memory names its stream with
/// `used_on`, so that the memory is not handed out again before it is done.
std::shared_ptr<Buffer> find_host_buffer(const void* data, std::size_t bytes);

}  // namespace quarry::detail
