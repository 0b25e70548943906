// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>
#include <quarry/expr/domain.hpp>
#include <quarry/expr/staleness.hpp>
#include <quarry/kernels/program.hpp>

#include <tuple>

/// Lazy expressions. A tree of nodes holds handles of its arrays and the values of its scalars; the
/// type of the tree is the kernel. Leaves are numbered at compile time, from left to right.
namespace quarry::expr {

/// An array in an expression.
template <class T>
struct Leaf {
  using kernel_type = kernel_type_t<std::remove_const_t<T>>;
  DeviceNDArray<T> array;
  std::uint64_t made = quarry::detail::write_count();  ///< for the checked mode
  const Shape& shape() const { return array.shape(); }
};

/// An array in an expression of which elements are read at computed positions of some axes.
template <class T, int Axes>
struct SideLeaf {
  using kernel_type = kernel_type_t<std::remove_const_t<T>>;
  DeviceNDArray<T> array;
  DeviceNDArray<T> window;  ///< its elements at position 0 of those axes; broadcasts as others do
  kernels::side_axis axis[std::size_t{Axes}];
  std::uint64_t made = quarry::detail::write_count();  ///< for the checked mode
  const Shape& shape() const { return window.shape(); }
};

/// Axes of an array that is written at computed positions, as scalars.
template <int Axes>
struct OwnAxes {
  kernels::side_axis axis[std::size_t{Axes}];
};

/// A scalar in an expression, converted to the type in which it is used.
template <class K>
struct Constant {
  using kernel_type = K;
  K value;
  Shape shape() const { return {}; }
};

/// The C-order position of the element.
template <class K>
struct Position {
  using kernel_type = K;
  Shape shape() const { return {}; }
};

/// A SideLeaf with the numbers of its array and of its first axis among the scalars.
template <class T, int K, int S>
struct SideInput {};

/// What a node does, as a pattern for the device type and for the result.
template <class F, class L>
struct Apply {
  template <class... D>
  using device = kernels::op<F, L, D...>;
  template <class... K>
  using result = decltype(F::template apply<L>(std::declval<K>()...));
};
template <class F>
struct Call {
  template <class... D>
  using device = kernels::call<F, D...>;
  template <class... K>
  using result = std::remove_cvref_t<decltype(F{}(std::declval<K>()...))>;
};
/// The element of a SideLeaf at computed positions of its axes.
template <kernels::index_mode Mode>
struct Pick {
  template <class From, class... I>
  struct lowered;
  template <class T, int K, int S, class... I>
  struct lowered<SideInput<T, K, S>, I...> {
    template <class Numbers>
    struct at;
    template <int... N>
    struct at<std::integer_sequence<int, N...>> {
      using type = kernels::pick<T, K, kernels::place<Mode, S + N, I>...>;
    };
    using type = typename at<std::make_integer_sequence<int, sizeof...(I)>>::type;
  };
  template <class From, class... I>
  using device = typename lowered<From, I...>::type;
  template <class T, class... I>
  using result = T;
};
template <class T>
struct Convert {
  template <class D>
  using device = kernels::cast<T, D>;
  template <class K>
  using result = T;
};

namespace detail {

template <class K>
struct HostOf {
  using type = host_type_t<quarry::detail::row_of<K>>;
};
#define QUARRY_DTYPE(id, host_type, kernel_type, kind, name, npy_code) \
  template <>                                                          \
  struct HostOf<kernel_type> {                                         \
    using type = host_type;                                            \
  };
#include <quarry/base/dtype.def>
#undef QUARRY_DTYPE
/// Only the array knows which struct it is.
template <kernels::u64 Size, kernels::u64 Alignment>
struct HostOf<kernels::record<Size, Alignment>> {
  using type = void;
};

inline Shape broadcast(const Shape& a) { return a; }
template <class... S>
Shape broadcast(const Shape& a, const Shape& b, const S&... rest) {
  if (a == b || b.empty()) return broadcast(a, rest...);
  if (a.empty()) return broadcast(b, rest...);
  return broadcast(broadcast_shapes(a, b), rest...);
}

}  // namespace detail

/// The host type of a kernel's element type.
template <class K>
using host_of_t = typename detail::HostOf<K>::type;

template <class Op, class... A>
class Node;

/// Anything that can be part of an expression tree.
template <class X>
inline constexpr bool is_tree = false;
template <class T>
inline constexpr bool is_tree<Leaf<T>> = true;
template <class T, int Axes>
inline constexpr bool is_tree<SideLeaf<T, Axes>> = true;
template <class K>
inline constexpr bool is_tree<Constant<K>> = true;
template <class K>
inline constexpr bool is_tree<Position<K>> = true;
template <class Op, class... A>
inline constexpr bool is_tree<Node<Op, A...>> = true;

/// A list of types.
template <class... T>
struct List {};
template <class... L>
struct Concat {
  using type = List<>;
};
template <class... A>
struct Concat<List<A...>> {
  using type = List<A...>;
};
template <class... A, class... B, class... Rest>
struct Concat<List<A...>, List<B...>, Rest...> : Concat<List<A..., B...>, Rest...> {};

/// Numbers the leaves: the device type of tree X whose first array is number I and first scalar
/// number S, the element types of its arrays, and the next numbers.
template <int I, int S, class X>
struct Lower;
template <int I, int S, class T>
struct Lower<I, S, Leaf<T>> {
  using type = kernels::in<typename Leaf<T>::kernel_type, I>;
  using arrays = List<typename Leaf<T>::kernel_type>;
  static constexpr int next_array = I + 1, next_scalar = S;
};
template <int I, int S, class T, int Axes>
struct Lower<I, S, SideLeaf<T, Axes>> {
  using K = typename SideLeaf<T, Axes>::kernel_type;
  using type = SideInput<K, I, S>;
  using arrays = List<kernels::side<K, S, Axes>>;
  static constexpr int next_array = I + 1, next_scalar = S + Axes;
};
template <int I, int S, class K>
struct Lower<I, S, Constant<K>> {
  using type = kernels::val<K, S>;
  using arrays = List<>;
  static constexpr int next_array = I, next_scalar = S + 1;
};
template <int I, int S, class K>
struct Lower<I, S, Position<K>> {
  using type = kernels::iota<K>;
  using arrays = List<>;
  static constexpr int next_array = I, next_scalar = S;
};
template <int I, int S, class Op, class Done, class Arrays, class... Rest>
struct LowerArguments;
template <int I, int S, class Op, class... D, class Arrays>
struct LowerArguments<I, S, Op, List<D...>, Arrays> {
  using type = typename Op::template device<D...>;
  using arrays = Arrays;
  static constexpr int next_array = I, next_scalar = S;
};
template <int I, int S, class Op, class... D, class Arrays, class X, class... Rest>
struct LowerArguments<I, S, Op, List<D...>, Arrays, X, Rest...>
    : LowerArguments<Lower<I, S, X>::next_array, Lower<I, S, X>::next_scalar, Op,
                     List<D..., typename Lower<I, S, X>::type>,
                     typename Concat<Arrays, typename Lower<I, S, X>::arrays>::type, Rest...> {};
template <int I, int S, class Op, class... A>
struct Lower<I, S, Node<Op, A...>> : LowerArguments<I, S, Op, List<>, List<>, A...> {};

/// The whole of a tree: its device type and how many arrays and scalars it has.
template <class X>
using Lowered = Lower<0, 0, X>;

/// Addresses of a tree's arrays and values of its scalars, in the order of their numbers.
template <class X>
class Arguments {
 public:
  static constexpr int arrays = Lowered<X>::next_array, scalars = Lowered<X>::next_scalar;

