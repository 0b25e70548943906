// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/kernels/select.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/positions.hpp>

#include <optional>
#include <vector>

/// Elements that a mask selects: a(mask).
namespace quarry {

namespace expr {

/// Throws IndexError unless the mask has the first axes of the array: see require_mask_extent().
void require_mask(const Shape& mask, const Shape& array);
/// What such a mask without elements has places for: nothing, with its extents.
View without_elements(const Layout& array, const Shape& mask);

/// A selection for code that does not depend on types. The mask has axes of extent 1 behind its
/// own, so that it broadcasts; its arrays are the first ones.
struct SelectCall {
  const kernels::program& program;
  const DeviceNDArrayBase* const* arrays;
  const kernels::u64 (*scalars)[2];
  const Shape& mask;
  int mask_arrays;
};
/// How many elements of the mask are true. Waits.
std::int64_t count_selected(const SelectCall& call);

/// New memory with the selected elements of `shape`, of which the `count` axes from `axis` on
/// become one. Waits for their number.
struct SelectedAxes {
  const Shape& shape;
  std::size_t axis, count;
};
struct Selection {
  Layout layout;
  std::shared_ptr<Buffer> buffer;
};
Selection select_elements(const SelectCall& call, const SelectedAxes& axes);
///@{
/// The same of whole rows of an array, which takes less time than element by element. The mask has
/// the `axes`, and maybe others of extent 1 behind them. Nothing is done, and no rows are returned,
/// if the elements have not the size and alignment of a number.
std::optional<Selection> select_rows(const DeviceNDArrayBase& array,
                                     const DeviceNDArray<const bool>& mask,
                                     const SelectedAxes& axes);
/// Writes the values to the rows, of the first axes, in order. Throws ShapeError, with both
/// numbers, unless there are as many of them; then nothing is written.
bool assign_rows(const DeviceNDArrayBase& array, const DeviceNDArray<const bool>& mask,
                 const DeviceNDArrayBase& values);
///@}
/// Whether there is so little memory that elements are counted before they get `bytes`, of which
/// they may need a part only.
bool is_counted_first(std::size_t bytes, std::size_t free);

template <class E, class Out, bool InPlace, int S, class Arrays>
struct SelectProgram;
template <class P, class E, class Out, bool InPlace, int S, class... In>
struct SelectProgram<kernels::several<P, E>, Out, InPlace, S, List<In...>> {
  static kernels::program& value() {
    return kernels::program_for<kernels::select_of<P, E, Out, InPlace, S, In...>>::value;
  }
};

/// A tree with `axes` more axes of extent 1.
template <class X>
X widened(const X& tree, std::size_t axes) {
  if (axes == 0) return tree;
  std::vector<Index> entries(axes + 1, newaxis);
  entries[0] = ellipsis;
  const Shape& shape = tree.shape();
  return viewed(tree, shape, [&](const Layout& layout) { return index(layout, entries); });
}

/// Calls f(SelectCall) for the elements of tree `values` for which tree `mask` is true.
template <class T, class M, class V, class F>
auto with_selection(const M& mask, const V& values, const F& f) {
  using All = Together<M, V>;
  using L = Lowered<All>;
  const Arguments<All> arguments(All(mask, values));
  const Shape& shape = mask.shape();
  return f(SelectCall{SelectProgram<typename L::type, kernel_type_t<T>, false, L::next_scalar,
                                    typename L::arrays>::value(),
                      arguments.array, arguments.scalar, shape, Lowered<M>::next_array});
}
template <class T>
DeviceNDArray<T> selected_array(Selection&& kept) {
  std::byte* const data = kept.buffer->address();
  return DeviceNDArray<T>(std::move(kept.layout), data, std::move(kept.buffer));
}
template <class X>
inline constexpr bool is_array_leaf = false;
template <class T>
inline constexpr bool is_array_leaf<Leaf<T>> = true;

template <class M>
DeviceNDArray<const bool> mask_array(const M& mask) {
  if constexpr (is_array_leaf<M>) {
    return mask.array;
  } else {
    return mask.template evaluate<bool>();
  }
}
/// The elements of tree `values` for which tree `mask` is true: those of an array by whole rows, if
/// they are rows.
template <class T, class M, class V>
DeviceNDArray<T> selected_elements(const M& mask, const V& values, const SelectedAxes& axes) {
  if constexpr (is_array_leaf<V>) {
    if (axes.shape.size() > axes.count) {
      if (auto rows = select_rows(values.array, mask_array(mask), axes)) {
        return selected_array<T>(std::move(*rows));
      }
    }
  }
  return selected_array<T>(with_selection<T>(
      mask, values, [&](const SelectCall& call) { return select_elements(call, axes); }));
}

template <class Program>
struct Guarded;
template <class P, class E>
struct Guarded<kernels::several<P, E>> {
  using type = kernels::guarded<P, E>;
};
/// Writes tree `values` where tree `mask` is true; both broadcast.
template <class T, class M, class V>
void assign_where(const DeviceNDArray<T>& out, const M& mask, const V& values) {
  if constexpr (Number<T>) {
    static_assert(same_kind(dtype_of<host_of_t<typename V::kernel_type>>, dtype_of<T>),
                  "this conversion can lose the kind of the values; use astype");
  }
  using All = Together<M, V>;
  using L = Lowered<All>;
  const Arguments<All> arguments(All(mask, values));
  evaluate_into(MapProgram<typename Guarded<typename L::type>::type, kernel_type_t<T>,
                           L::next_scalar, typename L::arrays>::value(),
                out, arguments.array, arguments.scalar, HasPosition<V>::value, true);
}

/// Whether `values` broadcast over the elements or rows that a mask selects, `axes` axes each; else
/// there is one for each of them.
bool is_broadcast(const Shape& values, std::size_t axes);
/// Throws ShapeError for values with more axes than what they change in place.
void require_no_more_axes(const Shape& values, std::size_t axes);
/// Values for rows of `array`, with `axes` axes: without leading axes of extent 1, and as they are
/// broadcast to whole rows. Throws ShapeError.
struct RankedShape {
  RankedShape(const Shape& values, const Shape& array, std::size_t axes);
  Shape given, whole;
};
/// Whether both have no byte in common, or are element for element the same.
bool are_apart(const DeviceNDArrayBase& a, const DeviceNDArrayBase& b);
/// Writes the values, of which `window` is a view, into the elements of `out` for which the mask is
/// true, in order; with `repeat` they begin anew after the last one. Else throws ShapeError, with
/// both numbers, unless there is one for each, and nothing is written. Waits for the number.
struct RankedValues {
  const DeviceNDArrayBase& window;
  kernels::side_axis axis;
  bool repeat;
  std::int64_t rows;  ///< how many there are values for, unless `repeat`
};
void assign_ranked(const kernels::program& program, const DeviceNDArrayBase& out,
                   const DeviceNDArrayBase& mask, const RankedValues& values);
/// Of elements of this size, with the alignment of a number; nullptr for other sizes.
const kernels::program* ranked_program(std::size_t size, std::size_t alignment, bool repeat);

template <class K, kernels::index_mode Mode>
const kernels::program& ranked_program() {
  using Values = kernels::pick<K, 1, kernels::place<Mode, 0, kernels::iota<kernels::i64>>>;
  return kernels::program_for<
      kernels::select_of<kernels::in<bool, 0>, Values, K, true, 1, bool, kernels::side<K>>>::value;
}

/// An array or expression as an array of T.
template <class T, Operand X>
DeviceNDArray<const T> array_of(const X& x) {
  if constexpr (std::same_as<typename X::value_type, T>) {
    return eval(x);
  } else {
    return evaluate_as<T>(as_tree(x));
  }
}

/// The values into the elements or rows, with `axes` axes, for which the mask is true: one for
/// each, or with `repeat` as many as there are again and again.
template <class T, Operand X>
void assign_in_order(const DeviceNDArray<T>& out, DeviceNDArray<const bool> mask, const X& values,
                     std::size_t axes, bool repeat) {
  using K = kernel_type_t<T>;
  const kernels::program* program = ranked_program(sizeof(K), alignof(K), repeat);
  if constexpr (!Number<T>) {
    if (!program) {
      program = repeat ? &ranked_program<K, kernels::index_mode::wrap>()
                       : &ranked_program<K, kernels::index_mode::clip>();
    }
  }
  if (!has_aligned_elements(out)) {
    const auto aligned = out.copy();
    assign_in_order(aligned, mask, values, axes, repeat);
    return out.assign(aligned);
  }
  auto array = array_of<T>(values);
  std::int64_t rows = 0;
  if (!repeat) {
    const RankedShape shape(array.shape(), out.shape(), axes);
    rows = shape.whole[0];
    array = array.reshape(shape.given).broadcast_to(shape.whole);
    if (axes > 0 && assign_rows(out, mask, array)) return;
  }
  auto flat = array.ravel();
  if (flat.buffer()->shares_memory(*out.buffer()) || !has_aligned_elements(flat)) {
    flat = flat.copy();
  }
  if (!are_apart(mask, out)) mask = mask.copy();
  const SideView side = side_view(flat, 0, 1);
  assign_ranked(*program, out, mask, {window_of(flat, side), side.own[0], repeat, rows});
}

/// a(mask): the elements of tree V, an array or a node, for which tree M is true. Of an array it is
/// a place, too.
template <class V, class M>
class Selected;
/// A lazy expression whose number of elements depends on the mask: it is computed where it is used,
/// which waits for the number, and anew at every use. shape() and size() count,
/// which waits too. Where a(mask) of an array is assigned to, or +=, ..., the elements are written
/// in place: numbers, what broadcasts over the axes that the mask has not, or one value for each
/// element that is selected. Those are counted first, which waits, and ShapeError is thrown where
/// there are more or fewer.
template <class V, class M>
class Selected : LazyExpression, public EvaluatingMethods<Selected<V, M>> {
  template <class X>
  struct ElementOf {
    using type = host_of_t<typename X::kernel_type>;
  };
  template <class T>
  struct ElementOf<Leaf<T>> {
    using type = T;
  };
  using Element = typename ElementOf<V>::type;
  static constexpr bool is_place = is_array_leaf<V>;

