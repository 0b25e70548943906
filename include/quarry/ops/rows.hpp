// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/rows.hpp>
#include <quarry/ops/reduce.hpp>

/// Functions of whole rows: every element of the result depends on all that lie along one axis. An
/// array or an expression; each is one kernel, queued in the stream of its input, whose result is a
/// new array. A row that fits in the registers of a GPU's block (16384 elements of float32 that lie
/// side by side) is read, and an expression computed, once, else twice; a few very long rows are
/// computed by two kernels. Integers and bools give float64, half precision is computed in float32
/// and rounded once.
namespace quarry {

/// How standardise divides.
struct StandardiseOptions {
  double ddof = 0;  ///< the squares are divided by the number of elements less this
};

namespace expr {

template <class E, class Row, class Out, int S, class Arrays>
struct RowProgram;
template <class E, class Row, class Out, int S, class... In>
struct RowProgram<E, Row, Out, S, List<In...>> {
  static kernels::program& value() {
    return kernels::program_for<kernels::rows_of<E, Row, Out, S, In...>>::value;
  }
};

/// The results of T of a row program, whose only scalar is behind those of the tree.
template <class Row, class T, class X>
DeviceNDArray<T> row_results(const X& tree, const ReducedShape& shape, const auto& scalar) {
  using L = Lowered<X>;
  constexpr int scalars = L::next_scalar + 1;
  const Arguments<X> arguments(tree);
  alignas(16) kernels::u64 values[std::size_t{scalars}][2] = {};
  __builtin_memcpy(values, arguments.scalar, L::next_scalar * sizeof(*values));
  __builtin_memcpy(values[L::next_scalar], &scalar, sizeof(scalar));
  DeviceNDArray<T> out(arguments.result(tree.shape()));
  if (out.size() == 0) return out;
  reduce_into(
      RowProgram<typename L::type, Row, kernel_type_t<T>, scalars, typename L::arrays>::value(),
      out, shape, arguments.array, values, false);
  return out;
}

/// The types of a result and of its computation, for elements of X.
template <class X>
struct RowTypes {
  static constexpr TypeId result = mean_type(dtype_of<element_t<X>>.id());
  using Out = host_type_t<result>;
  using Wide = host_type_t<accumulator_type(result)>;
  using T = kernel_type_t<Wide>;
};

template <template <class> class Program, class X>
auto exponential_rows(const X& x, std::int64_t axis) {
  using Types = RowTypes<X>;
  using T = typename Types::T;
  static_assert(!kernels::is_complex<T>, "complex numbers have no order: there is no largest one");
  if constexpr (kernels::is_complex<T>) {
    return no_result<typename Types::Out>();
  } else {
    const auto tree = tree_of<typename Types::Wide>(x);
    return row_results<Program<T>, typename Types::Out>(
        tree, ReducedShape(tree.shape(), ReduceAxes(axis), {}), T(0));
  }
}

}  // namespace expr

/// exp(x) / sum(exp(x)) along an axis, less the largest element first, as scipy.special.softmax.
/// Throws ShapeError for an axis that there is not. NaN along a row that has a NaN or +infinity, or
/// nothing but -infinity.
template <expr::Operand X>
auto softmax(const X& x, std::int64_t axis = -1) {
  return expr::exponential_rows<kernels::softmax_of>(x, axis);
}

/// The logarithm of softmax, without its cancellation, as scipy.special.log_softmax.
template <expr::Operand X>
auto log_softmax(const X& x, std::int64_t axis = -1) {
  return expr::exponential_rows<kernels::log_softmax_of>(x, axis);
}

/// (x - mean) / std along an axis. Where `ddof` leaves no degrees of freedom it divides by
/// infinity or NaN, where all elements are equal 0 by 0. Complex elements have a real deviation.
template <expr::Operand X>
auto standardise(const X& x, std::int64_t axis = -1, const StandardiseOptions& options = {}) {
  using Types = expr::RowTypes<X>;
  using T = typename Types::T;
  const auto tree = expr::tree_of<typename Types::Wide>(x);
  using L = expr::Lowered<std::remove_cvref_t<decltype(tree)>>;
  const expr::ReducedShape shape(tree.shape(), ReduceAxes(axis), {});
  return expr::row_results<kernels::standardise_of<T, L::next_scalar>, typename Types::Out>(
      tree, shape, expr::degrees_of_freedom<kernels::real_type<T>>(shape.count, options.ddof));
}

/// log(sum(exp(x))) over any axes, less the largest element first, as scipy.special.logsumexp: a
/// reduction, which reads the elements once. -infinity without elements or where all are it.
template <expr::Operand X>
auto logsumexp(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  using Types = expr::RowTypes<X>;
  using T = typename Types::T;
  static_assert(!kernels::is_complex<T>, "complex numbers have no order: there is no largest one");
  if constexpr (kernels::is_complex<T>) {
    return expr::no_result<typename Types::Out>();
  } else {
    return expr::reduce_tree<kernels::exponentials_of, kernels::exponentials<T>,
                             typename Types::Out>(expr::tree_of<typename Types::Wide>(x), axes,
                                                  options, false, nullptr);
  }
}

}  // namespace quarry
