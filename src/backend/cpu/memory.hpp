// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>

#include "backend/backend.hpp"

namespace quarry::backend::cpu_backend {

/// Aligned memory, or nullptr. Requests above the available memory are refused, because Linux would
/// overcommit and kill the process later.
void* aligned_memory(std::size_t bytes);
/// Frees memory of aligned_memory(), or nullptr.
void release_memory(void* memory) noexcept;

/// Rows at a pitch of 256 bytes or a multiple.
Device::Pitched pitched_memory(std::size_t width, std::size_t height);

/// What a GPU would have page-locked or managed, so that a program is told the same here.
class KnownMemory {
 public:
  void* allocate_host(std::size_t bytes, const HostMemoryFlags& flags);
  void free_host(void* memory) noexcept;
  void* allocate_managed(std::size_t bytes);
  /// For memory of any kind except page-locked.
  void free(void* memory) noexcept;

  /// Throws LogicError if any of it is registered already.
  void register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags);
  void unregister_host(void* memory);  ///< throws LogicError if it is not registered

  /// These two throw LogicError for an address that is not page-locked.
  unsigned flags(const void* memory) const;
  void* device_pointer(void* memory) const;
  PointerInfo info(const void* address) const;
  /// Throws LogicError unless `memory` is the start of managed memory.
  void require_managed(const void* memory) const;

 private:
  enum class Origin { allocated, registered, managed };
  struct Block {
    Origin origin;
    std::size_t bytes;
    unsigned flags;
  };
  using Blocks = std::map<const std::byte*, Block>;

  void* add(void* memory, const Block& block);
  Blocks::const_iterator containing(const void* address) const;
  const Block& page_locked(const void* memory) const;

  mutable std::mutex mutex_;
  Blocks blocks_;
  std::atomic<std::size_t> managed_ = 0;  // blocks: free() looks nothing up while there are none
};

/// The bytes allocated from the stream-ordered pool, which caches nothing.
class PooledBytes {
 public:
  void add(std::size_t bytes);
  void remove(std::size_t bytes) { used_ -= bytes; }
  DriverPoolInfo info() const;

 private:
  std::atomic<std::size_t> used_ = 0, high_ = 0;
};

}  // namespace quarry::backend::cpu_backend
