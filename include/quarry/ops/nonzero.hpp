// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/reduce.hpp>
#include <quarry/ops/select.hpp>

#include <vector>

/// NumPy's functions of conditions: where elements are not 0, and elements chosen by that.
namespace quarry {

namespace expr {

/// An operand as a condition: its elements are true unless they are 0.
template <Operand X>
auto condition_of(const X& x) {
  return tree_of<bool>(x);
}
/// A caller's condition on elements of `a`, an operand or bools of the host, evaluated.
template <class C, Operand A>
DeviceNDArray<bool> truth_of(const C& condition, const A& a) {
  return evaluate_as<bool>(
      condition_of(quarry::detail::on_device<bool>(condition, quarry::detail::home_of(a))));
}
///@{
/// From positions in C order of `shape`: those along each axis, and rows of them. Throw ShapeError
/// for a 0-d shape.
std::vector<DeviceNDArray<std::int64_t>> coordinates(const DeviceNDArray<std::int64_t>& flat,
                                                     const Shape& shape);
DeviceNDArray<std::int64_t> coordinate_rows(const DeviceNDArray<std::int64_t>& flat,
                                            const Shape& shape);
///@}
void require_one_axis(const char* function, const Shape& condition);
/// Throws IndexError, with the first one, if the condition is true behind `extent` elements. Waits
/// only if it is longer.
void require_within(const DeviceNDArray<bool>& condition, std::int64_t extent);
/// Throws ShapeError unless both have as many elements.
void require_one_size(const char* function, const Shape& mask, const Shape& array);

/// The elements along `axis` of tree `values` for which the condition is true.
template <class T, class V>
DeviceNDArray<T> compressed(const DeviceNDArray<bool>& condition, const V& values,
                            std::size_t axis) {
  Shape shape = values.shape();
  require_within(condition, shape[axis]);
  const std::int64_t n = std::min(condition.shape()[0], shape[axis]);
  const Leaf<bool> mask{condition(range(n))};
  std::vector<Index> entries(axis + 1, all);
  entries[axis] = range(n);
  const V part =
      viewed(values, values.shape(), [&](const Layout& layout) { return index(layout, entries); });
  shape[axis] = n;
  return selected_elements<T>(widened(mask, shape.size() - axis - 1), part, {shape, axis, 1});
}

/// The mask with the shape of the array, which has as many elements.
template <Operand M>
DeviceNDArray<bool> mask_like(const char* function, const M& mask, const Shape& array) {
  require_one_size(function, mask.shape(), array);
  return evaluate_as<bool>(condition_of(mask)).reshape(array);
}

}  // namespace expr

/// The positions, in C order, of the elements of an array or expression that are not 0: int64, in
/// one kernel. Waits for their number, as all functions of this file do.
template <expr::Operand X>
DeviceNDArray<std::int64_t> flatnonzero(const X& x) {
  const auto mask = expr::condition_of(x);
  const Shape& shape = mask.shape();
  return expr::selected_elements<std::int64_t>(mask, expr::Position<kernels::i64>{},
                                               {shape, 0, shape.size()});
}

/// The same along each axis: an array for every axis, as NumPy's nonzero. Throws ShapeError for a
/// 0-d array.
template <expr::Operand X>
std::vector<DeviceNDArray<std::int64_t>> nonzero(const X& x) {
  return expr::coordinates(flatnonzero(x), x.shape());
}

/// The same in rows: shape (number of elements that are not 0, number of axes).
template <expr::Operand X>
DeviceNDArray<std::int64_t> argwhere(const X& x) {
  return expr::coordinate_rows(flatnonzero(x), x.shape());
}

/// How many elements are not 0 along the axes, all if none are named: int64. Queued; does not wait.
template <expr::Operand X>
auto count_nonzero(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::reduce<kernels::sum_of, expr::results::total<bool>>(
      expr::Node<expr::Convert<bool>, std::remove_cvref_t<decltype(expr::as_tree(x))>>(
          expr::as_tree(x)),
      axes, options, "count_nonzero");
}

/// The slices of `a` along `axis` for which the condition, which has one axis, is true. It may be
/// shorter than that axis. Throws ShapeError for an axis that there is not and a condition of
/// several axes, IndexError for a true element behind the end of the axis.
template <class C, expr::Operand A>
DeviceNDArray<std::remove_const_t<expr::element_t<A>>> compress(const C& condition, const A& a,
                                                                std::int64_t axis) {
  const auto& values = expr::as_tree(a);
  if (values.shape().empty()) return compress(condition, eval(a).ravel(), axis);
  const auto truth = expr::truth_of(condition, a);
  expr::require_one_axis("compress", truth.shape());
  const std::size_t along = normalize_axis(axis, values.shape().size());
  return expr::compressed<std::remove_const_t<expr::element_t<A>>>(truth, values, along);
}
/// The same of the elements of `a` in C order.
template <class C, expr::Operand A>
auto compress(const C& condition, const A& a) {
  return compress(condition, eval(a).ravel(), 0);
}
/// The elements of `a` for which the condition is true, both in C order.
template <class C, expr::Operand A>
auto extract(const C& condition, const A& a) {
  return compress(expr::truth_of(condition, a).ravel(), a);
}

/// `values` into the elements of `a` for which the mask is true: the first into the first, and so
/// on, again from the first after the last; a number into all of them. The mask has as many
/// elements as `a`. Throws ShapeError for another number, and without values where the mask is
/// true.
template <class T, expr::Operand M, expr::Value V>
void place(const DeviceNDArray<T>& a, const M& mask, const V& values) {
  const auto& given = detail::on_device<T>(values, detail::stream_for(a));
  expr::assign_in_order(a, expr::mask_like("place", mask, a.shape()), given, 0, true);
}

/// Where the mask is true, element i of `a`, in C order, becomes element i of `values`, which begin
/// anew after their last one; or becomes the number `values`. The mask has as many elements as `a`;
/// throws ShapeError for another number.
template <class T, expr::Operand M, expr::Value V>
void putmask(const DeviceNDArray<T>& a, const M& mask, const V& values) {
  const auto& given = detail::on_device<T>(values, detail::stream_for(a));
  const auto where = expr::mask_like("putmask", mask, a.shape());
  if (given.size() == 0) return;
  if (given.shape() == a.shape()) {
    return expr::assign_where(a, expr::Leaf<bool>{where}, expr::as_tree(given));
  }
  using U = std::remove_const_t<expr::element_t<std::remove_cvref_t<decltype(given)>>>;
  const auto flat = expr::aligned_array(DeviceNDArray<const U>(eval(given)).ravel());
  const expr::SideView side = expr::side_view(flat, 0, 1);
  using Repeated = expr::Node<expr::Pick<kernels::index_mode::wrap>, expr::SideLeaf<const U, 1>,
                              expr::Position<kernels::i64>>;
  expr::assign_where(a, expr::Leaf<bool>{where},
                     Repeated(expr::side_leaf<const U, 1>(flat, side), {}));
}

///@{
/// Writes `values`, a number or what broadcasts, into `a`, where the mask, which broadcasts too, is
/// true; what is not written is not touched. Throws ShapeError where they do not broadcast.
template <class T, expr::Operand V>
void copyto(const DeviceNDArray<T>& a, const V& values) {
  a.assign(values);
}
template <class T, expr::Operand V, detail::Mask M>
void copyto(const DeviceNDArray<T>& a, const V& values, const M& where) {
  expr::assign_where(a, expr::as_tree(where), expr::as_tree(values));
}
template <class T, detail::ElementValue<T> V>
void copyto(const DeviceNDArray<T>& a, const V& value) {
  a.fill(value);
}
template <Number T, detail::ElementValue<T> V, detail::Mask M>
void copyto(const DeviceNDArray<T>& a, const V& value, const M& where) {
  using K = kernel_type_t<T>;
  expr::assign_where(a, expr::as_tree(where), expr::Constant<K>{detail::scalar_as<K>(value)});
}
///@}

}  // namespace quarry