 public:
  using quarry_expression = void;
  using value_type = std::remove_const_t<Element>;

  /// Throws IndexError unless the mask has the first axes of the values, or 0 for an extent.
  Selected(const V& values, const M& mask)
      : values_(values), mask_(mask), axes_(mask.shape().size()) {
    require_mask(mask.shape(), values.shape());
    if (element_count(mask.shape()) == 0) {
      const auto rule = [&](const Layout& whole) { return without_elements(whole, mask.shape()); };
      values_ = viewed(values, values.shape(), rule);
    }
    if (axes_ < values.shape().size()) mask_ = widened(mask, values.shape().size() - axes_);
  }
  Selected(const Selected&) = default;
  Selected(Selected&&) noexcept = default;
  ///@{
  /// A named one is rebound; a(mask) is written through.
  Selected& operator=(const Selected&) & = default;
  Selected& operator=(Selected&&) & noexcept = default;
  const Selected& operator=(const Selected& other) && { return written(other); }
  // It copies elements, which can fail. NOLINTNEXTLINE(performance-noexcept-move-constructor)
  const Selected& operator=(Selected&& other) && { return written(other); }
  template <quarry::detail::OtherThan<Selected> X>
  const Selected& operator=(const X& x) && {
    return written(x);
  }
  ///@}

