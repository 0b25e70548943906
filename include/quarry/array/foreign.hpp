// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

#include <memory>
#include <optional>

/// Memory that another library describes as an array, and the streams in which it is handed over.
/// dlpack.hpp and cuda_array_interface.hpp are made of these.
namespace quarry {

/// What another library says of an array. It is not trusted.
struct ForeignArray {
  void* data = nullptr;  ///< element 0
  DType dtype;           ///< of the elements
  Shape shape;           ///< extents of the axes
  /// In bytes; C order if none are given.
  std::optional<Strides> strides = std::nullopt;
  Device device = {};                       ///< whose streams use the memory
  MemorySpace space = MemorySpace::device;  ///< what kind of memory it is
  bool is_read_only = false;                ///< elements may not be written
};

/// An array over that memory, which `owner` keeps alive: it is released once no array uses the
/// memory and the work queued on it is done. The data have to be ready in the order of `home`, the
/// array's stream. Throws ShapeError for a negative extent or another number of strides than of
/// extents, SizeOverflow, LogicError for memory that the device cannot access, also where another
/// kind of memory lies at the address than `space` says, or without an owner. Read-only memory
/// gives arrays of const elements only.
UntypedNDArray adopt_array(const ForeignArray& foreign, std::shared_ptr<void> owner,
                           const Stream& home);

/// Makes the elements ready for another library, which reads or writes them in `consumer`: that
/// stream waits for all work queued on the array so far, and the memory is used again only after
/// its work. Without a consumer the host waits instead.
void hand_over(const DeviceNDArrayBase& array, const std::optional<Stream>& consumer);

}  // namespace quarry
