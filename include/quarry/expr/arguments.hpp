// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>
#include <quarry/base/queued_check.hpp>
#include <quarry/expr/domain.hpp>
#include <quarry/expr/staleness.hpp>
#include <quarry/kernels/program.hpp>

#include <memory>
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
  /// Of the positions, if it is queued.
  std::shared_ptr<const quarry::detail::QueuedCheck> check = nullptr;
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

inline const Shape& broadcast(const Shape& a) { return a; }
/// As broadcast_shapes(), which takes longer.
Shape broadcast(const Shape& a, const Shape& b);
template <class... S>
Shape broadcast(const Shape& a, const Shape& b, const Shape& c, const S&... rest) {
  return broadcast(broadcast(a, b), c, rest...);
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

/// The operands of an operation. A std::tuple of them, which every expression would have, takes the
/// compiler several times as long.
template <std::size_t N, class X>
struct NumberedOperand {
  X value;
};
template <class Numbers, class... X>
struct NumberedOperands;
template <std::size_t... N, class... X>
struct NumberedOperands<std::index_sequence<N...>, X...> : NumberedOperand<N, X>... {
  /// f(first, second, ...)
  template <class F>
  decltype(auto) apply(const F& f) const {
    return f(static_cast<const NumberedOperand<N, X>&>(*this).value...);
  }
};
template <class... X>
using Operands = NumberedOperands<std::index_sequence_for<X...>, X...>;

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

/// For those who launch a kernel before they know what a queued check finds.
struct UncheckedTag {};
inline constexpr UncheckedTag unchecked;

/// Addresses of a tree's arrays and values of its scalars, in the order of their numbers. Waits for
/// the queued checks of the tree and throws what they find; if they are left `unchecked`, for all
/// but the last one, which is `check`.
template <class X>
class Arguments {
 public:
  static constexpr int arrays = Lowered<X>::next_array, scalars = Lowered<X>::next_scalar;

  explicit Arguments(const X& tree) : Arguments(tree, unchecked) {
    if (check) check->require();
    check = nullptr;
  }
  Arguments(const X& tree, UncheckedTag) { collect(tree); }

  /// For a new array of the elements of the tree, which has `shape`.
  quarry::detail::ComputedFrom result(const Shape& shape, const bool* is_reduced = nullptr) const {
    return {shape, array, arrays, is_reduced};
  }

  const DeviceNDArrayBase* array[std::size_t{arrays > 0 ? arrays : 1}];
  kernels::u64 scalar[std::size_t{scalars > 0 ? scalars : 1}][2];
  const quarry::detail::QueuedCheck* check = nullptr;

 private:
  template <class T>
  void collect(const Leaf<T>& leaf) {
    add_array(leaf.array, leaf);
  }
  template <class T, int Axes>
  void collect(const SideLeaf<T, Axes>& leaf) {
    add_array(leaf.window, leaf);
    for (const kernels::side_axis& axis : leaf.axis) add_scalar(axis);
    if (!leaf.check || leaf.check.get() == check) return;
    if (check) check->require();
    check = leaf.check.get();
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
    node.arguments().apply([this](const auto&... a) { (this->collect(a), ...); });
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

}  // namespace quarry::expr
