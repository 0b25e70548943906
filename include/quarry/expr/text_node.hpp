// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>
#include <quarry/kernels/text_function.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Functions whose source is a text, as nodes: the address of the text is the first argument, a
/// constant.
namespace quarry::expr {

using kernels::source_text;

/// A function with results of kernel type R.
template <class R>
struct CallText {
  template <class Text, class... D>
  struct lowered;
  template <int S, class... D>
  struct lowered<kernels::val<const source_text*, S>, D...> {
    using type = kernels::call<kernels::text_function<R, S>, D...>;
  };
  template <class Text, class... D>
  using device = typename lowered<Text, D...>::type;
  template <class...>
  using result = R;
};
template <class R, class... A>
using TextNode = Node<CallText<R>, Constant<const source_text*>, A...>;

template <class R, class... A>
TextNode<R, A...> text_node(const source_text& text, const A&... trees) {
  return TextNode<R, A...>(Constant<const source_text*>{&text}, trees...);
}

/// The argument for a parameter of type P: arrays and expressions as an assignment would convert
/// them, numbers as beside an array of P.
template <Number P, class X>
auto text_argument(const X& x) {
  if constexpr (Scalar<X>) {
    static_assert(quarry::detail::keeps_kind<X, P>,
                  "the number can lose its kind in the kernel's parameter: convert it");
    return Constant<kernel_type_t<P>>{quarry::detail::scalar_as<kernel_type_t<P>>(x)};
  } else {
    static_assert(Operand<X>,
                  "a kernel takes arrays, expressions and numbers; host memory goes to the device "
                  "first, with to_device(h)");
    static_assert(same_kind(dtype_of<typename X::value_type>, dtype_of<P>),
                  "the elements can lose their kind in the kernel's parameter: use astype");
    return tree_of<P>(x);
  }
}

/// Throws LogicError if the array is on the CPU device.
void require_gpu(const source_text& text, const DeviceNDArrayBase& array);
/// The same for all arrays of a tree, which has one.
template <class X>
void require_gpu(const source_text& text, const X& tree) {
  static_assert(Lowered<X>::next_array > 0, "a kernel wants an array or an expression");
  require_gpu(text, *Arguments<X>(tree).array[0]);
}

/// The name of the kernels' type for elements of this type: "float", "i32", "complex<float>".
std::string_view kernel_type_name(DType type);

/// One operation of a kernel: source and the label that it has in the compiler's messages.
struct LabelledText {
  std::string_view label, source;
};
/// The members of a struct: `R name(P...)` in the source of a static function, from an expression,
/// or from statements that return. R is converted to.
std::string function_members(DType result, std::span<const DType> types,
                             std::string_view parameters, const LabelledText& operation);
/// The names in "x, y", which have to be `count` identifiers; else throws LogicError.
std::vector<std::string_view> parameter_names(std::string_view list, std::size_t count);

}  // namespace quarry::expr
