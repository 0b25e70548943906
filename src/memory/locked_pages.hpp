// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "backend/backend.hpp"

namespace quarry::memory {

/// The pages of the program's memory that are page-locked. The driver takes no page twice: it is
/// told of the pages that it does not have yet, and counts keep what registrations share.
class LockedPages {
 public:
  /// The CPU device's, which locks nothing, or that of all GPUs.
  static LockedPages& of(const backend::Device& device);

  /// One registration of the driver, by its first address.
  using Segments = std::vector<std::uintptr_t>;
  /// Locks the pages of [data, data + bytes). Throws LogicError if pages of them are locked in a
  /// way that does not do, and what the driver throws; then nothing has changed.
  Segments lock(const void* data, std::size_t bytes, backend::Device& device,
                const backend::HostMemoryFlags& flags);
  /// Unlocks what nobody else has locked. Throws what the driver throws, after it has tried all.
  void unlock(const Segments& segments);

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
  void drop(const Segments& segments);

  std::mutex mutex_;
  std::map<std::uintptr_t, Segment> segments_;
};

}  // namespace quarry::memory