  explicit Arguments(const X& tree) { collect(tree); }

  const DeviceNDArrayBase* array[std::size_t{arrays > 0 ? arrays : 1}];
  kernels::u64 scalar[std::size_t{scalars > 0 ? scalars : 1}][2];

 private:
  template <class T>
  void collect(const Leaf<T>& leaf) {
    add_array(leaf.array, leaf);
  }
  template <class T, int Axes>
  void collect(const SideLeaf<T, Axes>& leaf) {
    add_array(leaf.window, leaf);
    for (const kernels::side_axis& axis : leaf.axis) add_scalar(axis);
  }
  template <class K>
  void collect(const Constant<K>& constant) {
    add_scalar(constant.value);
  }
  template <int Axes>
  void collect(const OwnAxes<Axes>& own) {
    for (const kernels::side_axis& axis : own.axis) add_scalar(axis);
  }
  template <class K>
  void collect(const Position<K>&) {}
  template <class N>
  void collect(const N& node) {
    std::apply([this](const auto&... a) { (this->collect(a), ...); }, node.arguments());
  }
  /// `operand` is what the kernel gets of the leaf.
  template <class L>
  void add_array(const DeviceNDArrayBase& operand, const L& leaf) {
    array[array_count_++] = &operand;
    if (leaf.made != quarry::detail::write_count()) [[unlikely]] {
      require_unwritten(leaf.array, leaf.made, array_count_);
    }
  }
  template <class V>
  void add_scalar(const V& value) {
    static_assert(sizeof(V) <= 16);
    kernels::u64* const to = scalar[scalar_count_++];
    to[0] = to[1] = 0;
    __builtin_memcpy(to, &value, sizeof(V));
  }

  int array_count_ = 0, scalar_count_ = 0;
};

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
  return std::apply([&](const A&... a) { return Node<Op, A...>(viewed(a, whole, rule)...); },
                    node.arguments());
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
      : shape_(detail::broadcast(arguments.shape()...)), arguments_(std::move(arguments)...) {}
  explicit Node(const A&... arguments)
      : shape_(detail::broadcast(arguments.shape()...)), arguments_(arguments...) {}

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
  /// In whose order it is evaluated: that of its first array, or a guard's.
  const Stream& stream() const {
    return quarry::detail::stream_for(*Arguments<Node>(*this).array[0]);
  }
  const std::tuple<A...>& arguments() const { return arguments_; }

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
  std::tuple<A...> arguments_;
};

}  // namespace quarry::expr
