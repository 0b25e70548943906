// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/expr/scatter.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/index_entry.hpp>
#include <quarry/ops/reduce.hpp>

/// Indexing by arrays of integers and by masks among other entries: a(i), a(1, i, range(2, 5), j),
/// a(mask, 0), as in NumPy.
namespace quarry {
namespace expr {

/// Whether a tree reads elements at computed positions.
template <class X>
inline constexpr bool has_side = false;
template <class T, int Axes>
inline constexpr bool has_side<SideLeaf<T, Axes>> = true;
template <class Op, class... A>
inline constexpr bool has_side<Node<Op, A...>> = (has_side<A> || ...);

/// Whether elements of From can be written into elements of T.
template <class T, class From>
inline constexpr bool can_assign = std::same_as<T, std::remove_const_t<From>>;
template <Number T, Number From>
inline constexpr bool can_assign<T, From> = same_kind(dtype_of<From>, dtype_of<T>);

/// The elements of an array of T at positions on some of its axes; P are the trees of the
/// positions. An expression like any other, and a place: what is assigned to `a(i)` is written into
/// the elements of `a`.
template <kernels::index_mode Mode, class T, class... P>
class Indexed : public Node<Pick<Mode>, SideLeaf<T, int{sizeof...(P)}>, P...> {
  static constexpr int axes = sizeof...(P);

 public:
  using Base = Node<Pick<Mode>, SideLeaf<T, axes>, P...>;
  using value_type = std::remove_const_t<T>;

  /// `array` is the one that is written; `aligned` is the same or a copy, of which `side` is a
  /// view.
  Indexed(const DeviceNDArray<T>& array, const DeviceNDArray<T>& aligned, const SideView& side,
          P&&... positions)
      : Base(side_leaf<T, axes>(aligned, side), std::move(positions)...),
        array_(array),
        is_exact_(side.is_exact),
        is_injective_(side.is_injective) {}

  Indexed(const Indexed&) = default;
  Indexed(Indexed&&) noexcept = default;
  ///@{
  /// Rebinds a name; nothing is written.
  Indexed& operator=(const Indexed&) & = default;
  Indexed& operator=(Indexed&&) & noexcept = default;
  ///@}
  ///@{
  /// Writes numbers, arrays, expressions or host memory, which broadcast, into the elements, as
  /// assign().
  const Indexed& operator=(const Indexed& other) && { return written(other); }
  // It copies elements, which can fail. NOLINTNEXTLINE(performance-noexcept-move-constructor)
  const Indexed& operator=(Indexed&& other) && { return written(other); }
  template <quarry::detail::OtherThan<Indexed> X>
  const Indexed& operator=(const X& x) && {
    return written(x);
  }
  ///@}

  /// If several values are written to an element, the last one in C order stays, as in NumPy. What
  /// is written is read before, as if there were a temporary. Queued in the stream of the array; on
  /// a GPU it waits where values, no rows of an array of 64 bytes or more, differ among 65536
  /// places or more, to see whether any is repeated.
  template <class X>
  void assign(const X& x) const {
    if constexpr (std::is_const_v<T>) {
      static_assert(quarry::detail::never<X>, QUARRY_READ_ONLY);
    } else if constexpr (quarry::detail::ElementValue<X, T>) {
      if constexpr (Number<T>) {
        using K = kernel_type_t<T>;
        write(Constant<K>{quarry::detail::scalar_as<K>(x)}, -1);
      } else {
        write(as_tree(full<T>({}, x, {.stream = quarry::detail::stream_for(array_)})), -1);
      }
    } else if constexpr (Operand<X>) {
      assign_operand(x, -1);
    } else if constexpr (HostArray<X>) {
      assign_operand(to_device(x, {.stream = quarry::detail::stream_for(array_)}), -1);
    } else {
      static_assert(quarry::detail::never<X>,
                    "this would lose its kind in these elements: convert it first");
    }
  }
  /// The same of an expression that reads these elements first; the others of it are not in the
  /// array.
  template <class X>
  void assign_in_place(const X& x) const {
    assign_operand(x, 0);
  }

