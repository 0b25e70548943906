// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "base/forked.hpp"
#include "memory/adaptors/poison.hpp"
#include "memory/pool/pool_state.hpp"

/// Frees: blocks return to their arena, whole segments to the upstream.
namespace quarry {

using memory::Block;
using memory::BlockState;
using memory::Mark;

namespace {

/// Adds marks in the streams that are still at work. Throws std::bad_alloc.
void mark_users(memory::EventPool& pool, std::span<const Stream> streams, std::vector<Mark>& into) {
  into.reserve(into.size() + streams.size());
  for (const Stream& stream : streams) {
    const detail::StreamState& state = stream.state();
    if (!memory::is_idle(state)) into.push_back(pool.try_record(state, state.native_for_marks()));
  }
}

/// A caller's mistake that cannot be an exception, because frees come from destructors: this ends
/// the program with the text, before anything is damaged.
void require_live(const Block* block, void* memory, const memory::Request& request,
                  const std::string& where) {
  require<LogicError>(block != nullptr, [&] {
    return fmt::format("{}: {} was freed, which is not the start of a block", where, memory);
  });
  require<LogicError>(block->state == BlockState::live,
                      [&] { return fmt::format("{}: {} was freed twice", where, memory); });
  const bool is_of_size = block->bytes == request.bytes && block->surplus == request.surplus;
  require<LogicError>(is_of_size, [&] {
    return fmt::format("{}: {} was freed as a block of {} bytes and has {}", where, memory,
                       request.bytes - request.surplus, block->bytes - block->surplus);
  });
}

}  // namespace

void Pool::State::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                             std::size_t bytes, std::size_t alignment) noexcept {
  if (!memory || bytes == 0 || is_forked()) return;
  const Request request = memory::request_of(bytes, alignment);
  detail::StreamState& state = stream.state();
  if constexpr (memory::can_poison) {
    if (is_visible && others.empty() && memory::is_idle(state)) {
      memory::poison(memory, request.bytes);
    }
  }
  if (!free_own(state, others, memory, request)) free_elsewhere(stream, others, memory, request);
}

/// Of the arena of the stream itself; false if it is not in there.
bool Pool::State::free_own(detail::StreamState& stream, std::span<const Stream> others,
                           void* memory, const Request& request) {
  auto* const arena = static_cast<Heap*>(stream.find(this));
  if (!arena) return false;
  Block* block;
  {
    const std::lock_guard lock(arena->mutex);
    block = arena->table.find(memory);
    if (!block) return false;
    const bool is_sound = block->state == BlockState::live && block->bytes == request.bytes &&
                          block->surplus == request.surplus;
    if (!is_sound) [[unlikely]]
      require_live(block, memory, request, where());
    if (others.empty()) [[likely]] {
      arena->put_back(block);
      return true;
    }
    arena->begin_free(block);
  }
  free_after(block, others, {});
  return true;
}

/// Of the arena of the stream itself; a block of another one is left as it is.
bool Pool::State::shrink(const Stream& stream, void* memory, std::size_t bytes, std::size_t to,
                         std::size_t alignment) {
  const Request before = memory::request_of(bytes, alignment);
  const Request after = memory::request_of(to, alignment);
  auto* const arena = static_cast<Heap*>(stream.state().find(this));
  if (!arena || to == 0 || after.bytes > before.bytes) return false;
  const std::lock_guard lock(arena->mutex);
  Block* const block = arena->table.find(memory);
  if (!block) return false;
  require_live(block, memory, before, where());
  arena->shrink(block, after);
  if constexpr (memory::can_poison) {
    if (is_visible && memory::is_idle(stream.state())) {
      memory::poison(block->address + to, before.bytes - to);
    }
  }
  return true;
}

/// A block that the stream has taken from another arena returns there, after the stream's work.
void Pool::State::free_elsewhere(const Stream& stream, std::span<const Stream> others, void* memory,
                                 const Request& request) {
  Block* block = nullptr;
  bool is_in_order = false;
  {
    const std::lock_guard lock(mutex_);
    const auto at = segments_.upper_bound(static_cast<std::byte*>(memory));
    if (at == segments_.begin()) require_live(nullptr, memory, request, where());
    Heap& arena = *std::prev(at)->second->arena;
    const std::lock_guard heap_lock(arena.mutex);
    block = arena.table.find(memory);
    require_live(block, memory, request, where());
    arena.begin_free(block);
    is_in_order = arena.stream == &stream.state();
  }
  free_after(block, others, is_in_order ? std::span<const Stream>() : std::span(&stream, 1));
}

