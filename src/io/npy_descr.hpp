// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/dtype.hpp>
#include <quarry/base/shape.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace quarry::npy {

class Literal;
struct DescrField;

/// The element type that a file declares: a number, or a record that has fields.
struct Descr {
  DType dtype;              ///< of a record only the size is known
  bool swap_bytes = false;  ///< numbers are big-endian
  std::vector<DescrField> fields;
};
/// A field of such a record. Bytes between fields have none.
struct DescrField {
  std::string name;
  std::size_t offset;
  Shape shape;
  Descr descr;

  /// Of all of its elements, in bytes.
  std::size_t bytes() const { return std::size_t(element_count(shape)) * descr.dtype.itemsize(); }
};

/// Reads 'descr' of a header: the string of a number, or a list of tuples, as NumPy writes them.
/// Throws FormatError for whatever NumPy does not write, and for raw bytes, strings, dates, objects
/// and titles; DTypeError for bfloat16, which the format cannot tell from two raw bytes.
Descr read_descr(Literal& in);

/// "float32", or the fields of a record for a message: "a record of 'x' float32, 'y' float32 (2,)".
std::string to_string(const Descr& descr);

/// Makes elements as read usable: reverses the bytes of big-endian numbers and turns every non-zero
/// bool into 1. `elements` holds whole elements.
void normalise(const Descr& descr, std::span<std::byte> elements);

/// Whether normalise() may be called with any part of the elements, not just with whole ones.
bool is_bytewise(const Descr& descr);
/// Whether a number in it is big-endian.
bool swaps_bytes(const Descr& descr);

/// Whether elements of `type` can be made of the file's: the same number, or a record whose fields
/// have the same names, shapes and types. Their order and padding do not matter.
bool has_elements(const Descr& descr, const DType& type);
/// Whether such elements have the same bytes in memory as in the file.
bool has_layout(const Descr& descr, const DType& type);
/// Copies elements field by field; the padding of `to` is left alone.
void repack(const Descr& descr, const DType& type, std::span<const std::byte> from, std::byte* to);

}  // namespace quarry::npy
