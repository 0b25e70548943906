// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>
#include <quarry/runtime/stream.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace quarry::memory {

/// Numbers of 32 bits on the device, each of which is less than `first`.
struct AscendingNumbers {
  std::shared_ptr<Buffer> buffer;
  std::int32_t first;
};

/// `size` of them, which may become any of the `count` numbers from `first` on, but no others:
/// those of the next call that gets this memory are larger, so that nothing has to set them first.
/// Freed in the order of the stream, in which nothing is queued; new memory is waited for. None
/// while the stream is captured, since a graph would have the same numbers each time it is
/// launched, for more than 2 MiB, and if there is no memory.
std::optional<AscendingNumbers> new_ascending_numbers(const Stream& stream, std::int64_t size,
                                                      std::int64_t count);

}  // namespace quarry::memory
