// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/shape.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace quarry {

/// Which index runs fastest: the last (as C) or the first (as Fortran). `a` is f for an array that
/// is dense in that order alone, else c.
enum class Order : char { c = 'C', f = 'F', a = 'A' };

/// Shape and strides of an array. Strides are in bytes and signed.
struct Layout {
  Shape shape;      ///< extents of the axes
  Strides strides;  ///< from one element to the next, along each axis

  std::size_t rank() const noexcept { return shape.size(); }  ///< number of axes
  /// Whether shapes and strides are equal.
  friend bool operator==(const Layout&, const Layout&) = default;
};

///@{
/// Strides of a dense array. Throws SizeOverflow if its bytes do not fit; an array without elements
/// always has strides.
Strides c_strides(const Shape& shape, std::size_t itemsize);
Strides f_strides(const Shape& shape, std::size_t itemsize);
Strides dense_strides(const Shape& shape, std::size_t itemsize, Order order);
///@}

///@{
/// Dense and in order. Strides of unit extents are ignored; an array without elements is both.
bool is_c_contiguous(const Layout& layout, std::size_t itemsize);
bool is_f_contiguous(const Layout& layout, std::size_t itemsize);
///@}

/// c or f: what `order` means for an array of this layout.
Order resolve_order(Order order, const Layout& layout, std::size_t itemsize);

///@{
/// The shape to which all broadcast. Throws ShapeError naming the shapes if there is none, or
/// SizeOverflow if it has too many elements.
Shape broadcast_shapes(const Shape& a, const Shape& b);
Shape broadcast_shapes(std::span<const Shape> shapes);
///@}

/// The layout broadcast to `shape`: stride 0 along every axis that is stretched or added.
Layout broadcast_to(const Layout& layout, const Shape& shape);

/// Byte offsets from element 0: the elements lie in [lowest, past). Both are 0 without elements.
struct ByteBounds {
  std::int64_t lowest;  ///< offset of the first byte
  std::int64_t past;    ///< offset past the last byte

  /// Whether both bounds are equal.
  friend bool operator==(const ByteBounds&, const ByteBounds&) = default;
};
/// Throws SizeOverflow if an element's offset does not fit; strides of unit extents do not count.
/// Throws ShapeError for a negative extent.
ByteBounds byte_bounds(const Layout& layout, std::size_t itemsize);

/// Negative axes count from the end. Throws ShapeError if there is no such axis.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank);
/// In the order given. Also throws ShapeError if an axis comes twice.
Axes normalize_axes(std::span<const std::int64_t> axes, std::size_t rank);

/// `shape` with its only -1, if any, replaced so that it has `count` elements. Throws ShapeError.
Shape infer_shape(const Shape& shape, std::int64_t count);
/// The strides of a view with `shape`, in `order`; nothing if a copy is needed. Throws ShapeError
/// if the number of elements differs.
std::optional<Strides> reshape_strides(const Layout& layout, std::size_t itemsize,
                                       const Shape& shape, Order order = Order::c);

/// Fewer axes for the same elements in the same (C) order: drops unit axes and merges neighbours
/// where every operand allows it. Each of `strides` belongs to `shape`. Without elements the result
/// is (0,) with stride 0; a single element gives ().
void collapse(Shape& shape, std::span<Strides* const> strides);

/// Reorders the axes, alike in all operands, so that the first operand's strides descend in
/// magnitude. Axes with equal strides keep their order; signs stay.
void sort_axes(Shape& shape, std::span<Strides* const> strides);

}  // namespace quarry
