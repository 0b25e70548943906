// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>

#include <memory>

namespace quarry::detail {

/// The object that collects for the stream, if any, keeps an empty buffer, which takes over
/// the memory of another one when that ends. Throws std::bad_alloc.
void keep_for_graph(const StreamState& stream, const std::shared_ptr<Buffer>& kept);

}  // namespace quarry::detail
