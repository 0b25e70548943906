// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/arguments.hpp>

namespace quarry::expr {

/// The tree whose elements are those that a view of `tree`, which has shape `whole`, shows: every
/// array is viewed, nothing is copied or computed.
template <class T>
DeviceNDArray<T> viewed(const DeviceNDArray<T>& array, const Shape& whole, const ViewRule& rule) {
  return quarry::detail::Viewer::view(array, rule(quarry::broadcast_to(array.layout(), whole)));
}
template <class T>
Leaf<T> viewed(const Leaf<T>& leaf, const Shape& whole, const ViewRule& rule) {
  return {viewed(leaf.array, whole, rule), leaf.made};
}
template <class T, int Axes>
SideLeaf<T, Axes> viewed(SideLeaf<T, Axes> leaf, const Shape& whole, const ViewRule& rule) {
  leaf.window = viewed(leaf.window, whole, rule);
  return leaf;
}
template <class K>
Constant<K> viewed(const Constant<K>& constant, const Shape&, const ViewRule&) {
  return constant;
}
template <class Op, class... A>
Node<Op, A...> viewed(const Node<Op, A...>& node, const Shape& whole, const ViewRule& rule) {
  return node.arguments().apply(
      [&](const A&... a) { return Node<Op, A...>(viewed(a, whole, rule)...); });
}

/// The result in T of evaluating `tree`, and evaluation into existing elements: expr/evaluate.hpp.
template <class T, class X>
DeviceNDArray<T> evaluate_as(const X& tree);

/// Methods that evaluate the expression E; see DeviceNDArray.
template <class E>
class EvaluatingMethods : public ArrayMethods<E> {
 public:
  ///@{
  /// Of the elements in a new array.
  auto reshape(const Shape& to, Order order = Order::c) const { return array().reshape(to, order); }
  auto ravel(Order order = Order::c) const { return array().ravel(order); }
  auto flatten(Order order = Order::c) const { return ravel(order); }
  auto transpose() const { return array().transpose(); }
  auto transpose(const Axes& axes) const { return array().transpose(axes); }
  auto T() const { return transpose(); }
  auto squeeze() const { return array().squeeze(); }
  auto squeeze(const Axes& axes) const { return array().squeeze(axes); }
  auto copy_to_host() const { return array().copy_to_host(); }
  auto item() const { return array().item(); }
  ///@}

 private:
  auto array() const {
    return static_cast<const E&>(*this).template evaluate<typename E::value_type>();
  }
};

/// An operation on its arguments; nothing has run. Throws ShapeError where they do not broadcast
/// together.
template <class Op, class... A>
class Node : LazyExpression, public EvaluatingMethods<Node<Op, A...>> {
 public:
  using quarry_expression = void;
  using kernel_type = typename Op::template result<typename A::kernel_type...>;
  using value_type = host_of_t<kernel_type>;

  explicit Node(A&&... arguments)
      : shape_(detail::broadcast(arguments.shape()...)), arguments_{{std::move(arguments)}...} {}
  /// Copies what is no temporary.
  template <class... X>
  requires(std::is_same_v<std::remove_cvref_t<X>, A>&&...) explicit Node(X&&... arguments)
      : shape_(detail::broadcast(arguments.shape()...)),
        arguments_{{std::forward<X>(arguments)}...} {}

  Node(const Node&) = default;
  Node(Node&&) noexcept = default;
  /// Rebinds a named expression to another one of its type; nothing is written.
  Node& operator=(const Node&) & = default;
  Node& operator=(Node&&) & noexcept = default;
  template <class X>
  const Node& operator=(const X&) const {
    static_assert(quarry::detail::never<X>,
                  "an expression has no elements to write into: assign to an array or to its view "
                  "a(...)");
    return *this;
  }

  const Shape& shape() const { return shape_; }
  std::size_t ndim() const { return shape_.size(); }
  std::int64_t size() const { return element_count(shape_); }
  DType dtype() const { return dtype_of<value_type>; }
  /// That of the array to which it evaluates.
  Layout layout() const {
    return Arguments<Node>(*this, unchecked).result(shape_).layout(sizeof(value_type));
  }
  /// In whose order it is evaluated: that of its first array, or a guard's.
  const Stream& stream() const {
    return quarry::detail::stream_for(*Arguments<Node>(*this, unchecked).array[0]);
  }
  const Operands<A...>& arguments() const { return arguments_; }

  /// Part of the expression, still lazy: e(i) is eval(e)(i) without computing the rest. See
  /// view.hpp.
  template <std::convertible_to<Index>... I>
  Node operator()(const I&... entries) const {
    const Index list[sizeof...(I) + 1] = {Index(entries)..., Index(newaxis)};
    return (*this)(std::span<const Index>(list, sizeof...(I)));
  }

  /// The same with entries that are known at run time only.
  Node operator()(std::span<const Index> entries) const {
    return viewed(*this, shape_, [&](const Layout& layout) { return index(layout, entries); });
  }
  /// The elements for which the mask is true, still lazy; see ops/select.hpp.
  template <quarry::detail::Mask M>
  auto operator()(const M& mask) const {
    return select(*this, mask);  // found by ADL
  }
  /// The elements at positions, of the expression's values.
  template <class... I>
  requires(quarry::detail::Positions<I> || ...) auto operator()(const I&... entries) const {
    return evaluate<value_type>()(entries...);
  }

  /// The elements converted as NumPy's astype does; still lazy.
  template <Number U>
  auto astype() const {
    return Node<Convert<kernel_type_t<U>>, Node>(*this);
  }

  template <class T>
  DeviceNDArray<T> evaluate() const {
    return evaluate_as<T>(*this);
  }

 private:
  Shape shape_;
  Operands<A...> arguments_;
};

}  // namespace quarry::expr
