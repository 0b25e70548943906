// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "memory/adaptors/poison.hpp"
#include "memory/pool/pool_state.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/report.hpp"

/// Search for memory that the stream's arena does not have.
namespace quarry {

using memory::Block;
using memory::Mark;

namespace {

constexpr std::size_t page = std::size_t{2} << 20;
constexpr std::size_t large_segment = std::size_t{32} << 20;

/// The size of a segment while memory is plentiful.
std::size_t roomy_segment(std::size_t bytes) {
  if (bytes <= memory::small_bytes) return page;
  if (bytes <= large_segment / 2) return large_segment;
  return (bytes + page - 1) / page * page;
}
std::size_t exact_segment(const memory::Request& request) {
  return request.bytes + std::max(request.alignment, memory::Tlsf::unit) - memory::Tlsf::unit;
}

}  // namespace

Block* Pool::State::find(Heap& own, const Stream& stream, const Request& request) {
  bool is_first = true;
  const std::size_t asked = request.bytes - request.surplus;
  Block* const block = memory::with_relief(device, asked, [&] {
    Block* const found =
        std::exchange(is_first, false) ? search(own, stream, request, false) : nullptr;
    return found ? found : take_anything(own, stream, request);
  });
  if (!block) refuse(asked);
  return block;
}

Block* Pool::State::search(Heap& own, const Stream& stream, const Request& request, bool thorough) {
  Block* block = take_own(own, request, thorough);
  if (!block && !stream.state().is_captured()) block = take_from_others(own, request, false);
  return block ? block : grow(own, stream, request);
}

Block* Pool::State::take_own(Heap& own, const Request& request, bool thorough) {
  const std::lock_guard lock(own.mutex);
  return own.take_harder(request, thorough);
}

// --- from other streams --------------------------------------------------------------------------

Block* Pool::State::take_from_others(Heap& own, const Request& request, bool behind_their_work) {
  const std::lock_guard lock(mutex_);
  const std::lock_guard own_lock(own.mutex);
  for (const auto& arena : arenas_) {
    if (arena.get() == &own || !arena->is_open || arena->is_captured()) continue;
    std::unique_lock other(arena->mutex, std::defer_lock);
    while (!other.try_lock() && behind_their_work) std::this_thread::yield();
    if (!other) continue;
    if (!arena->might_have(request, behind_their_work)) continue;
    if (Block* const block = take_from(*arena, own, request, behind_their_work)) return block;
  }
  return nullptr;
}

/// With both locks and the pool's.
Block* Pool::State::take_from(Heap& other, Heap& own, const Request& request,
                              bool behind_its_work) {
  if (!other.stream) {
    if (!memory::all_reached(other.done)) {
      if (!behind_its_work) return nullptr;
      memory::wait_behind(*own.stream, other.done);
    }
    own.adopt(other);
    marks.give(other.done);
    other.is_open = false;
    return own.take_harder(request, behind_its_work);
  }
  const detail::StreamState& donor = *other.stream;
  const bool is_idle = memory::is_idle(donor);
  if (!is_idle && !behind_its_work) return nullptr;
  if (behind_its_work && donor.is_of_this_thread()) {
    for (memory::Pending& one : other.pending) {
      memory::wait_behind(donor, one.marks);
      marks.give(one.marks);
    }
  }
  if (!other.prepare(request, behind_its_work)) return nullptr;
  Block* const fit = other.free.find(exact_segment(request), behind_its_work);
  const bool is_whole = fit && fit->is_whole_segment();
  if (!is_whole && !behind_its_work && !own.may_borrow(request)) return nullptr;
  if (!is_idle || behind_its_work) {
    std::vector<Mark> mark;
    mark.reserve(1);
    mark.push_back(marks.record(donor));
    memory::wait_behind(*own.stream, mark);
    marks.give(mark);
  }
  if (is_whole) {
    own.move_segment_from(other, fit);
    return own.take_harder(request, behind_its_work);
  }
  ++own.borrowed;
  return other.take_harder(request, behind_its_work);
}

/// Freed blocks of the own arena whose other users are not done: the stream waits for them.
Block* Pool::State::take_pending(Heap& own, const Request& request) {
  const std::lock_guard lock(mutex_);
  const std::lock_guard own_lock(own.mutex);
  if (own.pending.empty()) return nullptr;
  const auto is_enough = [&](const memory::Pending& p) { return p.block->bytes == request.bytes; };
  const auto one = std::find_if(own.pending.begin(), own.pending.end(), is_enough);
  const auto first = one == own.pending.end() ? own.pending.begin() : one;
  const auto last = one == own.pending.end() ? own.pending.end() : one + 1;
  for (auto at = first; at != last; ++at) {
    memory::wait_behind(*own.stream, at->marks);
    marks.give(at->marks);
  }
  return own.take_harder(request, true);
}

// --- from the upstream ---------------------------------------------------------------------------

bool Pool::State::reserve(std::size_t bytes) {
  std::size_t now = reserved_.load();
  do {
    const std::size_t limit = limit_.load();
    if (now > limit || bytes > limit - now) return false;
  } while (!reserved_.compare_exchange_weak(now, now + bytes));
  return true;
}

/// A valid segment, or nullptr if the limit or the upstream refuses.
void* Pool::State::fetch(const Stream& stream, std::size_t bytes) {
  if (!reserve(bytes)) return nullptr;
  void* segment = nullptr;
  try {
    segment = upstream.allocate(stream, bytes);
  } catch (const MemoryError&) {
    // a refusal
  } catch (...) {
    reserved_.fetch_sub(bytes);
    throw;
  }
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(segment) % Resource::default_alignment == 0;
  if (segment && is_aligned) return segment;
  reserved_.fetch_sub(bytes);
  if (segment) upstream.deallocate(stream, segment, bytes);
  require<LogicError>(is_aligned, [&] {
    return fmt::format("the resource {} returned {}, which is not aligned to {} bytes",
                       upstream.name(), segment, Resource::default_alignment);
  });
  return nullptr;
}

void Pool::State::add_segment(Heap& own, void* memory, std::size_t bytes) {
  auto* const address = static_cast<std::byte*>(memory);
  const std::lock_guard lock(mutex_);
  const std::lock_guard own_lock(own.mutex);
  const auto next = segments_.lower_bound(address);
  const bool is_free = (next == segments_.end() || next->first >= address + bytes) &&
                       (next == segments_.begin() ||
                        std::prev(next)->first + std::prev(next)->second->bytes <= address);
  require<LogicError>(is_free, [&] {
    return fmt::format("the resource {} returned {}, which it has handed out already",
                       upstream.name(), memory);
  });
  const auto at = segments_.emplace_hint(
      next, address, std::make_unique<memory::Segment>(memory::Segment{address, bytes, &own}));
  try {
    own.free.add_segment(at->second.get(), address, bytes);
  } catch (...) {
    segments_.erase(at);
    throw;
  }
  ++own.segments;
  allocations_.fetch_add(1, std::memory_order_relaxed);
  if (is_visible) memory::poison(memory, bytes);
}

Block* Pool::State::grow(Heap& own, const Stream& stream, const Request& request) {
  const std::size_t exact = exact_segment(request), roomy = roomy_segment(exact);
  std::size_t bytes = roomy;
  void* memory = fetch(stream, bytes);
  if (!memory && exact != roomy) memory = fetch(stream, bytes = exact);
  if (!memory) return nullptr;
  try {
    add_segment(own, memory, bytes);
  } catch (const LogicError&) {  // not to be freed: it is still in use
    reserved_.fetch_sub(bytes);
    throw;
  } catch (...) {
    reserved_.fetch_sub(bytes);
    upstream.deallocate(stream, memory, bytes);
    throw;
  }
  return take_own(own, request, false);
}

// --- when there is none --------------------------------------------------------------------------

/// Any fitting memory, with an exhaustive search, after any streams' work. Captured work cannot
/// come after it.
Block* Pool::State::take_anything(Heap& own, const Stream& stream, const Request& request) {
  Block* block = search(own, stream, request, true);
  if (block || stream.state().is_captured()) return block;
  block = take_pending(own, request);
  if (!block) block = take_from_others(own, request, true);
  return block;
}

bool Pool::State::call_back(std::size_t bytes, int attempt) {
  std::vector<std::shared_ptr<PressureCallback>> callbacks;
  {
    const std::lock_guard lock(callbacks_mutex_);
    callbacks = callbacks_;
  }
  bool is_worth_it = false;
  for (const auto& f : callbacks) is_worth_it = (*f)(bytes, attempt) || is_worth_it;
  return is_worth_it;
}

void Pool::State::refuse(std::size_t bytes) {
  const PoolStatistics now = statistics();
  const MemoryReport report{.requested = bytes,
                            .live = now.active_bytes,
                            .cached = now.held_bytes,
                            .largest_free = now.largest_free_bytes,
                            .limit = now.limit};
  throw MemoryError(where(), memory::with_device(report, device));
}

}  // namespace quarry
