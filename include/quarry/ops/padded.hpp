// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/nonzero.hpp>
#include <quarry/ops/select.hpp>
#include <quarry/ops/take.hpp>

#include <type_traits>
#include <vector>

/// Selections whose result has a size that the program states, as JAX's `size=`: they do not wait
/// for the number of elements, which count_nonzero(mask) gives, and can be captured into a graph.
/// Meanwhile they need memory for as many elements, or positions, as there are.
namespace quarry {

/// A result of `size` elements, or slices: the selected ones in C order, then `fill`. Selected ones
/// beyond the first `size` are dropped.
template <class T>
struct PaddedTo {
  detail::ByName named = {};  ///< so that the others are given by their names
  Extent size;                ///< of the result
  T fill = T{};               ///< where nothing is selected
};

namespace expr {

/// A selection that is queued: memory for as many elements as there are, and how many are selected,
/// 0-d on the device.
struct QueuedSelection {
  std::shared_ptr<Buffer> buffer;
  DeviceNDArray<std::int64_t> count;
};
/// Over `shape`, which has elements.
QueuedSelection queue_selection(const SelectCall& call, const Shape& shape);

/// The shape with `axes` axes from `axis` on replaced by one. Throws ShapeError for a negative
/// extent.
Shape with_one_axis(Shape shape, std::size_t axis, std::size_t axes, std::int64_t extent);
/// Throws IndexError for a condition that is longer than the axis.
void require_no_longer(std::int64_t condition, std::int64_t extent, std::size_t axis);
///@{
/// From positions in C order of `shape`, which are -1 behind the selected ones: those along each
/// axis, and rows of them, `fill` there. The first throws ShapeError for a 0-d shape.
std::vector<DeviceNDArray<std::int64_t>> padded_coordinates(const DeviceNDArray<std::int64_t>& flat,
                                                            const Shape& shape, std::int64_t fill);
DeviceNDArray<std::int64_t> padded_coordinate_rows(const DeviceNDArray<std::int64_t>& flat,
                                                   const Shape& shape, std::int64_t fill);
///@}

/// The elements of tree `values` for which tree `mask`, of this shape, is true.
template <class T, class M, class V>
DeviceNDArray<T> padded_elements(const M& mask, const V& values, const Stream& stream,
                                 const PaddedTo<T>& to) {
  const Shape& shape = mask.shape();
  const std::int64_t whole = element_count(shape), most = std::min(to.size.value, whole);
  const DeviceNDArray<T> out(with_one_axis({}, 0, 0, to.size.value), {.stream = stream});
  if (most < to.size.value) out(range(most, _)).fill(to.fill);
  if (most <= 0) return out;
  auto queued = with_selection<T>(
      mask, values, [&](const SelectCall& call) { return queue_selection(call, shape); });
  const auto kept = selected_array<T>(
      {{Shape(whole), c_strides(Shape(whole), sizeof(T))}, std::move(queued.buffer)});
  const auto is_kept = make_node<kernels::less_op>(Position<kernels::i64>{}, as_tree(queued.count));
  out(range(most)) = where(is_kept, kept(range(most)), to.fill);
  return out;
}
/// The positions, in C order, where tree `mask` is true; -1 behind them.
template <class M>
DeviceNDArray<std::int64_t> padded_positions(const M& mask, const Stream& stream,
                                             std::int64_t size) {
  return padded_elements<std::int64_t>(mask, Position<kernels::i64>{}, stream,
                                       {.size = size, .fill = -1});
}
/// The slices of `values` at the positions, of which `axes` axes from `axis` on are one.
template <class T, class P>
DeviceNDArray<T> padded_slices(const DeviceNDArray<const T>& values,
                               const DeviceNDArray<P>& positions, std::size_t axis,
                               std::size_t axes, const PaddedTo<T>& to) {
  const Shape& shape = values.shape();
  const Shape result = with_one_axis(shape, axis, axes, to.size.value);
  const std::int64_t* const first = shape.begin() + axis;
  const std::int64_t extent = element_count(Shape(first, first + axes));
  const ArrayOptions here{.stream = positions.stream()};
  if (extent == 0 || element_count(result) == 0) return full<T>(result, to.fill, here);
  const auto slices = values.reshape(with_one_axis(shape, axis, axes, extent));
  const auto along = static_cast<std::int64_t>(axis);
  return eval(where(with_axes(positions < 0, result.size() - axis - 1), to.fill,
                    take<IndexMode::clip>(slices, positions, along)));
}

}  // namespace expr

/// a(mask) of a known size: shape (size, axes of `a` that the mask has not), the selected elements
/// first. Queued; does not wait. Throws IndexError, with the extents, unless the mask has the shape
/// of `a` or that of its first axes, ShapeError for a negative size.
template <expr::Operand A, detail::Mask M>
DeviceNDArray<std::remove_const_t<expr::element_t<A>>> select(
    const A& a, const M& mask, const PaddedTo<std::remove_const_t<expr::element_t<A>>>& to) {
  using T = std::remove_const_t<expr::element_t<A>>;
  const auto& tree = expr::as_tree(mask);
  expr::require_mask(tree.shape(), a.shape());
  const Stream& stream = detail::home_of(a);
  if constexpr (Number<T>) {
    if (tree.shape() == a.shape()) {
      return expr::padded_elements<T>(tree, expr::as_tree(a), stream, to);
    }
  }
  const DeviceNDArray<const T> values = eval(a);
  return expr::padded_slices<T>(values, expr::padded_positions(tree, stream, to.size.value), 0,
                                tree.shape().size(), to);
}

///@{
/// flatnonzero(), nonzero() and argwhere() with a known number of positions. Queued; do not wait.
/// Throw ShapeError for a negative size, nonzero() also for a 0-d array.
template <expr::Operand X>
DeviceNDArray<std::int64_t> flatnonzero(const X& x, const PaddedTo<std::int64_t>& to) {
  return expr::padded_elements<std::int64_t>(expr::condition_of(x), expr::Position<kernels::i64>{},
                                             detail::home_of(x), to);
}
template <expr::Operand X>
std::vector<DeviceNDArray<std::int64_t>> nonzero(const X& x, const PaddedTo<std::int64_t>& to) {
  return expr::padded_coordinates(flatnonzero(x, {.size = to.size, .fill = -1}), x.shape(),
                                  to.fill);
}
template <expr::Operand X>
DeviceNDArray<std::int64_t> argwhere(const X& x, const PaddedTo<std::int64_t>& to) {
  return expr::padded_coordinate_rows(flatnonzero(x, {.size = to.size, .fill = -1}), x.shape(),
                                      to.fill);
}
///@}

///@{
/// compress() and extract() with a known number of slices or elements. Queued; do not wait. Throw
/// as those, and IndexError for a condition that is longer than the axis, ShapeError for a negative
/// size.
template <class C, expr::Operand A>
DeviceNDArray<std::remove_const_t<expr::element_t<A>>> compress(
    const C& condition, const A& a, std::int64_t axis,
    const PaddedTo<std::remove_const_t<expr::element_t<A>>>& to) {
  using T = std::remove_const_t<expr::element_t<A>>;
  DeviceNDArray<const T> values = eval(a);
  if (values.ndim() == 0) values = values.ravel();
  const auto truth = expr::truth_of(condition, a);
  expr::require_one_axis("compress", truth.shape());
  const std::size_t along = normalize_axis(axis, values.ndim());
  expr::require_no_longer(truth.size(), values.shape()[along], along);
  const auto at = expr::padded_positions(expr::as_tree(truth), detail::home_of(a), to.size.value);
  return expr::padded_slices<T>(values, at, along, 1, to);
}
template <class C, expr::Operand A>
auto compress(const C& condition, const A& a,
              const PaddedTo<std::remove_const_t<expr::element_t<A>>>& to) {
  return compress(condition, eval(a).ravel(), 0, to);
}
template <class C, expr::Operand A>
auto extract(const C& condition, const A& a,
             const PaddedTo<std::remove_const_t<expr::element_t<A>>>& to) {
  return compress(expr::truth_of(condition, a).ravel(), a, to);
}
///@}

}  // namespace quarry