/// A block whose free has begun becomes free once the streams are done with it.
void Pool::State::free_after(Block* block, std::span<const Stream> users,
                             std::span<const Stream> more) noexcept {
  std::vector<Mark> after;
  try {
    mark_users(marks, users, after);
    mark_users(marks, more, after);
  } catch (const std::bad_alloc&) {  // no memory to remember them: wait
    for (const Stream& user : users) Mark{user.state().device, nullptr}.wait();
    Mark{&device, nullptr}.wait();
  }
  put_back_after(block, std::move(after));
}

void Pool::State::put_back_after(Block* block, std::vector<Mark>&& after) noexcept {
  const std::lock_guard lock(mutex_);
  Heap& arena = *block->segment->arena;
  const std::lock_guard heap_lock(arena.mutex);
  try {
    if (!after.empty()) return arena.put_back_later(block, std::move(after));
  } catch (const std::bad_alloc&) {
    for (const Mark& mark : after) mark.wait();
    marks.give(after);
  }
  arena.make_free(block);
}

// --- back to the upstream ------------------------------------------------------------------------

/// Segments that are in no arena any more, and when the work in them is done.
struct Pool::State::Detached {
  std::vector<std::unique_ptr<memory::Segment>> segments;
  std::vector<Mark> marks;
};

/// Waits for the streams that have used blocks which are freed and not yet done with.
void Pool::State::collect_pending() {
  std::vector<memory::Pending> waiting;
  {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& arena : arenas_) {
      const std::lock_guard heap_lock(arena->mutex);
      count += arena->pending.size();
    }
    waiting.reserve(count);  // none is added without the pool's lock
    for (const auto& arena : arenas_) {
      const std::lock_guard heap_lock(arena->mutex);
      std::move(arena->pending.begin(), arena->pending.end(), std::back_inserter(waiting));
      arena->pending.clear();
    }
  }
  for (const memory::Pending& one : waiting) {
    for (const Mark& mark : one.marks) {
      mark.wait();
      marks.give(mark);
    }
  }
  for (const memory::Pending& one : waiting) put_back_after(one.block, {});
}

/// With both locks.
void Pool::State::detach_segments(Heap& arena, Detached& into) {
  arena.flush();
  const std::size_t before = into.segments.size();
  into.segments.reserve(before + arena.segments);
  into.marks.reserve(into.marks.size() + 1 + arena.done.size());
  arena.free.for_each([&](Block* block) {
    if (!block->is_whole_segment()) return;
    const auto at = segments_.find(block->address);
    into.segments.push_back(std::move(at->second));
    segments_.erase(at);
    arena.free.drop(block);
    --arena.segments;
  });
  if (arena.stream && into.segments.size() > before) {
    into.marks.push_back(marks.try_record(*arena.stream, arena.stream->native_for_marks()));
  }
  if (!arena.stream && arena.segments == 0) {
    into.marks.insert(into.marks.end(), arena.done.begin(), arena.done.end());
    arena.done.clear();
    arena.is_open = false;
  }
}

void Pool::State::give_back(Detached& detached) noexcept {
  for (const Mark& mark : detached.marks) mark.wait();
  marks.give(detached.marks);
  for (const auto& segment : detached.segments) give_back(*segment);
}

void Pool::State::give_back(const memory::Segment& segment) noexcept {
  if (is_visible) memory::unpoison(segment.address, segment.bytes);
  upstream.deallocate(home, segment.address, segment.bytes);
  reserved_.fetch_sub(segment.bytes);
}

void Pool::State::trim() {
  collect_pending();
  Detached detached;
  try {
    const std::lock_guard lock(mutex_);
    for (const auto& arena : arenas_) {
      if (!arena->is_open || arena->is_captured()) continue;
      const std::lock_guard heap_lock(arena->mutex);
      detach_segments(*arena, detached);
    }
  } catch (const std::bad_alloc&) {
    give_back(detached);
    throw;
  }
  give_back(detached);
  marks.clear();
  upstream.trim();
}

/// Segments with allocated blocks are left to their users.
Pool::State::~State() {
  if (is_forked()) return;
  {
    const std::lock_guard attachments(detail::StreamState::attachments_mutex());
    for (const auto& arena : arenas_) {
      if (!arena->stream) continue;
      arena->stream->detach(this);
      if (arena->segments == 0) continue;
      // there is room for one
      arena->done.push_back(marks.try_record(*arena->stream, arena->stream->native_for_marks()));
    }
  }
  for (const auto& arena : arenas_) give_back_all(*arena);
}

/// Does not allocate; nothing else may use the arena.
void Pool::State::give_back_all(Heap& arena) noexcept {
  const auto wait = [this](std::vector<Mark>& all) {
    for (const Mark& mark : all) mark.wait();
    marks.give(all);
  };
  for (memory::Pending& one : arena.pending) {
    wait(one.marks);
    arena.make_free(one.block);
  }
  wait(arena.done);
  arena.flush();
  arena.free.for_each([&](const Block* block) {
    if (block->is_whole_segment()) give_back(*block->segment);
  });
}

}  // namespace quarry
