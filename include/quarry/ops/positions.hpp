// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>

#include <vector>

/// Reading elements at positions that arrays and expressions hold; see take.hpp and indexing.hpp.
namespace quarry {

/// What becomes of positions outside of the axis; NumPy's `mode`.
enum class IndexMode {
  raise,  ///< IndexError; negative ones count from the end
  wrap,   ///< they count modulo the extent
  clip,   ///< they are the nearest one inside, negative ones position 0
};

namespace expr {

/// Throws IndexError, with the extents, unless an axis of a mask has the extent of the array's, or
/// 0: where nothing is selected, it goes with any, as in NumPy.
void require_mask_extent(std::int64_t of_mask, std::int64_t of_array, std::size_t axis);

/// An array at position 0 of some of its axes, in whose place are axes of extent 1, as many as the
/// positions have.
struct SideView {
  View window;
  std::vector<kernels::side_axis> own;
  std::vector<std::size_t> axes;  ///< the numbers of those in the array
  std::size_t behind = 0;         ///< how many axes come after those of the positions
  bool is_exact = true;           ///< whether the own axes have elements of the array only
  bool is_injective = false;      ///< whether no two positions can be the same
  /// Of the positions, if it is queued.
  std::shared_ptr<const quarry::detail::QueuedCheck> check = nullptr;

  /// Whether one of them has no elements. Then the window has strides 0.
  bool is_empty() const;
};
/// Of one axis. Throws ShapeError for an axis that the array has not.
SideView side_view(const DeviceNDArrayBase& array, std::int64_t axis, std::size_t axes_in_place);
/// An entry of an index, or in its place an array of positions; those of a mask are where it is
/// true, in C order of its axes together.
struct SideEntry {
  Index index;
  const DeviceNDArrayBase* positions = nullptr;
  const Shape* mask = nullptr;
};
/// Of the axes with positions, which are checked as by check_inside. Their axes, broadcast
/// together, come where NumPy has them. Throws IndexError as indexing does, for a position outside
/// (unless there is none together; one without axes always), for a mask that has not the extents of
/// its axes and for shapes that do not broadcast together.
SideView side_view(const DeviceNDArrayBase& array, std::span<const SideEntry> entries);
bool has_aligned_elements(const DeviceNDArrayBase& array);
/// Throws IndexError for positions on an axis without elements.
void require_elements(const SideView& side, const Shape& positions);
/// Throws IndexError, with the first one, if a position, an integer or bool, is outside of axis
/// number `n` of the side view's own. Waits for the positions, unless they are so many on a GPU
/// that the check is queued: then it is the side view's.
void check_inside(const DeviceNDArrayBase& positions, SideView& side, std::size_t n);
/// Throws IndexError, with the first one, if a position is none of so many choices. Negative ones
/// are none. Waits for them.
void require_choices(const DeviceNDArrayBase& positions, std::int64_t count);
/// What positions are broadcast to before elements of shape `written`, of as many axes, are written
/// at them: axes of extent 1 stay so in front of all others and behind them, since turns
/// (expr/scatter.hpp) have none between. Where there are no elements, there are no positions.
Shape shape_of_turns(const Shape& positions, const Shape& written);
/// Throws ShapeError unless both have as many axes.
void require_same_rank(const Shape& positions, const Shape& array);

template <IndexMode Mode>
inline constexpr kernels::index_mode kernel_mode = kernels::index_mode::from_end;
template <>
inline constexpr kernels::index_mode kernel_mode<IndexMode::wrap> = kernels::index_mode::wrap;
template <>
inline constexpr kernels::index_mode kernel_mode<IndexMode::clip> = kernels::index_mode::clip;

/// An array whose kernels can read single elements.
template <class T>
DeviceNDArray<T> aligned_array(const DeviceNDArray<T>& array) {
  return has_aligned_elements(array) ? array : DeviceNDArray<T>(array.copy());
}

/// `positions` with so many axes of extent 1 behind theirs.
template <class P>
P with_axes(const P& positions, std::size_t axes) {
  if (axes == 0) return positions;
  std::vector<Index> entries(1 + axes, newaxis);
  entries[0] = ellipsis;
  return positions(std::span<const Index>(entries));
}

/// Of an axis without elements nothing is read: an element that is not in the array stands there.
template <class T>
DeviceNDArray<T> window_of(const DeviceNDArray<T>& array, const SideView& side) {
  const auto seen = [&](const auto& of, std::int64_t offset) {
    return DeviceNDArray<T>(side.window.layout, of.address() + offset, of.buffer())
        .bind(array.stream());
  };
  if (!side.is_empty()) return seen(array, side.window.offset);
  return seen(DeviceNDArray<std::remove_const_t<T>>(Shape{1}, array.stream()), 0);
}

template <class T, int Axes>
SideLeaf<T, Axes> side_leaf(const DeviceNDArray<T>& array, const SideView& side) {
  SideLeaf<T, Axes> leaf{array, window_of(array, side), {}, side.check};
  for (std::size_t n = 0; n < Axes; ++n) leaf.axis[n] = side.own[n];
  return leaf;
}

}  // namespace expr
}  // namespace quarry
