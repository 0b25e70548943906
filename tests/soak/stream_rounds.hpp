// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace quarry::soak {

/// One round, by its number.
using Round = std::function<void(std::uint64_t)>;

/// Rounds that each use one lasting object in a stream of their own: "array" reads a long-lived
/// array, "page_locked" copies from long-lived page-locked memory, "thread" reads the array on a
/// thread that ends. Throws std::invalid_argument for other names; a round throws
/// std::runtime_error whose values are wrong.
Round stream_round(std::string_view name);

}  // namespace quarry::soak
