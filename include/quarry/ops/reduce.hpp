// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>

/// Reductions over all axes or any of them, of an array or of a whole expression, which is then
/// computed in the same kernel and never stored. They run at once, in the stream of their input,
/// and give an array.
namespace quarry {

namespace expr {

/// Which axes go, and the shapes of the result without and with them.
struct ReducePlan {
  ReducePlan(const Shape& shape, const ReduceAxes& axes, const ReduceOptions& options);
  Shape input, kept, result;
  bool reduced[max_rank];
  std::int64_t count = 1;  ///< elements that go into one output
};

/// Runs the reduction; `out` is dense with shape plan.kept and has elements.
void reduce_into(const kernels::program& program, const DeviceNDArrayBase& out,
                 const ReducePlan& plan, const DeviceNDArrayBase* const* arrays,
                 const kernels::u64 (*scalars)[2], bool positions);
[[noreturn]] void throw_empty_reduction(const char* name, const Shape& shape);

template <class E, class R, class Acc, class Out, int S, class Arrays>
struct ReduceProgram;
template <class E, class R, class Acc, class Out, int S, class... In>
struct ReduceProgram<E, R, Acc, Out, S, List<In...>> {
  static kernels::program& value() {
    return kernels::program_for<kernels::reduction_of<E, R, Acc, Out, S, In...>>::value;
  }
};

/// Reduction R with accumulator Acc and results of T. `positions`: it returns positions, so the
/// order of the reduced axes matters. Without elements the result is R's identity, unless it
/// `needs_elements`.
template <class R, class Acc, class T, class X>
DeviceNDArray<T> reduce_tree(const X& tree, const ReduceAxes& axes, const ReduceOptions& options,
                             bool positions, const char* needs_elements) {
  using L = Lowered<X>;
  using K = kernel_type_t<T>;
  const ReducePlan plan(tree.shape(), axes, options);
  const Arguments<X> arguments(tree);
  DeviceNDArray<T> out(plan.kept, quarry::detail::stream_for(*arguments.array[0]));
  if (out.size() > 0 && plan.count == 0) {
    if (needs_elements) throw_empty_reduction(needs_elements, tree.shape());
    const K value = R::template finish<K>(R::template identity<Acc>(), 0);
    fill_elements(out.ref(), &value, out.stream());
  } else if (out.size() > 0) {
    reduce_into(
        ReduceProgram<typename L::type, R, Acc, K, L::next_scalar, typename L::arrays>::value(),
        out, plan, arguments.array, arguments.scalar, positions);
  }
  return options.keepdims ? out.reshape(plan.result) : out;
}

template <class X>
using element_t = typename std::remove_cvref_t<X>::value_type;

/// NumPy's type of a sum: bools and integers get the widest integer of their sign.
consteval TypeId sum_type(TypeId t) {
  switch (DType(t).kind()) {
    case Kind::boolean:
    case Kind::signed_integer:
      return TypeId::int64;
    case Kind::unsigned_integer:
      return TypeId::uint64;
    default:
      return t;
  }
}
/// Half precision adds up in float32.
constexpr TypeId accumulator_type(TypeId t) {
  return t == TypeId::float16 || t == TypeId::bfloat16 ? TypeId::float32 : t;
}
consteval TypeId mean_type(TypeId t) {
  const Kind kind = DType(t).kind();
  return kind == Kind::floating || kind == Kind::complex ? t : TypeId::float64;
}

template <class R, TypeId Result, class X>
auto accumulate(const X& x, const ReduceAxes& axes, const ReduceOptions& options,
                const char* needs_elements) {
  using Acc = kernel_type_t<host_type_t<accumulator_type(Result)>>;
  return reduce_tree<R, Acc, host_type_t<Result>>(as_tree(x), axes, options, false, needs_elements);
}
template <class R, class X>
auto find(const X& x, const ReduceAxes& axes, const ReduceOptions& options, const char* name) {
  using Acc = kernels::located<kernel_type_t<element_t<X>>>;
  return reduce_tree<R, Acc, std::int64_t>(as_tree(x), axes, options, true, name);
}

template <class X>
inline constexpr TypeId id_of = dtype_of<element_t<X>>.id();

}  // namespace expr

/// The sum; 0 without elements. Integers and bools give 64 bits.
template <expr::Operand X>
auto sum(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::accumulate<kernels::sum_of, expr::sum_type(expr::id_of<X>)>(x, axes, options,
                                                                           nullptr);
}
/// The product; 1 without elements. Integers and bools give 64 bits.
template <expr::Operand X>
auto prod(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::accumulate<kernels::prod_of, expr::sum_type(expr::id_of<X>)>(x, axes, options,
                                                                            nullptr);
}
/// The sum over the number of elements; NaN without elements. Integers give float64.
template <expr::Operand X>
auto mean(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::accumulate<kernels::mean_of, expr::mean_type(expr::id_of<X>)>(x, axes, options,
                                                                             nullptr);
}

namespace expr {

/// The variance of elements whose mean has type Mean, or its root.
template <bool IsRoot, TypeId Mean, class X>
auto variance(const X& x, const ReduceAxes& axes, const VarianceOptions& options) {
  constexpr TypeId wide = accumulator_type(Mean);
  using T = host_type_t<wide>;
  using Out = host_type_t<quarry::detail::real_of(Mean)>;
  const auto mean = accumulate<kernels::mean_of, wide>(x, axes, {.keepdims = true}, nullptr);
  const auto tree = tree_of<T>(x);
  using Tree = std::remove_const_t<decltype(tree)>;
  const Node<Call<kernels::squared_distance>, Tree, Leaf<T>> squares(tree, Leaf<T>{mean});
  const auto sum = accumulate<kernels::sum_of, quarry::detail::real_of(wide)>(
      squares, axes, {.keepdims = options.keepdims}, nullptr);
  const double divisor = double(ReducePlan(tree.shape(), axes, {}).count) - options.ddof;
  const auto quotient = apply<kernels::divide_op>(sum, divisor > 0 ? divisor : 0.);
  if constexpr (IsRoot) {
    return evaluate_as<Out>(apply<kernels::sqrt_op>(quotient));
  } else {
    return evaluate_as<Out>(quotient);
  }
}

}  // namespace expr

/// The mean of |x - mean|^2, which is real: the sum over the number of elements less ddof, or over
/// 0 where that is negative. NaN without elements. Integers give float64. Launches three kernels,
/// for the mean, the sum and the quotient; an expression is computed twice, and never stored.
template <expr::Operand X, AxesArgument I = ReduceAxes>
auto var(const X& x, const I& axes = {}, const VarianceOptions& options = {}) {
  return expr::variance<false, expr::mean_type(expr::id_of<X>)>(x, axes, options);
}
/// The same over all axes.
template <expr::Operand X>
auto var(const X& x, const VarianceOptions& options) {
  return var(x, ReduceAxes(), options);
}
/// The root of var. The name std alone means C++'s namespace, too, after `using namespace quarry`.
template <expr::Operand X, AxesArgument I = ReduceAxes>
auto std(const X& x, const I& axes = {}, const VarianceOptions& options = {}) {
  return expr::variance<true, expr::mean_type(expr::id_of<X>)>(x, axes, options);
}
/// The same over all axes.
template <expr::Operand X>
auto std(const X& x, const VarianceOptions& options) {
  return quarry::std(x, ReduceAxes(), options);
}

///@{
/// NaN if there is one. Throws ShapeError without elements.
template <expr::Operand X>
auto min(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  using K = kernel_type_t<expr::element_t<X>>;
  return expr::reduce_tree<kernels::min_of, K, expr::element_t<X>>(expr::as_tree(x), axes, options,
                                                                   false, "min");
}
template <expr::Operand X>
auto max(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  using K = kernel_type_t<expr::element_t<X>>;
  return expr::reduce_tree<kernels::max_of, K, expr::element_t<X>>(expr::as_tree(x), axes, options,
                                                                   false, "max");
}
///@}
/// Whether any element is not 0; false without elements.
template <expr::Operand X>
auto any(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::reduce_tree<kernels::any_of, bool, bool>(expr::as_tree(x), axes, options, false,
                                                        nullptr);
}
/// NumPy's all; that name is the index of a whole axis here.
template <expr::Operand X>
auto all_of(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::reduce_tree<kernels::all_of, bool, bool>(expr::as_tree(x), axes, options, false,
                                                        nullptr);
}
///@{
/// The C-order position, among the reduced elements, of the first smallest or largest one, or of
/// the first NaN. Throws ShapeError without elements.
template <expr::Operand X>
auto argmin(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::find<kernels::argmin_of>(x, axes, options, "argmin");
}
template <expr::Operand X>
auto argmax(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) {
  return expr::find<kernels::argmax_of>(x, axes, options, "argmax");
}
///@}

}  // namespace quarry
