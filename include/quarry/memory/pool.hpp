// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/callable.hpp>
#include <quarry/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace quarry {

/// What a pool holds, in bytes.
struct PoolStatistics {
  std::size_t active_bytes = 0;        ///< allocated, in rounded sizes
  std::size_t held_bytes = 0;          ///< cached, free for reuse
  std::size_t largest_free_bytes = 0;  ///< the largest block that is cached in one piece
  std::size_t peak_active_bytes = 0;   ///< the maximum of active_bytes
  std::size_t allocations = 0;         ///< calls that allocated from the upstream
  /// The most that is taken from the upstream.
  std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// How a pool is made.
struct PoolOptions {
  /// No more than this is taken from the upstream.
  std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// A sub-allocator over any resource. An allocation served from its own stream's freed memory takes
/// only that stream's lock and makes no other call. Memory of an idle stream is taken before new
/// memory is allocated; that of a busy stream only if there is no new memory, and after its work. A
/// copy is a handle to the same pool, and so is a moved-from pool. Allocated memory keeps the pool
/// alive.
class Pool {
 public:
  /// A pool over any resource, which may be shared with others.
  explicit Pool(Resource upstream, const PoolOptions& options = {});
  ///@{
  /// A handle of the same pool.
  Pool(const Pool&) = default;
  Pool& operator=(const Pool&) = default;
  ///@}
  /// The pool from which arrays on `device` allocate by default; lives as long as the
  /// process.
  static Pool of(const Device& device);

  /// Throws MemoryError, after all cached memory has been tried and freed, with the figures of
  /// PoolStatistics and of the device.
  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment);
  ///@{
  /// Reused in the order of `stream`, after the work that `others` have queued so far.
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept;
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) noexcept;
  ///@}
  /// Memory of `bytes` keeps its first `to`; the rest may be handed out again, in the order of
  /// `stream`, which alone may have used it. False, and nothing has changed, where it is not
  /// `stream` that the memory was taken for.
  bool shrink(const Stream& stream, void* memory, std::size_t bytes, std::size_t to,
              std::size_t alignment);
  MemorySpace space() const;  ///< of the upstream
  Device device() const;      ///< of the upstream
  std::string name() const;   ///< for messages

  const Resource& upstream() const;  ///< where its memory comes from
  /// Waits for the streams whose memory is cached, and returns it to the upstream.
  void trim();
  PoolStatistics statistics() const;  ///< of this moment
  /// Throws LogicError, and keeps the old limit, if more than `bytes` are allocated.
  void set_limit(std::size_t bytes);

  /// Called when an allocation on the pool's device, from this pool or not, fails after all cached
  /// memory has been freed: `f(bytes, attempt)` frees something and returns whether to try again,
  /// at most 8 times. Allocations in `f` do not call it: they throw MemoryError at once. Destroying
  /// the result removes the callback.
  using PressureCallback = detail::Callable<bool(std::size_t bytes, int attempt)>;
  /// Holds for as long as what it returns.
  [[nodiscard]] std::shared_ptr<void> on_pressure(PressureCallback f);

  struct State;

 private:
  explicit Pool(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Of Pool::of(device).
PoolStatistics pool_statistics(const Device& device);
/// Waits for the device and frees its cached memory.
void trim_pool(const Device& device);

}  // namespace quarry
