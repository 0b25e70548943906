// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/shape_views.hpp>
#include <quarry/expr/evaluate.hpp>

#include <tuple>

/// NumPy's shape functions. Of an array they are views, mapped and managed ones keep their type; of
/// an expression they are expressions: nothing is copied, computed or launched. All throw
/// ShapeError, with the values, for axes that there are not and shapes that do not fit.
namespace quarry {

namespace expr {

/// An array or an expression as `rule` shows it.
template <ArrayOperand A>
auto viewed(const A& a, const ViewRule& rule) {
  return quarry::detail::Viewer::view(a, rule(a.layout()));
}
template <Expression E>
auto viewed(const E& e, const ViewRule& rule) {
  if constexpr (is_settled<E>) {
    return viewed(e, e.shape(), rule);
  } else {
    return viewed(eval(e), rule);
  }
}
/// The same of a view that shows elements several times: an array cannot be written through it.
template <class T>
DeviceNDArray<const std::remove_const_t<T>> viewed_again(const DeviceNDArray<T>& a,
                                                         const ViewRule& rule) {
  return quarry::detail::Viewer::view_const(a, rule(a.layout()));
}
template <Expression E>
auto viewed_again(const E& e, const ViewRule& rule) {
  return viewed(e, rule);
}

/// The common element type of operands; records must agree.
template <class First, class... More>
consteval auto common_element() {
  using T = std::remove_const_t<typename First::value_type>;
  if constexpr ((std::same_as<T, std::remove_const_t<typename More::value_type>> && ...)) {
    return std::type_identity<T>();
  } else {
    return std::type_identity<
        host_type_t<promote_arrays({type_of<First>(), type_of<More>()...})>>();
  }
}
template <class... A>
using common_element_t = typename decltype(common_element<A...>())::type;

template <Operand A>
auto pieces(const A& a, std::int64_t axis, const std::vector<Range>& ranges) {
  std::vector<decltype(viewed(a, std::declval<const ViewRule&>()))> result;
  result.reserve(ranges.size());
  for (const Range& range : ranges) {
    result.push_back(viewed(a, [&](const Layout& l) { return shape_views::cut(l, axis, range); }));
  }
  return result;
}
template <IntegerRange R>
std::vector<std::int64_t> positions(const R& given) {
  std::vector<std::int64_t> result;
  for (const auto& position : given) result.push_back(Extent(position).value);
  return result;
}

}  // namespace expr

/// With the axes reversed.
template <expr::Operand A>
auto transpose(const A& a) {
  return expr::viewed(a, [](const Layout& l) { return View{transpose(l)}; });
}
/// Axis d of the result is axis axes[d].
template <expr::Operand A>
auto transpose(const A& a, const Axes& axes) {
  return expr::viewed(a, [&](const Layout& l) { return View{transpose(l, axes)}; });
}
/// With new axes of extent 1 at these places of the result: one, or a list.
template <expr::Operand A>
auto expand_dims(const A& a, const ReduceAxes& axes) {
  return expr::viewed(a, [&](const Layout& l) { return shape_views::expand_dims(l, axes.list()); });
}
/// Without the axes of extent 1, or without these, which must have extent 1. A 0-d array takes the
/// axes 0 and -1, given as a number, and stays as it is.
template <expr::Operand A>
auto squeeze(const A& a, const ReduceAxes& axes = {}) {
  return expr::viewed(a, [&](const Layout& l) {
    if (axes.one()) return View{squeeze_axis(l, axes.list()[0])};
    return View{axes.all() ? squeeze(l) : squeeze(l, axes.list())};
  });
}
/// With two axes in each other's place.
template <expr::Operand A>
auto swapaxes(const A& a, std::int64_t first, std::int64_t second) {
  return expr::viewed(a, [=](const Layout& l) { return shape_views::swapaxes(l, first, second); });
}
/// With axes, one or a list, moved to other places; the others keep their order.
template <expr::Operand A>
auto moveaxis(const A& a, const ReduceAxes& from, const ReduceAxes& to) {
  return expr::viewed(
      a, [&](const Layout& l) { return shape_views::moveaxis(l, from.list(), to.list()); });
}
/// With an axis moved before the one that is now at `start`.
template <expr::Operand A>
auto rollaxis(const A& a, std::int64_t axis, std::int64_t start = 0) {
  return expr::viewed(a, [=](const Layout& l) { return shape_views::rollaxis(l, axis, start); });
}

/// The elements of a diagonal of two axes, `offset` places to the right of the main one; they are
/// the last axis. An array can be written through the result.
template <expr::Operand A>
auto diagonal(const A& a, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1) {
  return expr::viewed(
      a, [=](const Layout& l) { return shape_views::diagonal(l, offset, axis1, axis2); });
}
/// Backwards along all axes, one, or a list.
template <expr::Operand A>
auto flip(const A& a, const ReduceAxes& axes = {}) {
  return expr::viewed(a, [&](const Layout& l) {
    return axes.all() ? shape_views::flip(l) : shape_views::flip(l, axes.list());
  });
}
/// flip(a, 1), of an array of at least 2 axes.
template <expr::Operand A>
auto fliplr(const A& a) {
  return flip(a, 1);
}
/// flip(a, 0).
template <expr::Operand A>
auto flipud(const A& a) {
  return flip(a, 0);
}
/// Turned by so many quarters of a turn from axes[0] to axes[1].
template <expr::Operand A>
auto rot90(const A& a, std::int64_t quarters = 1, const Axes& axes = {0, 1}) {
  return expr::viewed(a, [&](const Layout& l) { return shape_views::rot90(l, quarters, axes); });
}

///@{
/// With new axes of extent 1, so that there are at least as many.
template <expr::Operand A>
auto atleast_1d(const A& a) {
  return expr::viewed(a, [](const Layout& l) { return shape_views::atleast_1d(l); });
}
template <expr::Operand A>
auto atleast_2d(const A& a) {
  return expr::viewed(a, [](const Layout& l) { return shape_views::atleast_2d(l); });
}
template <expr::Operand A>
auto atleast_3d(const A& a) {
  return expr::viewed(a, [](const Layout& l) { return shape_views::atleast_3d(l); });
}
///@}

/// Repeated along axes of extent 1 and new ones in front; arrays are read-only then.
template <expr::Operand A>
auto broadcast_to(const A& a, const Shape& shape) {
  return expr::viewed_again(a, [&](const Layout& l) { return View{broadcast_to(l, shape)}; });
}
/// All in their common shape: `auto [x, y] = broadcast_arrays(a, b);`.
template <expr::Operand... A>
auto broadcast_arrays(const A&... a) {
  const Shape shapes[] = {a.shape()...};
  const Shape common = broadcast_shapes(shapes);
  return std::tuple{broadcast_to(a, common)...};
}
/// Every window of these extents along these axes, which may repeat, or along all of them: the
/// positions of windows are the axes of `a`, places in a window are new axes behind them. Arrays
/// are read-only then. Throws ShapeError, with the values, for a window larger than the array.
template <expr::Operand A>
auto sliding_window_view(const A& a, const ReduceAxes& window, const ReduceAxes& axes = {}) {
  return expr::viewed_again(a, [&](const Layout& l) {
    Axes along = axes.list();
    for (std::size_t d = 0; axes.all() && d < l.rank(); ++d) along.push_back(std::int64_t(d));
    return shape_views::sliding_window_view(l, window.list(), along);
  });
}

///@{
/// Views of equal parts of an axis, or what lies between positions (as ranges have them). The
/// member split of an array is Numba's: parts of so many elements. Throw ShapeError if the parts
/// are not equal.
template <expr::Operand A, Integer N>
auto split(const A& a, N count, std::int64_t axis = 0) {
  return expr::pieces(a, axis, shape_views::parts(a.shape(), axis, Extent(count).value, true));
}
template <expr::Operand A, IntegerRange R = std::initializer_list<std::int64_t>>
auto split(const A& a, const R& positions, std::int64_t axis = 0) {
  return expr::pieces(a, axis, shape_views::parts(a.shape(), axis, expr::positions(positions)));
}
///@}
///@{
/// As split, but the first parts are longer by one element if the parts are not equal.
template <expr::Operand A, Integer N>
auto array_split(const A& a, N count, std::int64_t axis = 0) {
  return expr::pieces(a, axis, shape_views::parts(a.shape(), axis, Extent(count).value, false));
}
template <expr::Operand A, IntegerRange R = std::initializer_list<std::int64_t>>
auto array_split(const A& a, const R& positions, std::int64_t axis = 0) {
  return split(a, positions, axis);
}
///@}

#define QUARRY_SPLIT(name, axes, axis)                                      \
  /** split() along this axis, of an array of so many axes. */              \
  template <expr::Operand A, class N = std::initializer_list<std::int64_t>> \
  auto name(const A& a, const N& parts) {                                   \
    shape_views::require_rank(a.shape(), axes, #name);                      \
    return split(a, parts, axis);                                           \
  }
QUARRY_SPLIT(hsplit, 1, shape_views::horizontal_axis(a.ndim()))
QUARRY_SPLIT(vsplit, 2, 0)
QUARRY_SPLIT(dsplit, 3, 2)
#undef QUARRY_SPLIT

}  // namespace quarry
