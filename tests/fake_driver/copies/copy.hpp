// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>

/// Copies of every shape, as queued work.
namespace quarry::fake {

/// One side of a copy: where it begins, and how far its rows and slices are apart, in bytes.
struct Side {
  CUdeviceptr at = 0;
  bool is_device = false;  ///< said to be; memory that the driver knows is found all the same
  std::size_t pitch = 0, slice = 0;
  int device = -1;       ///< that it must lie on; -1 for any
  std::uint64_t id = 0;  ///< of the block at the call; 0 for pageable memory
};

/// `slices` of `rows` of `bytes` bytes.
struct Box {
  Side to, from;
  std::size_t bytes = 0, rows = 1, slices = 1;

  std::size_t total() const { return bytes * rows * slices; }
  std::size_t span(const Side& side) const {
    return (slices - 1) * side.slice + (rows - 1) * side.pitch + bytes;
  }
};

Side host_side(const void* memory);
Side device_side(CUdeviceptr address);

/// As CUDA: bytes of pageable memory are taken at the call, and a copy to pageable memory returns
/// when it has been done. A copy that `waits` returns when it has been done, or, from pageable
/// memory to the device, when the work before it has been and the bytes are taken. Host memory that
/// crosses from one registration into another, or into pageable memory, is an invalid value.
CUresult copy(Box box, CUstream stream, bool waits);

/// A copy of a batch; `is_read_now` takes the source's bytes at the call.
struct BatchedCopy {
  Box box;
  bool is_read_now;
};
/// One operation that copies them all, in an order that the seed picks.
CUresult copy_batch(std::span<const BatchedCopy> copies, CUstream stream);

}  // namespace quarry::fake
