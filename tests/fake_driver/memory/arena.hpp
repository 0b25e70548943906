// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>

/// Addresses of device memory and the bytes behind them. Host code that follows an address faults;
/// the bytes lie in a file of memory that other processes can map. Addresses are never used twice.
/// Not safe from several threads.
namespace quarry::fake {

/// A block of some process's arena.
struct SharedBlock {
  std::int32_t process, file, device, unused;
  std::uint64_t offset, bytes, serial;
};

class Arena {
 public:
  /// Device blocks are aligned to this, and to no more.
  static constexpr std::size_t alignment = 512;
  static std::size_t round_up(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  void open();  ///< once, before anything else
  /// In a process that was forked: bytes of its own at the same addresses. No process reaches
  /// another's device memory by being its child.
  void part_from_parent();
  bool has_given(CUdeviceptr address) const { return address >= first_ && address < next_; }
  bool is_reserved(CUdeviceptr address) const {
    return address >= first_ && address - first_ < size_;
  }
  std::byte* memory(CUdeviceptr address) const { return view_ + (address - first_); }

  /// A new block with poison in it, or 0.
  CUdeviceptr take(std::size_t bytes);
  void give_back(CUdeviceptr address, std::size_t bytes);

  SharedBlock share(CUdeviceptr address, std::size_t bytes, std::uint64_t serial);
  /// Another process's block at an address of this one, or 0 when it is not there any more.
  CUdeviceptr map(const SharedBlock& block);
  void unmap(CUdeviceptr address, std::size_t bytes);

 private:
  CUdeviceptr take_addresses(std::size_t bytes);

  CUdeviceptr first_ = 0, next_ = 0;
  std::size_t size_ = 0;
  std::byte* view_ = nullptr;
  int file_ = -1;
};

}  // namespace quarry::fake
