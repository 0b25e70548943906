// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pool/stream_arena.hpp"

#include <fmt/format.h>
#include <quarry/base/error.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/power_of_two.hpp"
#include "memory/pool/pool_state.hpp"

namespace quarry::memory {

namespace {

constexpr std::size_t even_bytes = std::size_t{1} << 12;
constexpr std::size_t large_step = std::size_t{1} << 16;
constexpr std::size_t most_bytes = std::size_t{1} << 62;
constexpr std::size_t most_alignment = std::size_t{1} << 21;

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

Request request_of(std::size_t bytes, std::size_t alignment) {
  require<SizeOverflow>(bytes <= most_bytes,
                        [&] { return fmt::format("an allocation of {} bytes", bytes); });
  require<LogicError>(is_power_of_two(alignment) && alignment <= most_alignment, [&] {
    return fmt::format("an allocation with alignment {}, which is not a power of two up to {}",
                       alignment, most_alignment);
  });
  const auto rounded = [&](std::size_t to, std::size_t size_class) {
    return Request{to, alignment, static_cast<std::int16_t>(size_class),
                   static_cast<std::uint32_t>(to - bytes)};
  };
  if (bytes <= even_bytes) {
    const std::size_t units = std::max<std::size_t>(2, (bytes + Tlsf::unit - 1) / Tlsf::unit);
    return rounded(units * Tlsf::unit, units);
  }
  if (bytes > small_bytes) {
    const std::size_t to = round_up(bytes, large_step);
    return {to, alignment, -1, static_cast<std::uint32_t>(to - bytes)};
  }
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes
  const std::size_t eighth = ((bytes - 1) >> (power - 3)) & 7;
  return rounded((eighth + 9) << (power - 3), 17 + (power - 12) * 8 + eighth);
}

// --- marks ---------------------------------------------------------------------------------------

backend::Event EventPool::make() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      const backend::Event event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  return device_.create_event(backend::EventKind::order_only);
}

void Mark::wait() const noexcept {
  if (!event) return device->drain();
  try {
    device->wait(event);
  } catch (const std::exception&) {  // a device that is lost does no work any more
  }
}

bool is_idle(const detail::StreamState& stream) noexcept {
  try {
    // A query of a stream that is captured would invalidate the capture.
    return stream.is_of_this_thread() && !stream.is_captured() &&
           stream.device->is_done(stream.native);
  } catch (const std::exception&) {
    return false;
  }
}

bool all_reached(const std::vector<Mark>& marks) {
  return std::all_of(marks.begin(), marks.end(), [](const Mark& m) { return m.is_reached(); });
}

void wait_behind(const detail::StreamState& stream, const std::vector<Mark>& marks) {
  for (const Mark& mark : marks) {
    if (mark.event && mark.device->info().is_cpu == stream.device->info().is_cpu) {
      stream.device->wait(stream.native, mark.event);
    } else {
      mark.wait();
    }
  }
}

Mark EventPool::record(const detail::StreamState& stream, backend::Stream native) {
  backend::Device& device = *stream.device;
  const Mark mark{
      &device, &device == &device_ ? make() : device.create_event(backend::EventKind::order_only)};
  try {
    device.record(mark.event, native);
  } catch (...) {
    device.destroy_event(mark.event);
    throw;
  }
  return mark;
}

Mark EventPool::try_record(const detail::StreamState& stream, backend::Stream native) noexcept {
  try {
    return record(stream, native);
  } catch (const std::exception&) {
    return {stream.device, nullptr};
  }
}

void EventPool::give(std::vector<Mark>& all) noexcept {
  for (const Mark& mark : all) give(mark);
  all.clear();
}

void EventPool::give(const Mark& mark) noexcept {
  if (!mark.event) return;
  if (mark.device == &device_) {
    try {
      const std::lock_guard lock(mutex_);
      return events_.push_back(mark.event);
    } catch (const std::bad_alloc&) {  // destroyed instead
    }
  }
  mark.device->destroy_event(mark.event);
}

void EventPool::clear() noexcept {
  const std::lock_guard lock(mutex_);
  for (const backend::Event event : events_) device_.destroy_event(event);
  events_.clear();
}

// --- an arena ------------------------------------------------------------------------------------

StreamArena::StreamArena(Pool::State& of)
    : pool(of), marks(of.marks), free(of.device.info().is_cpu), all_active_(of.active) {}

Block* StreamArena::take_free(const Request& request, bool thorough) {
  table.reserve_one();
  Block* const block = free.take(request.bytes, request.alignment, thorough);
  if (!block) return nullptr;
  block->size_class = request.size_class;
  table.insert(block);
  return hand_out(block);
}

Block* StreamArena::take_harder(const Request& request, bool thorough) {
  return prepare(request, thorough) ? take_free(request, thorough) : nullptr;
}

bool StreamArena::prepare(const Request& request, bool thorough) {
  if (has(request, thorough)) return true;
  merge_large();
  if (has(request, thorough)) return true;
  if (is_worth_merging(request)) {
    flush();
    if (has(request, thorough)) return true;
  }
  if (pending.empty() || is_captured()) return false;
  collect(thorough);
  flush();
  return has(request, thorough);
}

void StreamArena::move_segment_from(StreamArena& other, Block* whole) noexcept {
  other.free.remove(whole);
  --other.segments;
  whole->segment->arena = this;
  free.insert(whole);
  free.repay(other.free);
  ++segments;
}

void StreamArena::adopt(StreamArena& other) {
  table.reserve(other.table.size());
  pending.reserve(pending.size() + other.pending.size());
  other.flush();
  other.free.for_each([&](Block* block) {
    other.free.remove(block);
    block->segment->arena = this;
    free.insert(block);
    free.repay(other.free);
  });
  other.table.for_each([&](Block* block) {
    block->segment->arena = this;
    table.insert(block);
    free.repay(other.free);
  });
  other.table = {};
  std::move(other.pending.begin(), other.pending.end(), std::back_inserter(pending));
  other.pending.clear();
  segments += std::exchange(other.segments, 0);
  active += std::exchange(other.active, 0);
  other.publish();
  publish();
}

void StreamArena::make_free(Block* block) noexcept {
  block->state = BlockState::cached;
  if (block->size_class >= 0) {
    Block*& list = cache_[static_cast<std::size_t>(block->size_class)];
    block->next = list;
    list = block;
  } else {
    merge_large();
    last_large_ = block;
  }
  cached_bytes_ += block->bytes;
}

/// The large block that is cached joins the free ones.
void StreamArena::merge_large() noexcept {
  Block* const block = std::exchange(last_large_, nullptr);
  if (!block) return;
  cached_bytes_ -= block->bytes;
  table.erase(block);
  free.release(block);
}

void StreamArena::put_back_later(Block* block, std::vector<Mark>&& after) {
  pending.push_back({block, {}});  // may throw: then `after` is still the caller's
  pending.back().marks = std::move(after);
}

void StreamArena::flush() noexcept {
  if (cached_bytes_ == 0) return;
  merge_large();
  for (Block*& list : cache_) {
    while (Block* const block = list) {
      list = block->next;
      block->next = nullptr;
      table.erase(block);
      free.release(block);
    }
  }
  cached_bytes_ = 0;
}

void StreamArena::collect(bool all) {
  constexpr int patience = 16;
  int waiting = 0;
  std::size_t kept = 0, at = 0;
  try {
    for (; at < pending.size() && (all || waiting < patience); ++at) {
      Pending& one = pending[at];
      if (all_reached(one.marks)) {
        marks.give(one.marks);
        make_free(one.block);
      } else {
        if (kept != at) pending[kept] = std::move(one);
        ++kept;
        ++waiting;
      }
    }
  } catch (const std::exception&) {
    // a device that is lost reaches no marks: what is pending stays so
  }
  if (kept == at) return;
  const auto moved = std::move(pending.begin() + static_cast<std::ptrdiff_t>(at), pending.end(),
                               pending.begin() + static_cast<std::ptrdiff_t>(kept));
  pending.erase(moved, pending.end());
}

std::size_t StreamArena::largest_free() {
  merge_large();
  std::size_t most = free.largest();
  for (const Block* list : cache_) {
    if (list) most = std::max(most, list->bytes);
  }
  return most;
}

/// The sum over the arenas is exact here; between, each may be off by `step`.
void StreamArena::publish() noexcept {
  const std::size_t others =
      all_active_.published.fetch_add(active - published_, std::memory_order_relaxed) - published_;
  const std::size_t highest = others + high_;
  std::size_t peak = all_active_.peak.load(std::memory_order_relaxed);
  while (peak < highest &&
         !all_active_.peak.compare_exchange_weak(peak, highest, std::memory_order_relaxed)) {
  }
  published_ = high_ = active;
}

}  // namespace quarry::memory
