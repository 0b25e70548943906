// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/limit.hpp>

#include <fmt/format.h>

#include <atomic>
#include <mutex>

namespace quarry {

/// One number decides whether there is room, so that a change of the limit and allocations cannot
/// miss each other.
struct Limit::State {
  explicit State(std::size_t bytes) : limit(bytes), room(bytes) {}

  bool take(std::size_t bytes) {
    std::size_t seen = room.load(std::memory_order_relaxed);
    do {
      if (bytes > seen) return false;
    } while (!room.compare_exchange_weak(seen, seen - bytes, std::memory_order_relaxed));
    return true;
  }
  void give(std::size_t bytes) { room.fetch_add(bytes, std::memory_order_relaxed); }

  mutable std::mutex mutex;
  std::size_t limit;  ///< changed with the mutex held
  std::atomic<std::size_t> room;
};

Limit::Limit(Resource upstream, std::size_t limit)
    : Adaptor(std::move(upstream)), state_(std::make_shared<State>(limit)) {}

void* Limit::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) const {
  if (!state_->take(bytes)) {
    const std::lock_guard lock(state_->mutex);
    const std::size_t live = state_->limit - state_->room;
    throw MemoryError(fmt::format("{} on {}, which holds {} of {} bytes", name(),
                                  to_string(device()), live, state_->limit),
                      {.requested = bytes, .live = live, .limit = state_->limit});
  }
  try {
    return upstream().allocate(stream, bytes, alignment);
  } catch (...) {
    state_->give(bytes);
    throw;
  }
}

void Limit::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                       std::size_t bytes, std::size_t alignment) const noexcept {
  upstream().deallocate(stream, others, memory, bytes, alignment);
  state_->give(bytes);
}

std::size_t Limit::outstanding() const {
  const std::lock_guard lock(state_->mutex);
  return state_->limit - state_->room;
}

std::size_t Limit::limit() const {
  const std::lock_guard lock(state_->mutex);
  return state_->limit;
}

void Limit::set_limit(std::size_t bytes) const {
  const std::lock_guard lock(state_->mutex);
  if (bytes >= state_->limit) {
    state_->give(bytes - state_->limit);
  } else {
    require<LogicError>(state_->take(state_->limit - bytes), [&] {
      return fmt::format("{}: a limit of {} bytes, but {} are allocated", name(), bytes,
                         state_->limit - state_->room);
    });
  }
  state_->limit = bytes;
}

}  // namespace quarry
