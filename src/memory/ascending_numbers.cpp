// SPDX-License-Identifier: BSD-3-Clause
#include "memory/ascending_numbers.hpp"

#include <quarry/memory/pool.hpp>

#include <atomic>
#include <limits>
#include <map>

#include "memory/zeroed_resource.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

/// The memory of a device, in which all numbers are less than `next`.
struct Numbers {
  explicit Numbers(const Device& device) : pool(zeroed_resource(device)) {}
  Pool pool;
  std::int32_t next = 1;
};

/// For one call at a time.
struct Turn {
  Turn() : is_taken(!busy.exchange(true, std::memory_order_acquire)) {}
  ~Turn() {
    if (is_taken) busy.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  const bool is_taken;
  static inline std::atomic<bool> busy = false;
};

}  // namespace

std::optional<AscendingNumbers> new_ascending_numbers(const Stream& stream, std::int64_t size,
                                                      std::int64_t count) {
  constexpr std::int64_t most_bytes = 1 << 21, itemsize = sizeof(std::int32_t),
                         most = std::numeric_limits<std::int32_t>::max();
  if (size > most_bytes / itemsize || count >= most || stream.state().is_captured()) {
    return std::nullopt;
  }
  // Another call must not free memory with later numbers between the two that are taken here. It is
  // not waited for: it may be in a callback of the program, which is asked to free something.
  const Turn turn;
  if (!turn.is_taken) return std::nullopt;
  static auto& all = *new std::map<backend::Device*, Numbers>;
  Numbers& numbers = all.try_emplace(&stream.device().backend(), stream.device()).first->second;
  if (count > most - numbers.next) numbers = Numbers(stream.device());
  try {
    const auto bytes = static_cast<std::size_t>(size * itemsize);
    AscendingNumbers made{Buffer::allocate(bytes, stream, numbers.pool), numbers.next};
    numbers.next += static_cast<std::int32_t>(count);
    return made;
  } catch (const MemoryError&) {
    return std::nullopt;
  }
}

}  // namespace quarry::memory
