// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/positions.hpp>
#include <quarry/ops/record_words.hpp>

/// Elements at positions that an array or an expression holds. Results are lazy: the expression
/// around them is computed in the same kernel, and nothing is copied.
namespace quarry {
namespace expr {

/// An operand as an array whose kernels can read single elements.
template <Operand A>
auto side_array(const A& a) {
  static_assert(is_numeric<A>(), "elements are taken of numbers: a record has no expression");
  return aligned_array(eval(a));
}

/// A caller's positions as an operand: one, an integer, has no axes.
template <class A, class P>
decltype(auto) positions_in(const A& a, const P& positions) {
  if constexpr (Operand<P>) {
    return (positions);
  } else if constexpr (Integer<P>) {
    return full<std::int64_t>({}, positions, {.stream = quarry::detail::home_of(a)});
  } else if constexpr (HostArray<P>) {
    return to_device(positions, {.stream = quarry::detail::home_of(a)});
  } else {
    return to_device(std::vector<std::int64_t>(positions), {.stream = quarry::detail::home_of(a)});
  }
}

/// The elements of `array`, of which `side` is a view, at `positions`.
template <IndexMode Mode, class T, class P>
auto pick(const DeviceNDArray<T>& array, const SideView& side, const P& positions) {
  using Tree = std::remove_cvref_t<decltype(as_tree(positions))>;
  return Node<Pick<kernel_mode<Mode>>, SideLeaf<T, 1>, Tree>(side_leaf<T, 1>(array, side),
                                                             Tree(as_tree(positions)));
}

/// The same with axes behind those of the positions, which are checked if Mode says so and any of
/// them is used.
template <IndexMode Mode, class T, Operand P>
auto pick_checked(const DeviceNDArray<T>& array, SideView side, const P& positions,
                  std::size_t axes, bool are_used) {
  const auto checked = [&](const auto& picked) {
    if (element_count(picked.shape()) > 0) require_elements(side, positions.shape());
    return picked;
  };
  if constexpr (Mode == IndexMode::raise) {
    const auto evaluated = eval(positions);
    if (are_used) check_inside(evaluated, side, 0);
    return checked(pick<Mode>(array, side, with_axes(evaluated, axes)));
  } else {
    return checked(pick<Mode>(array, side, with_axes(positions, axes)));
  }
}

template <IndexMode Mode, Operand A, class P>
auto take_numbers(const A& a, const P& given, std::int64_t axis) {
  const auto& positions = positions_in(a, given);
  using Positions = std::remove_cvref_t<decltype(positions)>;
  static_assert(dtype_of<element_t<Positions>>.kind() <= Kind::unsigned_integer,
                "positions are integers");
  auto array = side_array(a);
  if (array.ndim() == 0) array = array.ravel();
  const SideView side = side_view(array, axis, positions.ndim());
  const auto first = array.shape().begin();
  const Shape in_front(first, first + (array.ndim() - 1 - side.behind));
  return pick_checked<Mode>(array, side, positions, side.behind, element_count(in_front) > 0);
}

/// The same of records: a new array, computed at once.
template <IndexMode Mode, RecordArray A, class P>
auto take_records(const A& a, const P& positions, std::int64_t axis) {
  const auto records = a.ndim() == 0 ? a.ravel() : a;
  const auto along = static_cast<std::int64_t>(normalize_axis(axis, records.ndim()));
  return from_words<record_of_t<A>>(eval(take_numbers<Mode>(words_of(records), positions, along)));
}

}  // namespace expr

/// The elements of `a` at `positions` of axis `axis`, as NumPy's take: a lazy expression whose
/// shape is that of `a` with the shape of the positions in the place of the axis. `a` is an array
/// or an expression, which is evaluated first; the positions, bools or integers, may also be in
/// host memory, in braces, or one integer. With IndexMode::raise the positions are evaluated at
/// once and checked as those of a(positions): see index_by(). The other modes neither check nor
/// wait. Throws ShapeError for an axis that there is not, IndexError for a position outside, with
/// its value and the extent (unless an axis in front has no elements), and for elements of an axis
/// that has none. Of records it is a new array, computed at once.
template <IndexMode Mode = IndexMode::raise, expr::Operand A,
          class P = std::initializer_list<std::int64_t>>
auto take(const A& a, const P& given, std::int64_t axis) {
  if constexpr (expr::RecordArray<A>) {
    return expr::take_records<Mode>(a, given, axis);
  } else {
    return expr::take_numbers<Mode>(a, given, axis);
  }
}
/// The same of the elements of `a` in C order, as if it had one axis. A view where that is
/// possible, else they are copied first.
template <IndexMode Mode = IndexMode::raise, expr::Operand A,
          class P = std::initializer_list<std::int64_t>>
auto take(const A& a, const P& positions) {
  return take<Mode>(eval(a).ravel(), positions, 0);
}

/// The element of `a` at each of the positions along `axis`, as NumPy's take_along_axis: the other
/// axes of `a` and of the positions broadcast together. Otherwise as take. Throws ShapeError unless
/// both have as many axes. `take_along_axis(a, argmax(a, 1, {.keepdims = true}), 1)` is max(a, 1).
template <IndexMode Mode = IndexMode::raise, expr::Operand A, class P>
auto take_along_axis(const A& a, const P& given, std::int64_t axis) {
  const auto& positions = expr::positions_in(a, given);
  using Positions = std::remove_cvref_t<decltype(positions)>;
  static_assert(detail::is_integer(dtype_of<expr::element_t<Positions>>.kind()),
                "positions are integers");
  expr::require_same_rank(positions.shape(), a.shape());
  const auto array = expr::side_array(a);
  const expr::SideView side = expr::side_view(array, axis, 1);
  const Shape result = broadcast_shapes(side.window.layout.shape, positions.shape());
  return expr::pick_checked<Mode>(array, side, positions, 0, element_count(result) > 0);
}

namespace expr {
template <class I, Value X>
const X& chosen(const I&, std::int64_t, const X& last) {
  return last;
}
template <class I, class X, class Y, class... More>
auto chosen(const I& positions, std::int64_t number, const X& x, const Y& y, const More&... more) {
  return where(positions == number, x, chosen(positions, number + 1, y, more...));
}
}  // namespace expr

/// Element by element that choice whose number the positions hold, as NumPy's choose: all broadcast
/// together; numbers may be among the choices. Lazy, except that positions are checked with
/// IndexMode::raise. Throws IndexError for a position that no choice has.
template <IndexMode Mode = IndexMode::raise, expr::Operand P, expr::Value... X>
auto choose(const P& positions, const X&... choices) {
  static_assert(dtype_of<expr::element_t<P>>.kind() <= Kind::unsigned_integer,
                "positions are integers");
  const auto numbers = eval(positions);
  constexpr auto count = std::int64_t{sizeof...(X)};
  if constexpr (Mode == IndexMode::raise) expr::require_choices(numbers, count);
  const auto inside = [&] {
    if constexpr (Mode == IndexMode::wrap) {
      return remainder(astype<std::int64_t>(numbers), count);
    } else {
      return clip(numbers, 0, count - 1);
    }
  };
  return expr::chosen(inside(), 0, choices...);
}

/// One-dimensional positions, each along an axis of its own, as NumPy's ix_:
/// std::apply(a, ix_(i, j)).
template <expr::ArrayOperand... P>
auto ix_(const P&... positions) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) {
    return std::tuple(expr::with_axes(positions.ravel(), sizeof...(P) - 1 - N)...);
  }
  (std::index_sequence_for<P...>());
}

}  // namespace quarry
