// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/text_node.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/untyped_elementwise.hpp>

/// Elementwise functions from text, for GPUs: the text is known at run time only. What is known
/// when the program is compiled is better a QUARRY_FUNCTION, which runs on every device.
namespace quarry {

/// An elementwise function from the text of its operation:
///     qy::ElementwiseKernel<float(float, float)> f("x, y", "x * x + y * 2", "squares");
///     c = qy::sqrt(f(a, b)) + 1;  // one kernel
/// Its call is an expression like any other: lazy, part of larger ones and of reductions, of arrays
/// and expressions of any layout, which broadcast, and numbers; at least one array. Arguments are
/// converted to the parameters' types as in an assignment. The operation is an expression, which is
/// converted to the result's type, or statements that return; it finds the functions of
/// ops/elementwise.hpp on numbers, CUDA's own, and those of the preamble. NVRTC compiles it with
/// the expression that it is part of, at the first evaluation, which throws CompileError with its
/// log; that names lines of the operation by the kernel's name. Equal texts are compiled once. The
/// name is part of the kernels' names.
template <Number R, Number... P>
class ElementwiseKernel<R(P...)> {
 public:
  /// Compiles nothing. Throws LogicError for another number of parameters than the type has, and
  /// for names that are no identifiers.
  ElementwiseKernel(std::string_view parameters, std::string_view operation,
                    std::string_view name = "elementwise", std::string_view preamble = {})
      : text_(&make_text(parameters, operation, name, preamble)) {}

  /// The expression; nothing has run. Throws ShapeError if the arguments do not broadcast, and
  /// LogicError for arrays on the CPU device.
  template <class... X>
  auto operator()(const X&... x) const {
    constexpr bool fits = sizeof...(X) == sizeof...(P);
    static_assert(fits, "the kernel has another number of parameters");
    if constexpr (fits) {
      const auto node = expr::text_node<kernel_type_t<R>>(*text_, expr::text_argument<P>(x)...);
      expr::require_gpu(*text_, node);
      return node;
    }
  }

  /// For the library itself.
  const kernels::source_text& text() const { return *text_; }

 private:
  static const kernels::source_text& make_text(std::string_view parameters,
                                               std::string_view operation, std::string_view name,
                                               std::string_view preamble) {
    const DType types[] = {dtype_of<P>..., dtype_of<R>};
    return kernels::text_of(
        name, kernels::with_lines("the preamble of ", name, preamble),
        expr::function_members(dtype_of<R>, {types, sizeof...(P)}, parameters, {name, operation}));
  }

  const kernels::source_text* text_;
};

}  // namespace quarry
