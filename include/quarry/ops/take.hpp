// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/reduce.hpp>

#include <vector>

/// Elements at positions that an array or an expression holds. Results are lazy: the expression
/// around them is computed in the same kernel, and nothing is copied.
namespace quarry {

/// What becomes of positions outside of the axis; NumPy's `mode`.
enum class IndexMode {
  raise,  ///< IndexError; negative ones count from the end
  wrap,   ///< they count modulo the extent
  clip,   ///< they are the nearest one inside, negative ones position 0
};

namespace expr {

/// An array at position 0 of one of its axes, in whose place are axes of extent 1.
struct SideView {
  Layout window;
  kernels::side_axis own;
  std::size_t axis;  ///< its number in the array
};
/// Throws ShapeError for an axis that the array has not. Of an axis without elements the window has
/// strides 0.
SideView side_view(const DeviceNDArrayBase& array, std::int64_t axis, std::size_t axes_in_place);
bool has_aligned_elements(const DeviceNDArrayBase& array);
/// Throws IndexError for positions on an axis without elements.
void require_elements(const SideView& side, const Shape& positions);
///@{
/// Throws IndexError.
[[noreturn]] void throw_outside(std::int64_t position, const SideView& side);
[[noreturn]] void throw_outside(std::uint64_t position, const SideView& side);
///@}
/// Throws ShapeError unless both have as many axes.
void require_same_rank(const Shape& positions, const Shape& array);

/// Throws IndexError, with the first one, if a position is outside. Waits for the positions.
template <class T>
void require_inside(const DeviceNDArray<T>& positions, const SideView& side) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  const auto outside = (positions < -side.own.extent) | (positions >= side.own.extent);
  if (positions.empty() || !any(outside).item()) return;
  throw_outside(Wide(positions.ravel()(argmax(outside).item()).item()), side);
}

template <IndexMode Mode>
inline constexpr kernels::index_mode kernel_mode = kernels::index_mode::from_end;
template <>
inline constexpr kernels::index_mode kernel_mode<IndexMode::wrap> = kernels::index_mode::wrap;
template <>
inline constexpr kernels::index_mode kernel_mode<IndexMode::clip> = kernels::index_mode::clip;

/// An operand as an array whose kernels can read single elements.
template <Operand A>
auto side_array(const A& a) {
  static_assert(is_numeric<A>(), "elements are taken of numbers: a record has no expression");
  auto array = eval(a);
  if (!has_aligned_elements(array)) array = array.copy();
  return array;
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
  const auto seen = [&](const auto& of) {
    return DeviceNDArray<T>(side.window, of.device_pointer(), of.buffer()).bind(array.stream());
  };
  if (side.own.extent > 0) return seen(array);
  return seen(DeviceNDArray<std::remove_const_t<T>>(Shape{1}, array.stream()));
}

/// The elements of `array`, of which `side` is a view, at `positions`.
template <IndexMode Mode, class T, class P>
auto pick(const DeviceNDArray<T>& array, const SideView& side, const P& positions) {
  using Tree = std::remove_cvref_t<decltype(as_tree(positions))>;
  return Node<Pick<kernel_mode<Mode>>, SideLeaf<T>, Tree>(
      SideLeaf<T>{array, window_of(array, side), side.own}, Tree(as_tree(positions)));
}

/// The same with `axes` axes behind those of the positions, which are checked if Mode says so.
template <IndexMode Mode, class T, Operand P>
auto pick_checked(const DeviceNDArray<T>& array, const SideView& side, const P& positions,
                  std::size_t axes) {
  require_elements(side, positions.shape());
  if constexpr (Mode == IndexMode::raise) {
    const auto evaluated = eval(positions);
    require_inside(evaluated, side);
    return pick<Mode>(array, side, with_axes(evaluated, axes));
  } else {
    return pick<Mode>(array, side, with_axes(positions, axes));
  }
}

}  // namespace expr

/// The elements of `a` at `positions` of axis `axis`, as NumPy's take: a lazy expression whose
/// shape is that of `a` with the shape of the positions in the place of the axis. `a` and the
/// positions, bools or integers, are arrays or expressions; an expression in the place of `a` is
/// evaluated first. With IndexMode::raise the positions are evaluated and checked at once, which
/// waits for them; the other modes neither check nor wait. Throws ShapeError for an axis that there
/// is not, IndexError for a position outside, with its value and the extent, and for positions on
/// an axis without elements.
template <IndexMode Mode = IndexMode::raise, expr::Operand A, expr::Operand P>
auto take(const A& a, const P& positions, std::int64_t axis) {
  static_assert(dtype_of<expr::element_t<P>>.kind() <= Kind::unsigned_integer,
                "positions are integers");
  auto array = expr::side_array(a);
  if (array.ndim() == 0) array = array.ravel();
  const expr::SideView side = expr::side_view(array, axis, positions.ndim());
  return expr::pick_checked<Mode>(array, side, positions, array.ndim() - 1 - side.axis);
}

/// The same of the elements of `a` in C order, as if it had one axis. A view where that is
/// possible, else they are copied first.
template <IndexMode Mode = IndexMode::raise, expr::Operand A, expr::Operand P>
auto take(const A& a, const P& positions) {
  return take<Mode>(expr::side_array(a).ravel(), positions, 0);
}

/// The element of `a` at each of the positions along `axis`, as NumPy's take_along_axis: the other
/// axes of `a` and of the positions broadcast together. Otherwise as take. Throws ShapeError unless
/// both have as many axes. `take_along_axis(a, argmax(a, 1, {.keepdims = true}), 1)` is max(a, 1).
template <IndexMode Mode = IndexMode::raise, expr::Operand A, expr::Operand P>
auto take_along_axis(const A& a, const P& positions, std::int64_t axis) {
  static_assert(detail::is_integer(dtype_of<expr::element_t<P>>.kind()), "positions are integers");
  expr::require_same_rank(positions.shape(), a.shape());
  const auto array = expr::side_array(a);
  return expr::pick_checked<Mode>(array, expr::side_view(array, axis, 1), positions, 0);
}

}  // namespace quarry
