// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/operand.hpp>
#include <quarry/kernels/map.hpp>

#include <tuple>

/// Evaluation: one kernel for a whole tree.
namespace quarry {
namespace expr {

using quarry::detail::same_kind;

template <class X>
struct HasPosition : std::false_type {};
template <class K>
struct HasPosition<Position<K>> : std::true_type {};
template <class Op, class... A>
struct HasPosition<Node<Op, A...>> : std::disjunction<HasPosition<A>...> {};

/// Runs `program` into the elements of `out`, to whose shape the arrays broadcast. If `out`
/// overlaps an array other than element for element, the result is as with a temporary. Queued in
/// the stream of `out`; throws ShapeError, AliasError for an `out` whose elements share memory,
/// LogicError for arrays on another device, and what `check` finds: then nothing is written.
/// `partial`: the program may leave elements as they are. `is_new`: nobody has `out` if this
/// throws, so that elements may be written in any case.
void evaluate_into(const kernels::program& program, const DeviceNDArrayBase& out,
                   const DeviceNDArrayBase* const* arrays, const kernels::u64 (*scalars)[2],
                   bool positions, bool partial = false,
                   const quarry::detail::QueuedCheck* check = nullptr, bool is_new = false);

/// The same into several new arrays of one shape, in one kernel.
void evaluate_together(const kernels::program& program, const DeviceNDArrayBase* const* outs,
                       const DeviceNDArrayBase* const* arrays, const kernels::u64 (*scalars)[2],
                       bool positions);
/// Throws ShapeError, with the shapes, unless all are equal.
void require_one_shape(std::span<const Shape> shapes);

template <class E, class Out, int S, class Arrays>
struct MapProgram;
template <class E, class Out, int S, class... In>
struct MapProgram<E, Out, S, List<In...>> {
  static kernels::program& value() {
    return kernels::program_for<kernels::map_of<E, Out, S, In...>>::value;
  }
};

/// Runs the kernel of tree X, with these arrays and scalars, into elements of T.
template <class T, class X>
void run(const DeviceNDArrayBase& out, const Arguments<X>& arguments, bool is_new = false) {
  using L = Lowered<X>;
  using Program =
      MapProgram<typename L::type, kernel_type_t<T>, L::next_scalar, typename L::arrays>;
  evaluate_into(Program::value(), out, arguments.array, arguments.scalar, HasPosition<X>::value,
                false, arguments.check, is_new);
}

template <class T, class X>
void evaluate_tree(const DeviceNDArrayBase& out, const X& tree) {
  run<T>(out, Arguments<X>(tree, unchecked));
}

template <class T, class X>
DeviceNDArray<T> evaluate_as(const X& tree) {
  static_assert(same_kind(dtype_of<host_of_t<typename X::kernel_type>>, dtype_of<T>),
                "this conversion can lose the kind of the values; use astype");
  const Arguments<X> arguments(tree, unchecked);
  DeviceNDArray<T> out(arguments.result(tree.shape()));
  run<T>(out, arguments, true);
  return out;
}

}  // namespace expr

/// Writes `e`, which broadcasts, through `out`. See DeviceNDArray::assign.
template <class T, class E>
void assign_expression(const DeviceNDArray<T>& out, const E& e) {
  const auto& tree = expr::as_tree(e);
  using X = std::remove_cvref_t<decltype(tree)>;
  static_assert(expr::same_kind(dtype_of<expr::host_of_t<typename X::kernel_type>>, dtype_of<T>),
                "this conversion can lose the kind of the values; use astype");
  expr::evaluate_tree<T>(out, tree);
}

/// The operand converted to U, as part of an expression.
template <Number U, expr::Operand E>
auto astype(const E& e) {
  using Tree = std::remove_cvref_t<decltype(expr::as_tree(e))>;
  return expr::Node<expr::Convert<kernel_type_t<U>>, Tree>(expr::as_tree(e));
}

namespace expr {
/// The tree of an operand, with elements of T.
template <Number T, Operand E>
auto tree_of(const E& e) {
  if constexpr (std::same_as<std::remove_const_t<typename E::value_type>, T>) {
    return as_tree(e);
  } else {
    return quarry::astype<T>(e);
  }
}
}  // namespace expr

/// The elements of an array or expression as U; always an independent array.
template <Number U, expr::Operand E>
DeviceNDArray<U> convert_elements(const E& e) {
  return expr::evaluate_as<U>(astype<U>(e));
}

///@{
/// Evaluates an expression into a new array; an array is returned as it is.
template <Expression E>
auto eval(const E& e) {
  return e.template evaluate<typename E::value_type>();
}
template <class T>
DeviceNDArray<T> eval(const DeviceNDArray<T>& array) {
  return array;
}
///@}

namespace expr {

/// Several trees combined into one that has no elements itself.
struct Several {
  template <class... D>
  using device = kernels::several<D...>;
};
template <class... X>
class Together {
 public:
  explicit Together(const X&... trees) : trees_{{trees}...} {}
  const Operands<const X&...>& arguments() const { return trees_; }

 private:
  Operands<const X&...> trees_;
};
template <int I, int S, class... X>
struct Lower<I, S, Together<X...>> : LowerArguments<I, S, Several, List<>, List<>, X...> {};

/// New arrays with the elements of the trees.
template <class... X>
std::tuple<DeviceNDArray<host_of_t<typename X::kernel_type>>...> evaluate_all(const X&... trees) {
  const Shape shapes[] = {trees.shape()...};
  require_one_shape(shapes);
  using All = Together<X...>;
  using L = Lowered<All>;
  using Outs = kernels::several<typename X::kernel_type...>;
  const Arguments<All> arguments(All(trees...));
  std::tuple results(
      DeviceNDArray<host_of_t<typename X::kernel_type>>(arguments.result(shapes[0]))...);
  std::apply(
      [&](const auto&... result) {
        const DeviceNDArrayBase* const outs[] = {&result...};
        evaluate_together(
            MapProgram<typename L::type, Outs, L::next_scalar, typename L::arrays>::value(), outs,
            arguments.array, arguments.scalar, (HasPosition<X>::value || ...));
      },
      results);
  return results;
}

}  // namespace expr

/// Evaluates several expressions of one shape into new arrays, by one kernel that reads common
/// arrays once: `auto [s, d] = eval(a + b, a - b);`. Queued in the stream of the first array; an
/// array among them is copied. Throws ShapeError, with the shapes, where they differ, and
/// LogicError for arrays of two devices.
template <expr::Operand A, expr::Operand B, expr::Operand... More>
auto eval(const A& a, const B& b, const More&... more) {
  return expr::evaluate_all(expr::as_tree(a), expr::as_tree(b), expr::as_tree(more)...);
}

/// Computes an expression and prints its values.
template <Expression E>
std::ostream& operator<<(std::ostream& out, const E& e) {
  return out << eval(e);
}

/// The values as they are printed.
template <Expression E>
std::string to_string(const E& e) {
  return to_string(eval(e));
}

namespace expr {
/// Throws ShapeError if an in-place operation would change the shape of the array.
void require_in_place(const Shape& result, const Shape& array);

/// `n` elements of T from a tree without arrays.
template <class T, class X>
DeviceNDArray<T> generate(std::int64_t n, const X& tree, const ArrayOptions& options) {
  DeviceNDArray<T> out(Shape{n}, options);
  const StreamGuard guard(out.stream());  // a given stream takes precedence over a guard's
  evaluate_tree<T>(out, tree);
  return out;
}
}  // namespace expr

}  // namespace quarry
