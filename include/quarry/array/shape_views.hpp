// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/view.hpp>

#include <vector>

/// What NumPy's shape functions do with a layout, whatever the elements are; the functions of
/// arrays are in ops/shape.hpp. All throw ShapeError, with the values, for axes that there are not.
namespace quarry::shape_views {

/// New axes of extent 1 at these places of the result.
View expand_dims(const Layout& layout, std::span<const std::int64_t> axes);
/// These two axes change places.
View swapaxes(const Layout& layout, std::int64_t first, std::int64_t second);
/// Axes `from` of the layout are axes `to` of the result; the others keep their order.
View moveaxis(const Layout& layout, std::span<const std::int64_t> from,
              std::span<const std::int64_t> to);
/// The axis stands before the one that was `start`.
View rollaxis(const Layout& layout, std::int64_t axis, std::int64_t start);
/// The elements whose position along the second axis is that along the first plus `offset`; their
/// axis is the last one.
View diagonal(const Layout& layout, std::int64_t offset, std::int64_t first, std::int64_t second);
/// Backwards along these axes.
View flip(const Layout& layout, std::span<const std::int64_t> axes);
/// Backwards along all axes.
View flip(const Layout& layout);
/// Turned by `quarters` of a turn, from the first of two axes to the second.
View rot90(const Layout& layout, std::int64_t quarters, std::span<const std::int64_t> axes);
/// Every window of these extents, one extent for each of `axes`, which may repeat: the positions of
/// windows are the axes of the layout, positions in a window are new axes behind them.
View sliding_window_view(const Layout& layout, std::span<const std::int64_t> window,
                         std::span<const std::int64_t> axes);
///@{
/// NumPy's atleast_1d, atleast_2d, atleast_3d.
View atleast_1d(const Layout& layout);
View atleast_2d(const Layout& layout);
View atleast_3d(const Layout& layout);
///@}
/// A layout of no or one axis as a column.
View columns(const Layout& layout);
/// A layout of one axis, which is axis `axis` of `rank`, the others having extent 1.
View along(const Layout& line, std::size_t axis, std::size_t rank);
/// A range of one axis.
View cut(const Layout& layout, std::int64_t axis, const Range& range);
/// Throws ShapeError, naming the function, if there are fewer axes, or more than `most`.
void require_rank(const Shape& shape, std::size_t least, const char* function,
                  std::size_t most = max_rank);

///@{
/// The ranges that NumPy's split and array_split make of an axis. Throw ShapeError for a number of
/// parts below 1; `equal` also if the parts are not.
std::vector<Range> parts(const Shape& shape, std::int64_t axis, std::int64_t count, bool equal);
/// Before, between and after these positions.
std::vector<Range> parts(const Shape& shape, std::int64_t axis,
                         std::span<const std::int64_t> positions);
///@}
/// The axis along which NumPy's hsplit and hstack work.
std::int64_t horizontal_axis(std::size_t rank);

}  // namespace quarry::shape_views