  Shape shape() const {
    Shape result = {with_selection<value_type>(mask_, values_, count_selected)};
    const Shape& whole = values_.shape();
    for (std::size_t d = axes_; d < whole.size(); ++d) result.push_back(whole[d]);
    return result;
  }
  std::size_t ndim() const { return values_.shape().size() - axes_ + 1; }
  std::int64_t size() const { return element_count(shape()); }
  DType dtype() const { return dtype_of<value_type>; }
  Layout layout() const {
    return quarry::detail::new_layout(shape(), sizeof(value_type), Order::c, {});
  }
  const Stream& stream() const {
    if constexpr (is_array_leaf<V>) {
      return quarry::detail::stream_for(values_.array);
    } else {
      return values_.stream();
    }
  }

  template <class T>
  DeviceNDArray<T> evaluate() const {
    auto result = selected_elements<value_type>(mask_, values_, {values_.shape(), 0, axes_});
    if constexpr (std::same_as<T, value_type>) {
      return result;
    } else {
      return evaluate_as<T>(Leaf<value_type>{result});
    }
  }
  /// Of the selected elements; see DeviceNDArray.
  template <class... I>
  auto operator()(const I&... entries) const {
    return evaluate<value_type>()(entries...);
  }
  template <Number U>
  auto astype() const {
    return quarry::astype<U>(*this);
  }

