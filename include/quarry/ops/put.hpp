// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/indexing.hpp>
#include <quarry/ops/select.hpp>
#include <quarry/ops/take.hpp>

/// Writing at positions: NumPy's put, put_along_axis and ufunc.at.
namespace quarry {
namespace expr {

/// One axis of an array at positions, as a place.
template <IndexMode Mode, class T, class P>
auto place_along(const DeviceNDArray<T>& whole, const DeviceNDArray<T>& array, SideView side,
                 const DeviceNDArray<P>& positions) {
  require_elements(side, positions.shape());
  if constexpr (Mode == IndexMode::raise) check_inside(positions, side, 0);
  return Indexed<kernel_mode<Mode>, T, Leaf<P>>(whole, array, side, Leaf<P>{positions});
}

/// The tree of what meets elements of T: a number or an operand.
template <class T, class X>
auto met_tree(const X& x) {
  if constexpr (quarry::detail::ElementValue<X, T>) {
    using K = kernel_type_t<T>;
    return Constant<K>{quarry::detail::scalar_as<K>(x)};
  } else if constexpr (Operand<X>) {
    static_assert(can_assign<T, typename X::value_type>,
                  "this conversion can lose the kind of the values; use astype");
    using Tree = std::remove_cvref_t<decltype(tree_of<T>(x))>;
    if constexpr (has_side<Tree>) {
      return as_tree(DeviceNDArray<T>(eval(tree_of<T>(x))));
    } else {
      return tree_of<T>(x);
    }
  } else {
    return as_tree(to_device<T>(x));
  }
}

template <kernels::index_mode Mode, class T, class... P, class X>
auto met_values(const Indexed<Mode, T, P...>& place, const X& x) {
  auto values = met_tree<T>(x);
  require_met(values.shape(), place.shape());
  return values;
}

/// Whether values, as elements of T, have the order that they have themselves: else they are
/// refused.
template <class T, class X>
consteval bool require_order() {
  if constexpr (!quarry::detail::ElementValue<X, T> && kernels::is_integer<kernel_type_t<T>>) {
    constexpr DType from = [] {
      if constexpr (Operand<X>)
        return dtype_of<element_t<X>>;
      else
        return dtype_of<host_value_t<const X>>;
    }();
    constexpr bool fits = !quarry::detail::is_integer(from.kind()) ||
                          promote(from.id(), dtype_of<T>.id()) == dtype_of<T>.id();
    static_assert(fits, "integers of this type can become others in these elements: use astype");
    return fits;
  } else {
    return true;
  }
}

/// Calls f(elements, own axes, positions...) with the parts of a place.
template <class F, kernels::index_mode Mode, class T, class... P>
void with_parts(const Indexed<Mode, T, P...>& place, const F& f) {
  place.arguments().apply([&](const auto& elements, const P&... positions) {
    if (elements.check) elements.check->require();
    OwnAxes<sizeof...(P)> own;
    for (std::size_t n = 0; n < sizeof...(P); ++n) own.axis[n] = elements.axis[n];
    f(elements, own, positions...);
    if (elements.array.buffer() != place.array().buffer()) place.array().assign(elements.array);
  });
}

/// The values meet the elements in any order.
template <class F, kernels::index_mode Mode, class T, class... P, class X>
void meet_at(const Indexed<Mode, T, P...>& place, const X& x) {
  const auto values = met_values(place, x);
  with_parts(place, [&](const auto& elements, const auto& own, const auto&... positions) {
    scatter<kernels::combined<F>, kernel_type_t<T>, Mode>(
        {elements.array, elements.window, place.shape()}, own, -1, values, positions...);
  });
}

/// Adds values of real floating types, whose sum is exact but for what is far below the largest of
/// those that meet: in integers, of which the order does not matter.
template <kernels::index_mode Mode, class T, class V, class... P>
void add_floating(const Indexed<Mode, T, P...>& place, const SideLeaf<T, sizeof...(P)>& elements,
                  const V& values, const P&... positions) {
  using kernels::i64;
  constexpr int axes = sizeof...(P);
  const Shape& shape = place.shape();
  const Target target{elements.array, elements.window, shape};
  if (element_count(broadcast_shapes(shape, values.shape())) == 0) return;
  const auto scratch = [&](i64 value) {
    Owners<std::int64_t> made = new_owners<std::int64_t>(target, elements.axis, shape);
    if (value != -1) made.array.fill(value);
    return made;
  };
  const Owners<std::int64_t> peaks = scratch(-1), high = scratch(0), low = scratch(0);
  OwnAxes<axes> own = peaks.template axes<axes>();
  const auto into = [&]<class F>(F, const Owners<std::int64_t>& to, const auto& tree) {
    const auto window = to.seen();
    scatter<F, i64, Mode>({to.array, window, shape}, own, -1, tree, positions...);
  };
  into(kernels::largest{}, peaks, Node<Call<kernels::peak_of>, V>(values));
  const Constant<i64> bits{bits_of_each(element_count(shape))};
  using Owned = Node<Pick<Mode>, SideLeaf<std::int64_t, axes>, P...>;
  const auto at = [&](const Owners<std::int64_t>& of) {
    return Owned(of.template leaf<axes>(), positions...);
  };
  const Owned peak = at(peaks);
  const auto limb = [&]<class F>(F) {
    return Node<Call<F>, V, Owned, Constant<i64>>(values, peak, bits);
  };
  into(kernels::added{}, high, limb(kernels::fixed_point<0>{}));
  into(kernels::added{}, low, limb(kernels::fixed_point<1>{}));
  if (!place.is_exact()) {  // every position writes the sum of its element
    const Leaf<T> before{place.template evaluate<T>()};
    for (int n = 0; n < axes; ++n) own.axis[n] = elements.axis[n];
    return scatter<kernels::replaced, kernel_type_t<T>, Mode>(
        target, own, -1,
        Node<Call<kernels::fixed_sum>, Leaf<T>, Owned, Owned, Owned, Constant<i64>>(
            before, peak, at(high), at(low), bits),
        positions...);
  }
  const Layout region = region_of(target, elements.axis, shape).layout();
  const auto sums = [&](const Owners<std::int64_t>& of) {
    return Leaf<std::int64_t>{of.array.reshape(region.shape)};
  };
  const DeviceNDArray<T> out(region, elements.window.address(), elements.window.buffer());
  using L = Leaf<std::int64_t>;
  out.bind(elements.array.stream())
      .assign(Node<Call<kernels::fixed_sum>, Leaf<T>, L, L, L, Constant<i64>>(
          Leaf<T>{out}, sums(peaks), sums(high), sums(low), bits));
}

/// The real parts of complex elements as a place, or with Part 1 the imaginary ones.
template <int Part, kernels::index_mode Mode, class T, class... P>
auto part_of(const Indexed<Mode, T, P...>& place) {
  using Real = typename T::value_type;
  const auto part = [](const DeviceNDArray<T>& of) {
    constexpr std::ptrdiff_t offset = Part * sizeof(Real);
    return DeviceNDArray<Real>(of.layout(), of.address() + offset, of.buffer()).bind(of.stream());
  };
  return place.arguments().apply([&](const auto& elements, const P&... positions) {
    const auto& [array, window, axis, check, made] = elements;
    const SideView side{{window.layout(), window.address() - array.address()},
                        {std::begin(axis), std::end(axis)},
                        {},
                        0,
                        place.is_exact(),
                        false,
                        check};
    return Indexed<Mode, Real, P...>(part(place.array()), part(array), side, P(positions)...);
  });
}

/// What is added: a number of T, or the tree of an operand, with elements of T.
template <kernels::index_mode Mode, class T, class... P, class X>
auto summand(const Indexed<Mode, T, P...>& place, const X& x) {
  if constexpr (!quarry::detail::ElementValue<X, T>) {
    return met_values(place, x);
  } else if constexpr (kernels::is_complex<kernel_type_t<T>> && std::is_arithmetic_v<X>) {
    return T(static_cast<typename T::value_type>(x));
  } else {
    return static_cast<T>(x);
  }
}
template <kernels::index_mode Mode, class T, class... P, class V>
void add_summand(const Indexed<Mode, T, P...>& place, const V& values) {
  if constexpr (kernels::is_complex<kernel_type_t<T>>) {
    const auto add = [&](const auto& of_real, const auto& of_imaginary) {
      add_summand(part_of<0>(place), of_real);
      add_summand(part_of<1>(place), of_imaginary);
    };
    if constexpr (std::same_as<V, T>) {
      add(values.real(), values.imag());
    } else {
      const auto whole = evaluate_as<T>(values);  // before any part is written
      add(as_tree(real(whole)), as_tree(imag(whole)));
    }
  } else if constexpr (std::same_as<V, T>) {
    add_summand(place, met_tree<T>(values));
  } else {
    with_parts(place, [&](const auto& elements, const auto&, const auto&... positions) {
      add_floating(place, elements, values, positions...);
    });
  }
}

}  // namespace expr

/// a(i) += values for every position, as NumPy's add.at: repeated ones add up. `place` is a(i...).
/// The result does not depend on the order of threads; floating sums are rounded once, of complex
/// ones each part. Throws
/// ShapeError unless the values broadcast to the shape of the place, of which they have no more
/// axes.
template <kernels::index_mode Mode, class T, class... P, class X>
void add_at(const expr::Indexed<Mode, T, P...>& place, const X& values) {
  if constexpr (detail::is_bool<T>) {
    static_assert(detail::never<X>, "add_at adds numbers: of bools use bitwise_or_at");
  } else if constexpr (kernels::is_integer<kernel_type_t<T>>) {
    expr::meet_at<kernels::add_op>(place, values);
  } else {
    expr::add_summand(place, expr::summand(place, values));
  }
}
/// The same of the difference.
template <kernels::index_mode Mode, class T, class... P, class X>
void subtract_at(const expr::Indexed<Mode, T, P...>& place, const X& values) {
  if constexpr (detail::is_bool<T>) {
    static_assert(detail::never<X>, "bools have no minus, as in NumPy: use bitwise_xor_at");
  } else if constexpr (kernels::is_integer<kernel_type_t<T>>) {
    expr::meet_at<kernels::subtract_op>(place, values);
  } else if constexpr (detail::ElementValue<X, T>) {
    expr::add_summand(place, -expr::summand(place, values));
  } else {
    expr::add_summand(place, expr::make_node<kernels::negative_op>(expr::summand(place, values)));
  }
}

///@{
/// The smaller or larger of element and values, as NumPy's minimum.at and maximum.at; see add_at.
/// Integers of a type that the elements do not hold are refused: they would become other numbers
/// before they are compared.
template <kernels::index_mode Mode, class T, class... P, class X>
void minimum_at(const expr::Indexed<Mode, T, P...>& place, const X& values) {
  if constexpr (expr::require_order<T, X>()) expr::meet_at<kernels::minimum_op>(place, values);
}
template <kernels::index_mode Mode, class T, class... P, class X>
void maximum_at(const expr::Indexed<Mode, T, P...>& place, const X& values) {
  if constexpr (expr::require_order<T, X>()) expr::meet_at<kernels::maximum_op>(place, values);
}
///@}

#define QUARRY_AT(name, row)                                              \
  /** row() with every value, as NumPy's row.at; see add_at. */           \
  template <kernels::index_mode Mode, class T, class... P, class X>       \
  void name(const expr::Indexed<Mode, T, P...>& place, const X& values) { \
    expr::meet_at<kernels::row##_op>(place, values);                      \
  }
QUARRY_AT(bitwise_and_at, bitwise_and)
QUARRY_AT(bitwise_or_at, bitwise_or)
QUARRY_AT(bitwise_xor_at, bitwise_xor)
#undef QUARRY_AT
/// multiply() with every value, as NumPy's multiply.at, of integers; see add_at.
template <kernels::index_mode Mode, class T, class... P, class X>
void multiply_at(const expr::Indexed<Mode, T, P...>& place, const X& values) {
  static_assert(kernels::is_integer<kernel_type_t<T>>,
                "products of floating numbers depend on the order: multiply_at takes integers");
  expr::meet_at<kernels::multiply_op>(place, values);
}

#define QUARRY_AT(name, row)                                               \
  /** The same where a mask selects elements, which are never repeated. */ \
  template <class V, class M, expr::Value X>                               \
  void name(const expr::Selected<V, M>& place, const X& values) {          \
    place.template update<kernels::row##_op>(values);                      \
  }
QUARRY_AT(add_at, add)
QUARRY_AT(subtract_at, subtract)
QUARRY_AT(multiply_at, multiply)
QUARRY_AT(minimum_at, minimum)
QUARRY_AT(maximum_at, maximum)
QUARRY_AT(bitwise_and_at, bitwise_and)
QUARRY_AT(bitwise_or_at, bitwise_or)
QUARRY_AT(bitwise_xor_at, bitwise_xor)
#undef QUARRY_AT

/// Writes the values to the elements of `a` at the positions along `axis`, as NumPy's
/// put_along_axis: the other axes of `a` and of the positions broadcast together. Of several values
/// for one element the last stays. Throws as take_along_axis.
template <IndexMode Mode = IndexMode::raise, class T, class I, class X>
void put_along_axis(const DeviceNDArray<T>& a, const I& positions, const X& values,
                    std::int64_t axis) {
  const auto at = expr::positions_for(a, expr::positions_in(a, positions));
  expr::require_same_rank(at.shape(), a.shape());
  const auto array = expr::aligned_array(a);
  const expr::SideView side = expr::side_view(array, axis, 1);
  const Shape written = broadcast_shapes(side.window.layout.shape, at.shape());
  const auto used = at.broadcast_to(expr::shape_of_turns(at.shape(), written));
  expr::place_along<Mode>(a, array, side, used).assign(values);
}

/// Writes the values, repeated as often as needed, to the elements of `a` in C order at the
/// positions, as NumPy's put. Throws IndexError for a position outside, unless Mode says what
/// becomes of it, and where `a` has no elements to write.
template <IndexMode Mode = IndexMode::raise, class T, class I = std::initializer_list<std::int64_t>,
          class X>
void put(const DeviceNDArray<T>& a, const I& positions, const X& values) {
  const auto at = expr::positions_for(a, expr::positions_in(a, positions)).ravel();
  auto flat = a.ravel();
  const auto put_flat = [&](const auto& v) {
    const auto array = expr::aligned_array(flat);
    expr::place_along<Mode>(flat, array, expr::side_view(array, 0, 1), at).assign(v);
  };
  if constexpr (detail::ElementValue<X, T>) {
    put_flat(values);
  } else if constexpr (!expr::Operand<X>) {
    return put<Mode>(a, at, to_device(values, {.stream = detail::stream_for(a)}));
  } else {
    const auto list = eval(values).ravel();
    expr::require_elements(expr::side_view(flat, 0, 1), at.shape());
    if (list.empty()) return;
    if (list.size() == at.size() || list.size() == 1)
      put_flat(list);
    else
      put_flat(take<IndexMode::wrap>(list, arange<std::int64_t>(at.size())));
  }
  if (flat.buffer() != a.buffer()) a.assign(flat.reshape(a.shape()));
}

}  // namespace quarry
