// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/operand.hpp>
#include <quarry/kernels/map.hpp>

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
/// LogicError for arrays on another device. `partial`: the program may leave elements as they are.
void evaluate_into(const kernels::program& program, const DeviceNDArrayBase& out,
                   const DeviceNDArrayBase* const* arrays, const kernels::u64 (*scalars)[2],
                   bool positions, bool partial = false);

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
void run(const DeviceNDArrayBase& out, const Arguments<X>& arguments) {
  using L = Lowered<X>;
  using Program =
      MapProgram<typename L::type, kernel_type_t<T>, L::next_scalar, typename L::arrays>;
  evaluate_into(Program::value(), out, arguments.array, arguments.scalar, HasPosition<X>::value);
}

template <class T, class X>
void evaluate_tree(const DeviceNDArrayBase& out, const X& tree) {
  run<T>(out, Arguments<X>(tree));
}

template <class T, class X>
DeviceNDArray<T> evaluate_as(const X& tree) {
  static_assert(same_kind(dtype_of<host_of_t<typename X::kernel_type>>, dtype_of<T>),
                "this conversion can lose the kind of the values; use astype");
  const Arguments<X> arguments(tree);
  DeviceNDArray<T> out(tree.shape(), quarry::detail::stream_for(*arguments.array[0]));
  run<T>(out, arguments);
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
  explicit Together(const X&... trees) : trees_(trees...) {}
  const std::tuple<const X&...>& arguments() const { return trees_; }

 private:
  std::tuple<const X&...> trees_;
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
  const Stream& stream = quarry::detail::stream_for(*arguments.array[0]);
  std::tuple results(DeviceNDArray<host_of_t<typename X::kernel_type>>(shapes[0], stream)...);
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

///@{
/// start, start + step, ... below stop. Throws ShapeError for step 0 or a length that is not
/// finite. Integers wrap, half precision is computed in float32 and rounded once.
template <Number T>
DeviceNDArray<T> arange(T start, T stop, T step = T(1), const ArrayOptions& options = {});
template <Number T>
DeviceNDArray<T> arange(T stop, const ArrayOptions& options = {}) {
  return arange<T>(T(0), stop, T(1), options);
}
///@}

/// How a linspace is made.
struct LinspaceOptions {
  bool endpoint = true;     ///< the last value is `stop`
  ArrayOptions array = {};  ///< where it goes
};

namespace expr {
/// The number of elements of an arange; same exceptions.
std::int64_t arange_length(double start, double stop, double step);
std::int64_t arange_length(std::int64_t start, std::int64_t stop, std::int64_t step);
std::int64_t arange_length(std::uint64_t start, std::uint64_t stop, std::uint64_t step);
/// The types in which the length and the elements of an arange of T are computed.
template <class K>
using length_t =
    std::conditional_t<kernels::is_floating<K>, double,
                       std::conditional_t<kernels::is_integer<K> && !kernels::is_signed<K>,
                                          std::uint64_t, std::int64_t>>;
template <class K>
using computed_t = std::conditional_t<kernels::is_half<K>, float, K>;
/// Throws ShapeError if an in-place operation would change the shape of the array.
void require_in_place(const Shape& result, const Shape& array);
std::int64_t linspace_count(std::int64_t count);

/// `n` elements of T from a tree without arrays.
template <class T, class X>
DeviceNDArray<T> generate(std::int64_t n, const X& tree, const ArrayOptions& options) {
  DeviceNDArray<T> out(Shape{n}, options);
  const StreamGuard guard(out.stream());  // a given stream takes precedence over a guard's
  evaluate_tree<T>(out, tree);
  return out;
}
}  // namespace expr

template <Number T>
DeviceNDArray<T> arange(T start, T stop, T step, const ArrayOptions& options) {
  using namespace expr;
  using K = kernel_type_t<T>;
  using Wide = length_t<K>;
  using C = computed_t<K>;
  const std::int64_t n = arange_length(Wide(start), Wide(stop), Wide(step));
  using Times = Node<Apply<kernels::multiply_op, C>, Position<C>, Constant<C>>;
  using Plus = Node<Apply<kernels::add_op, C>, Constant<C>, Times>;
  const Plus elements(Constant<C>{C(start)}, Times({}, Constant<C>{C(step)}));
  return generate<T>(n, elements, options);
}

/// `count` evenly spaced values from start to stop, which is included unless options.endpoint is
/// false; computed in float64 and rounded once. Throws ShapeError for a negative count.
template <Number T>
requires(dtype_of<T>.kind() ==
         Kind::floating) DeviceNDArray<T> linspace(T start, T stop, std::int64_t count = 50,
                                                   const LinspaceOptions& options = {}) {
  using namespace expr;
  const std::int64_t intervals = linspace_count(count) - (options.endpoint ? 1 : 0);
  const double step = intervals > 0 ? (double(stop) - double(start)) / double(intervals) : 0;
  using Times = Node<Apply<kernels::multiply_op, double>, Position<double>, Constant<double>>;
  using Plus = Node<Apply<kernels::add_op, double>, Constant<double>, Times>;
  using Narrow = Node<Convert<kernel_type_t<T>>, Plus>;
  const Plus points(Constant<double>{double(start)}, Times({}, Constant<double>{step}));
  const auto result = generate<T>(count, Narrow(points), options.array);
  const StreamGuard guard(result.stream());
  if (options.endpoint && count > 1) result(-1) = stop;  // exact, whatever the step was rounded to
  return result;
}

namespace expr {
/// The common type of plain numbers, and the type of points between them.
template <class... N>
using CommonNumber = std::remove_cv_t<decltype((N() + ...))>;
template <class... N>
using CommonPoint =
    std::conditional_t<std::is_integral_v<CommonNumber<N...>>, double, CommonNumber<N...>>;
}  // namespace expr

///@{
/// For numbers of several types: the element type is their common type; points between integers are
/// double. An explicit type (arange<float>(0, 5)) selects the functions above.
template <class Named = void, class A, class B>
requires(std::is_void_v<Named>&& std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> &&
         !std::is_same_v<A, B>) auto arange(A start, B stop, const ArrayOptions& options = {}) {
  using T = expr::CommonNumber<A, B>;
  return arange<T>(T(start), T(stop), T(1), options);
}
template <class Named = void, class A, class B, class C>
requires(std::is_void_v<Named>&& std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>&&
             std::is_arithmetic_v<C> &&
         !(std::is_same_v<A, B> &&
           std::is_same_v<B, C>)) auto arange(A start, B stop, C step,
                                              const ArrayOptions& options = {}) {
  using T = expr::CommonNumber<A, B, C>;
  return arange<T>(T(start), T(stop), T(step), options);
}
template <class Named = void, class A, class B>
requires(std::is_void_v<Named>&& std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> &&
         !(std::is_same_v<A, B> &&
           std::is_floating_point_v<A>)) auto linspace(A start, B stop, std::int64_t count = 50,
                                                       const LinspaceOptions& options = {}) {
  using T = expr::CommonPoint<A, B>;
  return linspace<T>(T(start), T(stop), count, options);
}
///@}

}  // namespace quarry