  /// a(mask) op= b, where F is op.
  template <class F, class B>
  void update(const B& b) const {
    if (require_place<B>()) {
      if constexpr (Operand<B>) {
        const Shape& given = b.shape();
        require_no_more_axes(given, ndim());
        if (!is_broadcast(given, trailing())) return write(apply<F>(*this, b));
      }
      if constexpr (is_place) assign_where(values_.array, mask_, apply<F>(values_.array, b));
    }
  }

 private:
  /// How many axes a row has.
  std::size_t trailing() const { return values_.shape().size() - axes_; }

  template <class X>
  static constexpr bool require_place() {
    static_assert(is_place || quarry::detail::never<X>,
                  "an expression has no elements to write into: assign to an array or to its view "
                  "a(...)");
    static_assert(!std::is_const_v<Element>, QUARRY_READ_ONLY);
    return true;
  }

  template <class X>
  const Selected& written(const X& x) const {
    if (require_place<X>()) write(x);
    return *this;
  }
  template <class X>
  void write(const X& x) const {
    if constexpr (!is_place || std::is_const_v<Element>) {  // refused above
    } else if constexpr (Operand<X>) {
      const auto& tree = as_tree(x);
      if (is_broadcast(tree.shape(), trailing())) {
        assign_where(values_.array, mask_, tree);
      } else {
        assign_in_order(values_.array, mask_array(mask_), x, trailing(), false);
      }
    } else if constexpr (quarry::detail::ElementValue<X, value_type> && Number<value_type>) {
      using K = kernel_type_t<value_type>;
      assign_where(values_.array, mask_, Constant<K>{quarry::detail::scalar_as<K>(x)});
    } else if constexpr (quarry::detail::ElementValue<X, value_type>) {
      const ArrayOptions here{.stream = quarry::detail::stream_for(values_.array)};
      write(full<value_type>({}, static_cast<value_type>(x), here));
    } else {
      write(to_device(x, {.stream = quarry::detail::stream_for(values_.array)}));
    }
  }
  V values_;
  M mask_;
  std::size_t axes_;  ///< of the mask
};

}  // namespace expr

/// a(mask): see expr::Selected. Throws IndexError, with the extents, unless the mask has the shape
/// of `a`, or that of its first axes. a(mask) = v may write elements of `a` that are not selected,
/// too, as they were: meanwhile no other stream may write to `a`.
template <expr::Operand A, detail::Mask M>
auto select(const A& a, const M& mask) {
  using V = std::remove_cvref_t<decltype(expr::as_tree(a))>;
  using Tree = std::remove_cvref_t<decltype(expr::as_tree(mask))>;
  return expr::Selected<V, Tree>(expr::as_tree(a), expr::as_tree(mask));
}

#define QUARRY_OPERATOR(symbol, name)                                      \
  /** name() of the selected elements, in place. */                        \
  template <class V, class M, expr::Value B>                               \
  void operator symbol(const expr::Selected<V, M>& selected, const B& b) { \
    selected.template update<kernels::name##_op>(b);                       \
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
