// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/text_node.hpp>
#include <quarry/ops/reduce.hpp>

/// Reductions from text, for GPUs. They are those of ops/reduce.hpp with a reducer of the program's
/// own: any axes of any layout, and results that are the same in every run.
namespace quarry {

/// What a ReductionKernel computes, as CUDA C++; the names as in CuPy. The functions of
/// ops/elementwise.hpp are there too, on numbers.
struct ReductionText {
  std::string_view parameters = {};      ///< "x, y": names of the arguments' elements
  std::string_view map_expr = {};        ///< of them: "x * y"
  std::string_view reduce_expr = {};     ///< of `a` and `b`, associative and commutative: "a + b"
  std::string_view identity = {};        ///< neutral in it: "0"
  std::string_view post_map_expr = "a";  ///< of the total `a` of `n` elements: "sqrt(a)"
  std::string_view name = "reduction";   ///< an identifier: part of the kernels' names
  std::string_view preamble = {};        ///< functions and types that the expressions use
};

/// Which axes a reduction is over, and whether they stay, with extent 1.
struct ReductionAxes {
  ReduceAxes axes = {};   ///< all of them
  bool keepdims = false;  ///< reduced axes stay
};

namespace expr {

/// Makes the reducer of `text`, and the function without arguments that has its result without
/// elements.
const source_text& reducer_text(DType accumulator, const ReductionText& text);
const source_text& empty_text(DType accumulator, DType result, const ReductionText& text);
const source_text& map_text(DType accumulator, std::span<const DType> types,
                            const ReductionText& text);

/// The reducer is a text, which a scalar has.
struct ByText {
  template <class R, class T, int S>
  using reducer = kernels::text_reducer<S>;
  static constexpr int scalars = 1;
  void store(kernels::u64 (*to)[2]) const { (*to)[0] = reinterpret_cast<std::uintptr_t>(text); }
  const source_text* text;
};

}  // namespace expr

template <class Signature, class Accumulator = void>
class ReductionKernel;

/// A reduction from the texts of its expressions:
///     qy::ReductionKernel<float(float, float)> norm({.parameters = "x, y",
///         .map_expr = "x * y", .reduce_expr = "a + b", .identity = "0",
///         .post_map_expr = "sqrt(a)"});
///     float n = norm(a, b - 1).item();
///     auto rows = norm({.axes = 1}, m, m);
/// Its arguments are those of an ElementwiseKernel, computed in the same kernel: arrays and
/// expressions, at least one, which broadcast, and numbers. The total is kept in Accumulator, the
/// type of the result if none is given, to which the values of map_expr are converted.
template <Number R, Number... P, class Accumulator>
class ReductionKernel<R(P...), Accumulator> {
 public:
  using Total = std::conditional_t<std::is_void_v<Accumulator>, R, Accumulator>;  ///< in kernels

  /// Compiles nothing. Throws LogicError for another number of parameters than the type has, and
  /// for names that are no identifiers, and "identity", "combine", "take", "takes_batches" and
  /// "finish" as the kernel's.
  explicit ReductionKernel(const ReductionText& text)
      : map_(&make_map(text)),
        reducer_(&expr::reducer_text(dtype_of<Total>, text)),
        empty_(&expr::empty_text(dtype_of<Total>, dtype_of<R>, text)) {}

  ///@{
  /// Of all elements, a 0-d array, or over some axes. Queued in the stream of the first array;
  /// without elements the result is that of the identity. Throws CompileError with the compiler's
  /// log, which names lines of the expressions by the kernel's name; ShapeError if the arguments do
  /// not broadcast; LogicError on the CPU device; IndexError for an axis that there is not.
  template <class... X>
  requires(sizeof...(X) == sizeof...(P)) DeviceNDArray<R>
  operator()(const ReductionAxes& over, const X&... x) const {
    const auto tree = expr::text_node<kernel_type_t<Total>>(*map_, expr::text_argument<P>(x)...);
    expr::require_gpu(*map_, tree);
    const ReduceOptions options{.keepdims = over.keepdims};
    const expr::ReducedShape shape(tree.shape(), over.axes, options);
    if (shape.count == 0) return empty(shape.result, tree);
    return expr::reduce_tree<void, kernel_type_t<Total>, R>(tree, over.axes, options, false,
                                                            nullptr, expr::ByText{reducer_});
  }
  template <class... X>
  requires(sizeof...(X) == sizeof...(P) && sizeof...(X) > 0) DeviceNDArray<R>
  operator()(const X&... x) const { return (*this)(ReductionAxes{}, x...); }
  ///@}

  ///@{
  /// For the library itself.
  const kernels::source_text& map() const { return *map_; }
  const kernels::source_text& reducer() const { return *reducer_; }
  const kernels::source_text& of_nothing() const { return *empty_; }
  ///@}

 private:
  static const kernels::source_text& make_map(const ReductionText& text) {
    const DType types[] = {dtype_of<P>..., dtype_of<R>};
    return expr::map_text(dtype_of<Total>, {types, sizeof...(P)}, text);
  }
  template <class X>
  DeviceNDArray<R> empty(const Shape& shape, const X& tree) const {
    DeviceNDArray<R> out(shape, tree.stream());
    if (out.size() > 0) {
      const StreamGuard guard(out.stream());
      expr::evaluate_tree<R>(out, expr::text_node<kernel_type_t<R>>(*empty_));
    }
    return out;
  }

  const kernels::source_text *map_, *reducer_, *empty_;
};

}  // namespace quarry
