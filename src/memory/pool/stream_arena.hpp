// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <quarry/memory/pool.hpp>

#include "backend/backend.hpp"
#include "memory/pool/block_table.hpp"
#include "memory/pool/tlsf.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {

/// Requests up to this are cached as they are; of larger ones only the block freed last is, the
/// others are merged at once.
constexpr std::size_t small_bytes = std::size_t{1} << 20;

/// A request as it is served: sizes up to 4 KiB in steps of 256 bytes, up to small_bytes in eighths
/// of powers of two, above in steps of 64 KiB.
struct Request {
  std::size_t bytes;
  std::size_t alignment;
  std::int16_t size_class;  ///< of small ones, else -1
  std::uint32_t surplus;    ///< of `bytes`, those beyond the request
};
/// Throws SizeOverflow above 2^62 bytes, LogicError for an alignment that is not a power of two up
/// to 2 MiB.
Request request_of(std::size_t bytes, std::size_t alignment);
constexpr int size_classes = 81;

/// A point in a stream, after the work queued so far. Without an event (if none could be created)
/// it counts as reached only after the host has waited for the whole device.
struct Mark {
  backend::Device* device;
  backend::Event event;

  bool is_reached() const { return event && device->query(event); }
  void wait() const noexcept;
};
/// Whether all queued work is known to be done.
bool is_idle(const detail::StreamState& stream) noexcept;
bool all_reached(const std::vector<Mark>& marks);
/// Work queued in `stream` from now on comes after the marks.
void wait_behind(const detail::StreamState& stream, const std::vector<Mark>& marks);

/// Events that are made once and used again, for the marks of one device; marks of other devices
/// have events of their own.
class EventPool {
 public:
  explicit EventPool(backend::Device& device) : device_(device) {}
  ~EventPool() { clear(); }
  Mark record(const detail::StreamState& stream) {
    return record(stream, stream.native_for_marks());
  }
  /// The same without errors: on failure the mark has no event.
  Mark try_record(const detail::StreamState& stream, backend::Stream native) noexcept;
  void give(const Mark& mark) noexcept;
  void give(std::vector<Mark>& all) noexcept;  ///< and clears them
  void clear() noexcept;

 private:
  Mark record(const detail::StreamState& stream, backend::Stream native);
  backend::Event make();

  backend::Device& device_;
  std::mutex mutex_;
  std::vector<backend::Event> events_;
};

struct StreamArena;

/// One allocation of the upstream.
struct Segment {
  std::byte* address;
  std::size_t bytes;
  StreamArena*
      arena;  ///< that its blocks belong to; changes under the pool's mutex and both arenas'
};

/// A block that has been freed while streams other than the arena's used it.
struct Pending {
  Block* block;
  std::vector<Mark> marks;
};

/// What a pool holds in use, summed over its arenas.
struct ActiveBytes {
  std::atomic<std::size_t> published = 0, peak = 0;
};

/// The memory of a pool that is used in the order of one stream. All members need `mutex` held.
struct StreamArena {
  explicit StreamArena(Pool::State& of);

  Pool::State& pool;
  EventPool& marks;
  std::mutex mutex;
  /// The stream, or nullptr after its end (`done` marks its last work); `is_open` is false while
  /// the arena has no owner. All three change under the pool's mutex.
  detail::StreamState* stream = nullptr;
  std::vector<Mark> done;
  bool is_open = false;
  /// Whether the end of the stream's work cannot be asked for.
  bool is_captured() const { return stream && stream->is_captured(); }

