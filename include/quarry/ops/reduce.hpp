// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>
#include <quarry/kernels/reduce.hpp>

/// Reductions over all axes or any of them, of an array or of a whole expression, which is then
/// computed in the same kernel and never stored. They are queued at once, in the stream of their
/// input, and return an array.
namespace quarry {

namespace expr {

/// The reduced axes, and the shapes of the result without and with them.
struct ReducedShape {
  ReducedShape(const Shape& shape, const ReduceAxes& axes, const ReduceOptions& options);
  Shape input, kept, result;
  bool reduced[max_rank];
  std::int64_t count = 1;  ///< elements reduced to one output
};

/// Runs the reduction; `out` has shape shape.kept, and elements.
void reduce_into(const kernels::program& program, const DeviceNDArrayBase& out,
                 const ReducedShape& shape, const DeviceNDArrayBase* const* arrays,
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

/// The result of a reduction is stored unchanged.
struct AsItIs {
  template <class R, class T, int S>
  using reducer = R;
  static constexpr int scalars = 0;
  void store(kernels::u64 (*)[2]) const {}
};
/// Expression E<S> of it, a T, and of one scalar, the call's S-th.
template <template <class, int> class E, class T>
struct Then {
  template <class R, class, int S>
  using reducer = kernels::applied_to<R, T, E<T, S>>;
  static constexpr int scalars = 1;
  void store(kernels::u64 (*to)[2]) const { __builtin_memcpy(to, &scalar, sizeof(T)); }
  T scalar;
};

/// Reduction R with accumulator Acc and results of T, to which `then` is applied before they are
/// stored. `positions`: it returns positions, so the order of the reduced axes matters. Without
/// elements the result is R's identity, unless it `needs_elements`. It is written into the array
/// `into` if there is one.
template <class R, class Acc, class T, class X, class After = AsItIs>
DeviceNDArray<T> reduce_tree(const X& tree, const ReduceAxes& axes, const ReduceOptions& options,
                             bool positions, const char* needs_elements, const After& then = {},
                             const DeviceNDArray<T>* into = nullptr) {
  using L = Lowered<X>;
  using K = kernel_type_t<T>;
  using Reducer = typename After::template reducer<R, T, L::next_scalar>;
  const ReducedShape shape(tree.shape(), axes, options);
  if (needs_elements && shape.count == 0) throw_empty_reduction(needs_elements, tree.shape());
  const Arguments<X> arguments(tree);
  alignas(16) kernels::u64 scalars[std::size_t{L::next_scalar + After::scalars + 1}][2] = {};
  __builtin_memcpy(scalars, arguments.scalar, L::next_scalar * sizeof(*scalars));
  then.store(scalars + L::next_scalar);
  const auto out = into ? *into : DeviceNDArray<T>(arguments.result(shape.input, shape.reduced));
  if (out.size() > 0 && shape.count == 0) {
    const K value = Reducer::template finish<K>(Reducer::template identity<Acc>(),
                                                kernels::loop_total{0, &scalars[0][0]});
    fill_elements(out.ref(), &value, out.stream());
  } else if (out.size() > 0) {
    reduce_into(ReduceProgram<typename L::type, Reducer, Acc, K, L::next_scalar + After::scalars,
                              typename L::arrays>::value(),
                out, shape, arguments.array, scalars, positions);
  }
  return options.keepdims ? out.reshape(shape.result) : out;
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
/// Half precision accumulates in float32.
constexpr TypeId accumulator_type(TypeId t) {
  return t == TypeId::float16 || t == TypeId::bfloat16 ? TypeId::float32 : t;
}
consteval TypeId mean_type(TypeId t) {
  const Kind kind = DType(t).kind();
  return kind == Kind::floating || kind == Kind::complex ? t : TypeId::float64;
}

/// The results of kernels/reductions.def: of elements of type T the type of the result and of the
/// accumulator, whether there is one without elements, and whether it is a position.
namespace results {

template <TypeId Result>
struct summed {
  using type = host_type_t<Result>;
  using accumulator = kernel_type_t<host_type_t<accumulator_type(Result)>>;
  static constexpr bool needs_elements = false, is_position = false;
};
template <class T>
struct total : summed<sum_type(dtype_of<T>.id())> {};
template <class T>
struct average : summed<mean_type(dtype_of<T>.id())> {};
template <class T>
struct extreme {
  using type = T;
  using accumulator = kernel_type_t<T>;
  static constexpr bool needs_elements = true, is_position = false;
};
template <class T>
struct truth {
  using type = bool;
  using accumulator = bool;
  static constexpr bool needs_elements = false, is_position = false;
};
template <class T>
struct position {
  using type = std::int64_t;
  using accumulator = kernels::located<kernel_type_t<T>>;
  static constexpr bool needs_elements = true, is_position = true;
};

}  // namespace results

/// Reduction R of `x`; Result is one of the above, of the type of its elements.
template <class R, class Result, class X>
auto reduce(const X& x, const ReduceAxes& axes, const ReduceOptions& options, const char* name) {
  return reduce_tree<R, typename Result::accumulator, typename Result::type>(
      as_tree(x), axes, options, Result::is_position, Result::needs_elements ? name : nullptr);
}

}  // namespace expr

#define QUARRY_REDUCTION(method, function, result, ...)                                       \
  template <expr::Operand X>                                                                  \
  auto function(const X& x, const ReduceAxes& axes = {}, const ReduceOptions& options = {}) { \
    return expr::reduce<kernels::method##_of, expr::results::result<expr::element_t<X>>>(     \
        x, axes, options, #method);                                                           \
  }
#define QUARRY_LOCATION(method, function, ...) QUARRY_REDUCTION(method, function, position)
#include <quarry/kernels/reductions.def>
#undef QUARRY_REDUCTION
#undef QUARRY_LOCATION

namespace expr {

template <class T, int S>
using quotient = kernels::op<kernels::divide_op, T, kernels::result<T>, kernels::val<T, S>>;
template <class T, int S>
using root_of_quotient = kernels::op<kernels::sqrt_op, T, quotient<T, S>>;

/// What the squares of `count` elements are divided by.
template <class Real>
Real degrees_of_freedom(std::int64_t count, double ddof) {
  const double degrees = double(count) - ddof;
  return Real(degrees > 0 ? degrees : 0.);
}

/// The variance of elements whose mean has type Mean, or its root.
template <bool IsRoot, TypeId Mean, class X>
auto variance(const X& x, const ReduceAxes& axes, const VarianceOptions& options) {
  constexpr TypeId wide = accumulator_type(Mean);
  using T = host_type_t<wide>;
  using Real = kernel_type_t<host_type_t<quarry::detail::real_of(wide)>>;
  using Out = host_type_t<quarry::detail::real_of(Mean)>;
  using Finish = std::conditional_t<IsRoot, Then<root_of_quotient, Real>, Then<quotient, Real>>;
  const auto tree = tree_of<T>(x);
  const std::int64_t count = ReducedShape(tree.shape(), axes, {}).count;
  return reduce_tree<kernels::moments_of, kernels::moments<kernel_type_t<T>>, Out>(
      tree, axes, {.keepdims = options.keepdims}, false, nullptr,
      Finish{degrees_of_freedom<Real>(count, options.ddof)});
}

}  // namespace expr

/// The mean of |x - mean|^2, which is real: the sum over the number of elements less ddof, or over
/// 0 where that is negative. NaN without elements. Integers give float64. The elements are read
/// once, an expression is computed once, and never stored.
template <expr::Operand X, AxesArgument I = ReduceAxes>
auto var(const X& x, const I& axes = {}, const VarianceOptions& options = {}) {
  return expr::variance<false, expr::mean_type(dtype_of<expr::element_t<X>>.id())>(x, axes,
                                                                                   options);
}
/// The same over all axes.
template <expr::Operand X>
auto var(const X& x, const VarianceOptions& options) {
  return var(x, ReduceAxes(), options);
}
/// The root of var. After `using namespace quarry` the name std is ambiguous with C++'s namespace.
template <expr::Operand X, AxesArgument I = ReduceAxes>
auto std(const X& x, const I& axes = {}, const VarianceOptions& options = {}) {
  return expr::variance<true, expr::mean_type(dtype_of<expr::element_t<X>>.id())>(x, axes, options);
}
/// The same over all axes.
template <expr::Operand X>
auto std(const X& x, const VarianceOptions& options) {
  return quarry::std(x, ReduceAxes(), options);
}

}  // namespace quarry
