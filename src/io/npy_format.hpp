// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/dtype.hpp>
#include <quarry/base/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/npy_descr.hpp"

/// NumPy's .npy format (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) on
/// host memory. A file is not trusted: what it declares is checked before anything is allocated.
namespace quarry::npy {

/// What a file begins with.
inline constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  Descr descr;
  bool fortran_order;
  Shape shape;
  std::size_t data_offset;  ///< from the start of the file, in bytes
  std::size_t data_size;    ///< in bytes; the file has them all
};

/// NumPy's own limit for the text of a header.
inline constexpr std::size_t max_header_text = 10'000;
/// As much of a file as parse_header can need.
inline constexpr std::size_t max_header_size = 12 + max_header_text;

/// Reads versions 1.0, 2.0 and 3.0. `start` is the first max_header_size bytes of the file, or all
/// of a shorter one; `file_size` is the size of the whole. Bytes after the data are allowed, as in
/// NumPy. Integers are plain decimal digits: no sign, underscore or Python 2 `L`. Throws
/// FormatError for whatever NumPy does not write, object types included, and
/// DTypeError for bfloat16, which the format cannot tell from two raw bytes.
Header parse_header(std::span<const std::byte> start, std::uint64_t file_size);

/// Everything before the data, padded to 64 bytes: byte for byte what numpy.save writes. Throws
/// DTypeError for bfloat16 and for records without fields, which have no code in the format, and
/// for a header longer than readers take.
std::string make_header(DType type, Order order, const Shape& shape);

/// The same in exactly `size` bytes, without room for more. Throws FormatError if it does not fit.
std::string make_header(DType type, Order order, const Shape& shape, std::size_t size);

}  // namespace quarry::npy
