// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/foreign.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace quarry {

/// The CUDA Array Interface, version 3: what Python objects have as __cuda_array_interface__, as a
/// struct (https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html).
struct CudaArrayInterface {
  Shape shape;                ///< extents
  std::string typestr;        ///< as NumPy's: "<f4"
  std::uintptr_t data = 0;    ///< address of element 0
  bool is_read_only = false;  ///< second entry of `data`
  /// In bytes; C order if none.
  std::optional<Strides> strides = std::nullopt;
  int version = 3;  ///< of the interface
  /// In which the data are ready: a CUstream, 1 the legacy default stream, 2 the per-thread one.
  /// None if they are ready.
  std::optional<std::uintptr_t> stream = std::nullopt;
};

/// The array for another library, without a copy; it has to stay alive while that one uses it. What
/// has been queued on it in any stream is ready in the interface's. Throws LogicError for an array
/// on the CPU device, DTypeError for records and bfloat16, which have no typestr.
CudaArrayInterface cuda_array_interface(const DeviceNDArrayBase& array);

/// An array over the memory of another library, kept alive by `owner`: it is released once no array
/// uses it and the work queued on it is done. `stream`, by default the current one, waits for the
/// interface's stream. The interface is not trusted: throws DTypeError for another typestr,
/// LogicError for a version below 2, stream 0, memory that no GPU can access, and without an owner;
/// ShapeError, SizeOverflow.
UntypedNDArray from_cuda_array_interface(const CudaArrayInterface& interface,
                                         std::shared_ptr<void> owner,
                                         const std::optional<Stream>& stream = std::nullopt);

}  // namespace quarry