  /// The array that is written.
  const DeviceNDArray<T>& array() const { return array_; }
  /// Whether the axes of the positions have elements of the array only.
  bool is_exact() const { return is_exact_; }
  DType dtype() const { return dtype_of<value_type>; }
  template <class U>
  DeviceNDArray<U> evaluate() const {
    if constexpr (Number<value_type>) {
      return Base::template evaluate<U>();
    } else {
      static_assert(std::same_as<U, value_type>, "a record does not become another one");
      const Arguments<Base> arguments(*this, unchecked);
      DeviceNDArray<U> out(this->shape(), quarry::detail::stream_for(*arguments.array[0]));
      run<U>(out, arguments);
      return out;
    }
  }
  auto copy_to_host() const { return evaluate<value_type>().copy_to_host(); }
  auto item() const { return evaluate<value_type>().item(); }

 private:
  template <class X>
  const Indexed& written(const X& x) const {
    assign(x);
    return *this;
  }
  template <class X>
  void assign_operand(const X& x, int own) const {
    if constexpr (!Number<T> && Expression<X>) {
      write(as_tree(eval(x)), -1);
    } else {
      static_assert(can_assign<T, typename X::value_type>,
                    "this conversion can lose the kind of the values; use astype");
      const auto& tree = as_tree(x);
      using Tree = std::remove_cvref_t<decltype(tree)>;
      if constexpr (has_side<Tree>) {
        const Arguments<Tree> arguments(tree, unchecked);
        if (reads_target(array_, arguments.array, arguments.arrays, own)) {
          return write(as_tree(eval(x)), -1);
        }
      }
      write(tree, own);
    }
  }
  template <class V>
  void write(const V& values, int own) const {
    if (this->size() == 0) return require_writable_to_empty(values.shape(), this->shape());
    this->arguments().apply([&](const SideLeaf<T, axes>& elements, const P&... positions) {
      using K = kernel_type_t<T>;
      const Target target{elements.array, elements.window, this->shape(), elements.check.get()};
      OwnAxes<axes> own_axes;
      for (std::size_t n = 0; n < axes; ++n) own_axes.axis[n] = elements.axis[n];
      const Shape turns = detail::broadcast(positions.shape()...);
      const bool can_differ =
          own >= 0 || HasPosition<V>::value || !is_same_for_all(values.shape(), turns);
      if (is_injective_ || !can_differ) {
        queue_check(target);
        scatter<kernels::replaced, K, Mode>(target, own_axes, own, values, positions...);
      } else if constexpr (Lowered<V>::next_array > 0) {
        scatter_last<K, Mode>(target, own_axes, turns, own, values, positions...);
      }
      if (elements.array.buffer() != array_.buffer()) array_.assign(elements.array);
    });
  }