  /// A block from the cache or the free lists, or nullptr. Throws std::bad_alloc, with nothing
  /// lost.
  Block* take(const Request& request) {
    if (request.size_class >= 0 && request.alignment <= Tlsf::unit) {
      Block*& list = cache_[static_cast<std::size_t>(request.size_class)];
      if (Block* const block = list) [[likely]] {
        list = block->next;
        cached_bytes_ -= block->bytes;
        return hand_out(block);
      }
    }
    if (request.size_class < 0 && last_large_) {
      if (last_large_->bytes == request.bytes && request.alignment <= Tlsf::unit) [[likely]] {
        cached_bytes_ -= request.bytes;
        return hand_out(std::exchange(last_large_, nullptr));
      }
      merge_large();
    }
    return take_free(request, false);
  }
  /// The same after the cache has been merged and finished frees have been collected; `thorough`
  /// looks at every free block.
  Block* take_harder(const Request& request, bool thorough);
  /// Whether it has a free block that fits; `prepare` merges and collects for it.
  bool has(const Request& request, bool thorough) const {
    return free.has(request.bytes, request.alignment, thorough);
  }
  bool prepare(const Request& request, bool thorough);
  bool might_have(const Request& request, bool thorough) const {
    return has(request, thorough) || is_worth_merging(request) || !pending.empty();
  }
  /// Another arena's block that is a whole segment moves here.
  void move_segment_from(StreamArena& other, Block* whole) noexcept;
  /// All that another arena has moves here. Throws std::bad_alloc, before anything has moved.
  void adopt(StreamArena& other);

  /// A live block of this arena is free at once.
  void put_back(Block* block) noexcept {
    account_free(block->bytes);
    make_free(block);
  }
  /// A live block is from now on as one that was requested as `to`, which is not larger. Throws
  /// std::bad_alloc, before anything has changed.
  void shrink(Block* block, const Request& to) {
    if (const std::size_t rest = block->bytes - to.bytes; rest > 0) {
      free.shrink(block, to.bytes);
      account_free(rest);
    }
    block->size_class = to.size_class;
    block->surplus = to.surplus;
  }
  /// A block whose free has begun is free when the marks are reached. Throws std::bad_alloc, and
  /// leaves `after` alone then.
  void put_back_later(Block* block, std::vector<Mark>&& after);
  /// A live block is being freed: it cannot be freed again, and does not count as in use.
  void begin_free(Block* block) noexcept {
    block->state = BlockState::pending;
    account_free(block->bytes);
  }
  /// The end of a free that has begun.
  void make_free(Block* block) noexcept;

  /// Merges what is cached.
  void flush() noexcept;
  /// Frees pending blocks whose marks are reached. Errors of the device end it.
  void collect(bool all);

  std::size_t largest_free();
  void publish() noexcept;

  Tlsf free;
  BlockTable table;  ///< what is live, cached or pending
  std::vector<Pending> pending;
  std::size_t segments = 0;
  std::size_t active = 0;
  int borrowed = 0;

  /// Whether to take a part of another arena's segment while new memory is available: it
  /// returns there at every free, so a stream that needs small blocks, or many, gets its own
  /// segment.
  bool may_borrow(const Request& request) const { return request.size_class < 0 && borrowed < 4; }

 private:
  /// One small block may keep two large ones apart.
  bool is_worth_merging(const Request& request) const {
    return cached_bytes_ >= request.bytes || (request.size_class < 0 && cached_bytes_ > 0);
  }
  Block* take_free(const Request& request, bool thorough);
  void merge_large() noexcept;
  Block* hand_out(Block* block) noexcept {
    block->state = BlockState::live;
    active += block->bytes;
    if (active > high_) high_ = active;
    if (active > published_ + step) [[unlikely]]
      publish();
    return block;
  }
  void account_free(std::size_t bytes) noexcept {
    active -= bytes;
    if (active + step < published_) [[unlikely]]
      publish();
  }

  static constexpr std::size_t step = std::size_t{1} << 20;
  ActiveBytes& all_active_;
  std::size_t high_ = 0, published_ = 0;
  std::size_t cached_bytes_ = 0;
  std::array<Block*, size_classes> cache_{};
  Block* last_large_ = nullptr;  ///< cached too
};

}  // namespace quarry::memory
