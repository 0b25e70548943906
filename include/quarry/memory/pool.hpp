// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

namespace quarry {

/// What a pool holds, in bytes.
struct PoolStatistics {
  std::size_t active_bytes = 0;        ///< handed out (sizes as rounded)
  std::size_t held_bytes = 0;          ///< cached, free to be used again
  std::size_t largest_free_bytes = 0;  ///< the largest block that is cached in one piece
  std::size_t peak_active_bytes = 0;   ///< the most that was handed out
  std::size_t allocations = 0;         ///< calls that had to ask the upstream
  /// The most that is taken from the upstream.
  std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// How a pool is made.
struct PoolOptions {
  /// No more than this is taken from the upstream.
  std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// A sub-allocator on any resource. An allocation that finds memory of its own stream takes that
/// stream's lock and calls nobody. Memory of another stream is taken when that stream is idle,
/// before fresh memory is asked for; from a busy one only when there is no fresh memory, behind its
/// work. A copy is a handle of the same pool, and so is what was moved from. Memory that is handed
/// out keeps the pool alive.
class Pool {
 public:
  /// A pool over any resource, which may be shared with others.
  explicit Pool(Resource upstream, const PoolOptions& options = {});
  ///@{
  /// A handle of the same pool.
  Pool(const Pool&) = default;
  Pool& operator=(const Pool&) = default;
  ///@}
  /// The pool that arrays on `device` come from when nobody says otherwise; lives as long as the
  /// process.
  static Pool of(const Device& device);

  /// Throws MemoryError, after everything that is cached has been tried and given back, with the
  /// figures of PoolStatistics and what the device has.
  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment);
  ///@{
  /// Handed out again in the order of `stream`, after the work that `others` have queued so far.
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept;
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) noexcept;
  ///@}
  MemorySpace space() const;  ///< of the upstream
  Device device() const;      ///< of the upstream
  std::string name() const;   ///< for messages

  const Resource& upstream() const;  ///< where its memory comes from
  /// Waits for the streams whose memory is cached, and gives it back to the upstream.
  void trim();
  PoolStatistics statistics() const;  ///< of this moment
  /// Throws LogicError, and keeps the old one, if more than `bytes` are handed out.
  void set_limit(std::size_t bytes);

  /// Called when an allocation on the pool's device, from this pool or by any other way, finds no
  /// memory after all that is cached has been given back: `f(bytes, attempt)` frees something and
  /// returns whether it is worth another attempt, of which there are 8 at most. What `f` itself
  /// allocates is not helped so, and throws MemoryError at once. Returns what removes it.
  using PressureCallback = std::function<bool(std::size_t bytes, int attempt)>;
  /// Holds for as long as what it returns.
  [[nodiscard]] std::shared_ptr<void> on_pressure(PressureCallback f);

  struct State;

 private:
  explicit Pool(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Of Pool::of(device).
PoolStatistics pool_statistics(const Device& device);
/// Waits for the device and gives cached memory back to it.
void trim_pool(const Device& device);

}  // namespace quarry