  DeviceNDArray<T> array_;
  bool is_exact_, is_injective_;
};

/// Positions as an array.
template <class A, quarry::detail::Positions I>
auto positions_for(const A& array, const I& positions) {
  const auto require_integers = [](auto kind) {
    static_assert(quarry::detail::is_integer(kind()),
                  "an index array has integers: i.astype<std::int64_t>()");
  };
  if constexpr (Operand<I>) {
    require_integers([] { return dtype_of<element_t<I>>.kind(); });
    return eval(positions);
  } else {
    require_integers([] { return dtype_of<host_value_t<const I>>.kind(); });
    return to_device(positions, {.stream = quarry::detail::stream_for(array)});
  }
}
/// An entry of an index, positions as an array.
inline Index entry_of(const DeviceNDArrayBase&, const Index& entry) { return entry; }
template <class A, quarry::detail::Positions I>
auto entry_of(const A& array, const I& positions) {
  return positions_for(array, positions);
}
/// The same for a list.
template <class A, class I>
IndexEntry listed_entry(const A& array, const I& entry) {
  if constexpr (HostArray<I> || quarry::detail::BoolList<I>) {
    return to_device(entry, {.stream = quarry::detail::stream_for(array)});
  } else {
    return entry;
  }
}
template <class X>
inline constexpr bool is_host_mask = quarry::detail::BoolList<X>;
template <HostArray X>
inline constexpr bool is_host_mask<X> = quarry::detail::is_bool<host_value_t<const X>>;
template <class X>
inline constexpr bool is_mask =
    std::is_same_v<X, bool> || quarry::detail::Mask<X> || is_host_mask<X>;

inline SideEntry listed(const Index& entry) { return {entry}; }
inline SideEntry listed(const DeviceNDArrayBase& positions) { return {all, &positions}; }
/// The tree of positions with axes of extent 1 behind theirs.
inline std::tuple<> trees_of(const Index&, std::size_t) { return {}; }
template <class P>
auto trees_of(const DeviceNDArray<P>& positions, std::size_t behind) {
  return std::tuple(Leaf<P>{with_axes(positions, behind)});
}

template <class T, class... E>
auto indexed_by(const DeviceNDArray<T>& whole, const E&... entries) {
  const auto array = aligned_array(whole);
  const SideEntry list[] = {listed(entries)...};
  const SideView side = side_view(array, list);
  return std::apply(
      [&](auto&&... trees) {
        return Indexed<kernels::index_mode::from_end, T, std::remove_cvref_t<decltype(trees)>...>(
            whole, array, side, std::move(trees)...);
      },
      std::tuple_cat(trees_of(entries, side.behind)...));
}
template <class T>
auto indexed_by_list(const DeviceNDArray<T>& whole, std::span<const IndexEntry> entries) {
  using Positions = Leaf<const std::int64_t>;
  const auto array = aligned_array(whole);
  const ListedView view = listed_view(array, entries);
  return Indexed<kernels::index_mode::from_end, T, Positions>(
      whole, array, view.side, Positions{with_axes(view.positions, view.side.behind)});
}

}  // namespace expr

/// a(entries...) where at least one entry has positions, as NumPy's advanced indexing: arrays,
/// expressions or host arrays of integers, which broadcast together; negative ones count from the
/// end. A mask, of bools, stands for the positions where it is true along each of its axes; `true`
/// and `false` are masks without axes. The axes of positions come in the place of the first of
/// them, or of the integers beside them, if these stand next to each other, else first. Lazy, but
/// positions are evaluated and checked, and elements of masks counted, at once, which waits for
/// them. The check of 1024 positions or more on a GPU is left, once, to what first evaluates the
/// elements or writes them: it waits for the check, and throws in its place, having written
/// nothing; what is never evaluated throws nothing. (Positions that are captured are checked by
/// each launch: see capture().) If an array of positions is written between the check and the
/// reading of the elements, those that are outside by then count as the nearest inside. Throws
/// IndexError for a position outside, with its value, the axis and its extent, for a mask that has
/// not the extents of its axes, and for positions that do not broadcast together.
template <class T, class... I>
auto index_by(const DeviceNDArray<T>& array, const I&... entries) {
  if constexpr (sizeof...(I) == 1 && (expr::is_host_mask<I> && ...)) {
    return array(to_device(entries, {.stream = detail::stream_for(array)})...);
  } else if constexpr ((expr::is_mask<I> || ...)) {
    const IndexEntry list[] = {expr::listed_entry(array, entries)...};
    return expr::indexed_by_list(array, list);
  } else {
    return expr::indexed_by(array, expr::entry_of(array, entries)...);
  }
}
/// The same of a list of entries that are known only at run time.
template <class T, detail::EntryList L>
auto index_by(const DeviceNDArray<T>& array, const L& entries) {
  return expr::indexed_by_list(array, entries);
}

/// A record array's elements into a view.
template <class T, kernels::index_mode Mode, class... P>
requires(!Number<T>) void assign_expression(const DeviceNDArray<T>& out,
                                            const expr::Indexed<Mode, T, P...>& e) {
  out.assign(e.template evaluate<T>());
}

#define QUARRY_OPERATOR(symbol, name)                                                          \
  /** name() in place: a(i) = a(i) symbol b, so of repeated positions the last one counts; see \
   * add_at. Throws ShapeError if the result has not the shape of a(i). */                     \
  template <kernels::index_mode Mode, class T, class... P, expr::Value B>                      \
  void operator symbol(const expr::Indexed<Mode, T, P...>& a, const B& b) {                    \
    const auto result = expr::apply<kernels::name##_op>(a, b);                                 \
    expr::require_in_place(result.shape(), a.shape());                                         \
    a.assign_in_place(result);                                                                 \
  }
QUARRY_OPERATOR(+=, add)
QUARRY_OPERATOR(-=, subtract)
QUARRY_OPERATOR(*=, multiply)
QUARRY_OPERATOR(/=, divide)
QUARRY_OPERATOR(%=, remainder)
QUARRY_OPERATOR(&=, bitwise_and)
QUARRY_OPERATOR(|=, bitwise_or)
QUARRY_OPERATOR(^=, bitwise_xor)
QUARRY_OPERATOR(<<=, left_shift)
QUARRY_OPERATOR(>>=, right_shift)
#undef QUARRY_OPERATOR

}  // namespace quarry
