// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fake_driver/memory/arena.hpp"

/// The registry of all memory that the driver knows.
namespace quarry::fake {

enum class BlockKind { device, pooled, imported, page_locked, registered, managed };

struct Block {
  BlockKind kind;
  std::size_t bytes;
  int device;  ///< -1 for the host's and for managed memory
  std::byte* memory;
  unsigned flags = 0;    ///< CU_MEMHOSTALLOC_*, CU_MEMHOSTREGISTER_* or CU_MEM_ATTACH_*
  std::uint64_t id = 0;  ///< of this block alone: addresses of the host are used again
  bool is_ready = true;  ///< false for pool memory whose allocation has not been reached
};

/// A block and where it begins.
struct Found {
  CUdeviceptr start = 0;
  Block block;
};

class Memory {
 public:
  void set_devices(const std::vector<std::size_t>& capacities);
  void part_from_parent();  ///< of a process that was forked
  void set_capacity(int device, std::size_t bytes);
  std::size_t set_host_capacity(std::size_t bytes);
  void forget(int device);  ///< drops the device's blocks

  CUresult allocate(int device, std::size_t bytes, CUdeviceptr* out);
  /// A block of cuMemAlloc and its like, or of cuMemAllocManaged.
  CUresult free(CUdeviceptr address);

  /// Memory of a driver's pool: its bytes are reserved apart from it.
  bool reserve(int device, std::size_t bytes);
  void unreserve(int device, std::size_t bytes);
  CUresult allocate_pooled(int device, std::size_t bytes, CUdeviceptr* out);
  void make_ready(CUdeviceptr address);
  void free_pooled(CUdeviceptr address);

  CUresult allocate_host(std::size_t bytes, unsigned flags, void** out);
  CUresult free_host(void* memory);
  CUresult register_host(void* memory, std::size_t bytes, unsigned flags);
  CUresult unregister_host(void* memory);
  CUresult allocate_managed(std::size_t bytes, unsigned flags, CUdeviceptr* out);
  void attach(CUdeviceptr address, unsigned flags);

  std::optional<SharedBlock> share(CUdeviceptr address);
  CUdeviceptr import(const SharedBlock& block);
  bool close_import(CUdeviceptr address);

  /// False if that is what holds already.
  bool set_peer(int device, int peer, bool is_enabled);

  /// The live block that holds all of [address, address + bytes).
  std::optional<Found> look(CUdeviceptr address, std::size_t bytes = 1) const;
  /// Where those bytes are kept, or nullptr unless work of `device` may touch them now; any
  /// device's copies for -1.
  std::byte* find(CUdeviceptr address, std::size_t bytes, int device) const;
  /// Whether registered memory holds some of those bytes, but not all in one registration: the
  /// driver does not copy such a range.
  bool is_split(CUdeviceptr address, std::size_t bytes) const;
  /// Whether an address is one that only devices can follow.
  bool is_reserved(CUdeviceptr address) const;

  struct Usage {
    std::size_t blocks = 0, bytes = 0, capacity = 0;
  };
  Usage usage(int device) const;
  Usage usage(BlockKind kind) const;  ///< blocks and their bytes
  int devices() const;

 private:
  using Blocks = std::map<CUdeviceptr, Block>;
  Blocks::const_iterator containing(CUdeviceptr address, std::size_t bytes) const;
  CUdeviceptr add(CUdeviceptr address, Block block);
  void release(Blocks::iterator block);
  bool has_room(const Usage& used, std::size_t bytes) const;
  CUresult take_host(BlockKind kind, std::size_t bytes, unsigned flags, CUdeviceptr* out);

  mutable std::mutex mutex_;
  Arena arena_;
  Blocks blocks_;
  std::vector<Usage> used_;
  std::size_t host_capacity_ = std::size_t{1} << 40, host_bytes_ = 0;
  std::set<std::pair<int, int>> peers_;
  std::uint64_t next_id_ = 1;
};

}  // namespace quarry::fake
