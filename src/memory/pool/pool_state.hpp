// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/pool.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/pool/stream_arena.hpp"
#include "memory/resource/caches.hpp"

namespace quarry {

/// Locks are taken in this order: StreamState::attachments_mutex(), `mutex`, a arena's mutex. More
/// than one arena is locked only under `mutex`. The upstream, callbacks, and waits on the host are
/// called with none of them held.
struct Pool::State final : memory::Cache {
  State(Resource from, const PoolOptions& options);
  ~State() override;

  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment);
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) noexcept;
  bool shrink(const Stream& stream, void* memory, std::size_t bytes, std::size_t to,
              std::size_t alignment);
  void trim();
  PoolStatistics statistics();
  void set_limit(std::size_t bytes);
  static std::shared_ptr<void> on_pressure(const std::shared_ptr<State>& pool, PressureCallback f);
  std::string where() const;

  backend::Device& owner() const noexcept override { return device; }
  void give_back() override { trim(); }
  std::size_t bytes_in_use() override { return statistics().active_bytes; }
  bool call_back(std::size_t bytes, int attempt) override;

  const Resource upstream;
  backend::Device& device;
  const Stream home;      ///< the device's default stream, made here because frees must not fail
  const bool is_visible;  ///< to the host's sanitizers
  memory::ActiveBytes active;
  memory::EventPool marks;

 private:
  using Heap = memory::StreamArena;
  using Request = memory::Request;

  Heap& heap_of(detail::StreamState& stream);
  Heap& open_heap(detail::StreamState& stream);
  static void stream_ends(void* data, detail::StreamState& stream) noexcept;

  // pool_search.cpp: sources of memory. Each returns nullptr if it has none.
  memory::Block* find(Heap& own, const Stream& stream, const Request& request);
  memory::Block* take_own(Heap& own, const Request& request, bool thorough);
  memory::Block* take_from_others(Heap& own, const Request& request, bool behind_their_work);
  memory::Block* take_from(Heap& other, Heap& own, const Request& request, bool behind_its_work);
  memory::Block* take_pending(Heap& own, const Request& request);
  memory::Block* grow(Heap& own, const Stream& stream, const Request& request);
  memory::Block* search(Heap& own, const Stream& stream, const Request& request, bool thorough);
  memory::Block* take_anything(Heap& own, const Stream& stream, const Request& request);
  [[noreturn]] void refuse(std::size_t bytes);

  bool reserve(std::size_t bytes);
  void* fetch(const Stream& stream, std::size_t bytes);
  void add_segment(Heap& own, void* memory, std::size_t bytes);

  // pool_release.cpp: frees.
  bool free_own(detail::StreamState& stream, std::span<const Stream> others, void* memory,
                const Request& request);
  void free_elsewhere(const Stream& stream, std::span<const Stream> others, void* memory,
                      const Request& request);
  void free_after(memory::Block* block, std::span<const Stream> users,
                  std::span<const Stream> more) noexcept;
  void put_back_after(memory::Block* block, std::vector<memory::Mark>&& after) noexcept;
  struct Detached;
  void collect_pending();
  void detach_segments(Heap& arena, Detached& into);
  void give_back(Detached& detached) noexcept;
  void give_back(const memory::Segment& segment) noexcept;
  void give_back_all(Heap& arena) noexcept;

  std::mutex mutex_;  ///< of the two below, of arenas' streams and of segments' arenas
  std::vector<std::unique_ptr<Heap>> arenas_;  ///< never shrinks: found ones stay lockable
  std::map<const std::byte*, std::unique_ptr<memory::Segment>> segments_;
  std::atomic<std::size_t> limit_, reserved_ = 0, allocations_ = 0;
  std::mutex callbacks_mutex_;
  std::vector<std::shared_ptr<PressureCallback>> callbacks_;
};

}  // namespace quarry
