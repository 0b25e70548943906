// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/npy.hpp>

#include <memory>
#include <string>

#include "io/npy_file.hpp"
#include "io/npy_reader.hpp"

/// Between arrays in host memory and the bytes of .npy files.
namespace quarry::npy {

using Block = std::unique_ptr<std::byte, quarry::detail::FreeHostBlock>;
/// Throws MemoryError with `what` in its text.
Block allocate(std::size_t size, const std::string& what);

/// Throws DTypeError if elements of `expected` cannot be made of the file's.
void require_elements(const Reader& file, DType expected);
/// All elements, and verify(). Throws DTypeError and MemoryError, and what the reader throws.
quarry::detail::NpyContents read_array(Reader& file, DType expected);

/// The whole .npy file, in the array's order if that is C or Fortran, else in C order. Throws
/// LogicError for memory at no address, DTypeError, and what the sink throws.
void write_array(Sink& file, const HostRef& array);

/// The elements alone, in C order.
void write_elements(Sink& file, const HostRef& array);

/// The elements of an array of any device in new host memory, dense. Waits for it.
class HostImage {
 public:
  HostImage(const DeviceNDArrayBase& array, const std::string& what);
  const HostRef& ref() const { return ref_; }

 private:
  Block block_;
  HostRef ref_;
};

}  // namespace quarry::npy
