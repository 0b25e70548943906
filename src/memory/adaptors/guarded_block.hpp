// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/red_zone.hpp>

#include <cstdint>
#include <optional>

namespace quarry::memory {

/// A block between two zones. Where the host accesses the memory, the functions that read or write
/// wait for the work of its streams.
struct GuardedBlock {
  void* base;          ///< memory of the upstream
  std::byte* body;     ///< memory of the user
  std::size_t before;  ///< bytes in front of the body: the zone, rounded up to the alignment
  std::size_t bytes;
  std::size_t zone;
  std::size_t alignment;
  std::uint64_t number;
  Stream stream;  ///< of its last use
  bool is_reported = false;

  std::size_t whole() const { return before + bytes + zone; }
};

/// Whether the host accesses it directly; not managed memory of a GPU, which a kernel may be
/// using.
bool is_touched_by_host(const Resource& resource);

/// Zones get their pattern and the body its poison, in the order of the block's stream.
void arm(const GuardedBlock& block, bool by_host);
void poison_body(const GuardedBlock& block, bool by_host);

/// The first byte of a zone that was written to.
std::optional<MemoryFault> find_overwritten_zone(const GuardedBlock& block, bool by_host);
/// The first byte of the body of a freed block that was written to.
std::optional<MemoryFault> find_late_write(const GuardedBlock& block, bool by_host);

}  // namespace quarry::memory
