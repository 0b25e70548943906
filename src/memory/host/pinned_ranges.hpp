// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "backend/backend.hpp"

namespace quarry::memory {

/// The program's memory that is page-locked. The driver registers no byte twice: only bytes that
/// are not registered yet are passed to it, and shared bytes have a reference count.
/// Neighbouring bytes are never registered, since the driver's copies of partly registered
/// memory fail.
class PinnedRanges {
 public:
  /// The CPU device's, which locks nothing, or that of all GPUs.
  static PinnedRanges& of(const backend::Device& device);

  /// One registration of the driver, by its first address.
  using Segments = std::vector<std::uintptr_t>;
  /// Locks [data, data + bytes). Throws LogicError if a part of it is locked with incompatible
  /// options, and the driver's errors; then nothing has changed.
  Segments lock(const void* data, std::size_t bytes, backend::Device& device,
                const backend::HostMemoryFlags& flags);
  /// Unlocks bytes without other registrations. Throws driver errors, after it has tried all.
  void unlock(const Segments& segments);

  /// As memory::is_split.
  bool splits(const void* data, std::size_t bytes) const;

 private:
  struct Segment {
    std::uintptr_t end;
    backend::Device* device;
    backend::HostMemoryFlags flags;
    int count;
  };
  struct Piece {
    std::uintptr_t begin, end;
    bool is_new;
  };
  std::vector<Piece> plan(std::uintptr_t begin, std::uintptr_t end) const;
  void require_same_kind(const Piece& piece, const backend::Device& device,
                         const backend::HostMemoryFlags& flags) const;
  void add(const Piece& piece, backend::Device& device, const backend::HostMemoryFlags& flags);
  void forget(std::uintptr_t begin);
  void drop(const Segments& segments);

  std::mutex changing_;  ///< held while the driver locks and unlocks, which may take long
  mutable std::shared_mutex mutex_;  ///< of the map, for readers without the other one
  std::map<std::uintptr_t, Segment> segments_;
  std::atomic<std::size_t> count_ = 0;
};

/// Whether GPUs' copies of [data, data + bytes) fail: the range touches memory that the library has
/// page-locked for the program, but does not lie in one registration of the driver. One load when
/// nothing is registered. Any thread.
bool is_split(const void* data, std::size_t bytes);

}  // namespace quarry::memory
