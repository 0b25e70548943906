// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>

#include <atomic>
#include <map>

#include "runtime/stream_state.hpp"

namespace quarry::memory {

/// Sizes are rounded up to one of eight steps in each power of two, so that freed blocks fit again;
/// at most an eighth is lost.
struct SizeClass {
  static constexpr int count = 8 * 56;
  int index;
  std::size_t bytes;
};
SizeClass size_class(std::size_t bytes);

/// The free blocks of one stream, by class. Whoever takes one there queues its work behind the work
/// of the one who freed it.
struct StreamBlocks {
  std::mutex mutex;
  std::vector<void*> free[SizeClass::count];
};

/// Caches the memory of one device. The path of an allocation that finds a block of its own stream
/// takes that stream's lock and calls nobody.
class Pool {
 public:
  static Pool& of(backend::Device& device);

  void* allocate(std::size_t bytes, const Stream& stream);
  void deallocate(void* block, std::size_t bytes, const Stream& home,
                  const std::vector<Stream>& others) noexcept;
  /// Waits for the device and frees all cached blocks.
  void trim();
  PoolStatistics statistics() const;

 private:
  explicit Pool(backend::Device& device) : device_(device) {}
  StreamBlocks& blocks_of(const Stream& stream);
  void* take(StreamBlocks& blocks, int index);
  void* from_orphans(int index, const Stream& stream);
  void* from_device(std::size_t bytes);
  void adopt_orphans(detail::StreamState& state) noexcept;
  void free_all(StreamBlocks& blocks) noexcept;
  [[noreturn]] void throw_out_of_memory(std::size_t bytes);

  /// Blocks of a stream that is gone; they may be used when its last work is done.
  struct Orphans {
    std::unique_ptr<StreamBlocks> blocks;
    backend::Event done;
  };

  backend::Device& device_;
  std::mutex mutex_;  // of the two lists
  std::vector<detail::StreamState*> streams_;
  std::vector<Orphans> orphans_;
  std::atomic<std::size_t> active_ = 0, held_ = 0, allocations_ = 0;
};

}  // namespace quarry::memory
