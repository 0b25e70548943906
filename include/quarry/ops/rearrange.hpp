// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/join.hpp>
#include <quarry/ops/joined_rows.hpp>
#include <quarry/ops/reduce.hpp>
#include <quarry/ops/take.hpp>

#include <utility>

/// NumPy's functions that repeat elements, move them, insert them and leave them out. Results are
/// new arrays unless said; every element is written once.
namespace quarry {

namespace expr {

/// A new array of the elements of an operand.
template <class A>
using ArrayOf = DeviceNDArray<std::remove_const_t<typename A::value_type>>;

/// A layout repeated so many times along its last axes: where it is repeated an axis with stride 0
/// is added, and axes of extent 1 are left out, so that the shape is one of the result's reshapes.
View tiled(const Layout& layout, const Shape& counts);
Shape tiled_shape(const Shape& shape, const Shape& counts);
/// Every element so many times, along a new axis behind `axis`, which leaves out axes likewise.
View repeated(const Layout& layout, std::int64_t count, std::size_t axis);
Shape repeated_shape(const Shape& shape, std::int64_t count, std::size_t axis);
/// Where elements come from if element i is repeated counts[i] times; one count is for all. Throws
/// ShapeError, with the values, for other lengths and negative counts.
std::vector<std::int64_t> repeated_positions(std::vector<std::int64_t> counts, std::int64_t extent);

/// A box of the result and the box of the source that goes there.
struct MovedBox {
  std::vector<Index> to, from;
};
/// By how many places each axis is rolled, in [0, extent). Throws ShapeError for other numbers of
/// shifts than of axes.
Shape rolled_offsets(const Shape& shape, const ReduceAxes& shifts, const ReduceAxes& axes);
/// The boxes of one move or of several, one after the other: the boxes of one are twice as many
/// with every axis.
std::vector<std::vector<MovedBox>> rolled_boxes(const Shape& shape, const Shape& offsets);
/// Positions on an axis, negative ones counted from the end, or those of a range. Throws
/// IndexError, with the value, for one below -extent or at `limit` and above.
std::vector<std::int64_t> places(std::vector<std::int64_t> positions, std::int64_t extent,
                                 std::int64_t limit);
std::vector<std::int64_t> places(const Range& range, std::int64_t extent);
/// Where a mask is not 0.
std::vector<std::int64_t> places_where(const std::vector<std::int64_t>& mask);
/// What is left of an axis without these positions.
std::vector<Range> runs_without(std::vector<std::int64_t> places, std::int64_t extent);
/// The parts of an axis into which values are inserted before these places, in their order: runs of
/// its own elements, and single values.
struct InsertedRun {
  Range to, from;
  bool is_value;
};
std::vector<InsertedRun> inserted_runs(const std::vector<std::int64_t>& places,
                                       std::int64_t extent);
/// The same for an axis with the values behind its own elements: from where each element of the
/// result comes.
std::vector<std::int64_t> inserted_positions(const std::vector<std::int64_t>& places,
                                             std::int64_t extent);

/// A caller's positions: an integer, several, or a range. Of a mask they are those that are true,
/// and an array is waited for.
template <class I>
std::vector<std::int64_t> places_of(const I& positions, std::int64_t extent, std::int64_t limit) {
  if constexpr (Integer<I>) {
    return places({Extent(positions).value}, extent, limit);
  } else if constexpr (std::same_as<I, Range>) {
    return places(positions, extent);
  } else if constexpr (quarry::detail::BoolList<I>) {
    return places(places_where(std::vector<std::int64_t>(positions.begin(), positions.end())),
                  extent, limit);
  } else if constexpr (Operand<I>) {
    std::vector<std::int64_t> host(std::size_t(positions.size()));
    eval(positions).template astype<std::int64_t>().ravel().copy_to_host(host);
    if constexpr (quarry::detail::Mask<I>) host = places_where(host);
    return places(std::move(host), extent, limit);
  } else {
    return places(expr::positions(positions), extent, limit);
  }
}

/// The elements at valid positions of an axis.
template <class T>
auto gathered(const DeviceNDArray<T>& array, const std::vector<std::int64_t>& positions,
              std::size_t axis) {
  using V = std::remove_const_t<T>;
  const Stream& stream = quarry::detail::stream_for(array);
  const auto where = to_device(positions, {.stream = stream});
  Shape shape = array.shape();
  shape[axis] = std::int64_t(positions.size());
  const DeviceNDArray<V> result(shape, stream);
  if (result.empty()) return result;
  if constexpr (Number<V>) {
    result.assign(take<IndexMode::clip>(array, where, std::int64_t(axis)));
  } else {
    as_words(result).assign(take<IndexMode::clip>(as_words(array), where, std::int64_t(axis)));
  }
  return result;
}

/// So many runs are copied by a kernel each; more are gathered by one.
inline constexpr std::size_t few_runs = 8;

/// New memory for elements like those of `a`.
template <class A>
ArrayOf<A> new_like(const A& a, const Shape& shape) {
  return ArrayOf<A>(shape, quarry::detail::home_of(a));
}
/// Runs of an axis, one after the other.
template <class A>
auto joined_runs(const A& a, const std::vector<Range>& runs, std::int64_t axis) {
  const auto parts = pieces(a, axis, runs);
  if (!parts.empty()) return concatenate(parts, axis);
  return concatenate(pieces(a, axis, {range(0, 0)}), axis);
}

/// New axes in front, so that there are `rank`; with `moves` the first axis then becomes `axis`.
View with_rank(const Layout& layout, std::size_t rank, bool moves, std::size_t axis);

}  // namespace expr

/// `a` repeated so many times along its last axes, as NumPy's tile. An expression is evaluated
/// first. Throws ShapeError for a negative number, unless the axis has no elements.
template <expr::Operand A>
expr::ArrayOf<A> tile(const A& a, const Shape& counts) {
  const auto array = eval(a);
  const auto seen = expr::viewed(array, [&](const Layout& l) { return expr::tiled(l, counts); });
  const auto result = expr::new_like(array, expr::tiled_shape(array.shape(), counts));
  if (expr::write_tiled(result, array.ref(), counts)) return result;
  result.reshape(seen.shape()).assign(seen);
  return result;
}
/// The same along the last axis.
template <expr::Operand A, Integer N>
expr::ArrayOf<A> tile(const A& a, N count) {
  return tile(a, Shape{count});
}

///@{
/// Every element so many times, along an axis, or without one in a row. Counts are one number, or
/// one for each element along the axis: integers of the host, or an array, which is waited for.
/// Throws ShapeError, with the values.
template <expr::Operand A, Integer N>
expr::ArrayOf<A> repeat(const A& a, N count, std::optional<std::int64_t> axis = std::nullopt) {
  const auto array = eval(a);
  if (array.ndim() == 0) return repeat(array.ravel(), count, axis.value_or(0));
  const std::size_t d = axis ? normalize_axis(*axis, array.ndim()) : array.ndim() - 1;
  const std::int64_t n = Extent(count).value;
  const auto seen = expr::viewed(array, [&](const Layout& l) { return expr::repeated(l, n, d); });
  Shape shape = expr::repeated_shape(array.shape(), n, d);
  if (!axis) shape = {element_count(shape)};
  const auto result = expr::new_like(array, shape);
  result.reshape(seen.shape()).assign(seen);
  return result;
}
template <expr::Operand A, IntegerRange R = std::initializer_list<std::int64_t>>
expr::ArrayOf<A> repeat(const A& a, const R& counts,
                        std::optional<std::int64_t> axis = std::nullopt) {
  const auto array = axis && a.ndim() > 0 ? eval(a) : eval(a).ravel();
  const std::size_t d = normalize_axis(axis.value_or(0), array.ndim());
  return expr::gathered(array, expr::repeated_positions(expr::positions(counts), array.shape()[d]),
                        d);
}
template <expr::Operand A, expr::Operand R>
expr::ArrayOf<A> repeat(const A& a, const R& counts,
                        std::optional<std::int64_t> axis = std::nullopt) {
  shape_views::require_rank(counts.shape(), 0, "the counts of repeat", 1);
  std::vector<std::int64_t> host(std::size_t(counts.size()));
  eval(counts).template astype<std::int64_t>().ravel().copy_to_host(host);
  return repeat(a, host, axis);
}
///@}

/// The elements moved by so many places along one or several axes; those that leave at one end come
/// in at the other. Without an axis they move in C order. Throws ShapeError for other numbers of
/// shifts than of axes.
template <expr::Operand A>
expr::ArrayOf<A> roll(const A& a, const ReduceAxes& shifts, const ReduceAxes& axes) {
  const auto& source = expr::settled(a);
  const Shape offsets = expr::rolled_offsets(source.shape(), shifts, axes);
  auto result = device_array_like(source);
  using Source = std::remove_cvref_t<decltype(source)>;
  if constexpr (expr::is_array_of<std::remove_const_t<typename A::value_type>, Source>) {
    if (expr::write_rolled(result, source.ref(), offsets)) return result;
  }
  const auto move = [](const auto& to, const auto& from, const auto& boxes) {
    for (const expr::MovedBox& box : boxes) {
      to(std::span<const Index>(box.to)).assign(from(std::span<const Index>(box.from)));
    }
  };
  const auto moves = expr::rolled_boxes(source.shape(), offsets);
  move(result, source, moves[0]);
  for (std::size_t i = 1; i < moves.size(); ++i) {
    const auto before = std::exchange(result, device_array_like(result));
    move(result, before, moves[i]);
  }
  return result;
}
///@{
/// The same of all elements in C order; several shifts add up.
template <expr::Operand A>
expr::ArrayOf<A> roll(const A& a, std::int64_t shift) {
  const auto array = eval(a);
  return roll(array.ravel(), shift, 0).reshape(array.shape());
}
template <expr::Operand A>
expr::ArrayOf<A> roll(const A& a, const Axes& shifts) {
  const auto array = eval(a);
  return roll(array.ravel(), shifts, 0).reshape(array.shape());
}
///@}

/// The elements in C order, again and again until the shape is full; zeros if there are none.
template <expr::Operand A>
expr::ArrayOf<A> resize(const A& a, const Shape& shape) {
  const auto flat = eval(a).ravel();
  const std::int64_t count = element_count(shape), whole = flat.empty() ? 0 : count / flat.size();
  const auto result = expr::new_like(flat, shape);
  if (flat.empty()) {
    result.fill(std::remove_const_t<typename A::value_type>{});
    return result;
  }
  const auto row = result.ravel();
  const std::int64_t at = whole * flat.size();
  row(range(0, at)).reshape({whole, flat.size()}).assign(flat);
  row(range(at, _)).assign(flat(range(0, count - at)));
  return result;
}

/// Without the positions of an axis: an integer, several, or a range, or where a mask is true;
/// without an axis of the elements in C order. Throws IndexError, with the value, for a position
/// outside.
template <expr::Operand A, class I = std::initializer_list<std::int64_t>>
expr::ArrayOf<A> delete_(const A& a, const I& positions,
                         std::optional<std::int64_t> axis = std::nullopt) {
  if (!axis) return delete_(eval(a).ravel(), positions, 0);
  const auto& source = expr::settled(a);
  const std::size_t d = normalize_axis(*axis, source.ndim());
  const std::int64_t extent = source.shape()[d];
  const auto runs = expr::runs_without(expr::places_of(positions, extent, extent), extent);
  if (runs.size() <= expr::few_runs) return expr::joined_runs(source, runs, *axis);
  std::vector<std::int64_t> kept;
  for (const Range& run : runs) {
    for (std::int64_t i = run.start.value; i < run.stop.value; ++i) kept.push_back(i);
  }
  return expr::gathered(eval(source), kept, d);
}

/// With `values` (an array, an expression or a number, converted as an assignment does) before
/// positions of an axis, or without an axis of the elements in C order: an integer, several, a
/// range, or where a mask is true. Several positions take one value each, which broadcast. Throws
/// IndexError, with the value, for a position outside.
template <expr::Operand A, class I = std::initializer_list<std::int64_t>, expr::Value V>
expr::ArrayOf<A> insert(const A& a, const I& positions, const V& values,
                        std::optional<std::int64_t> axis = std::nullopt) {
  using T = std::remove_const_t<typename A::value_type>;
  if (!axis) return insert(eval(a).ravel(), positions, values, 0);
  const auto& source = expr::settled(a);
  const Shape& before = source.shape();
  const std::size_t rank = before.size(), d = normalize_axis(*axis, rank);
  const std::int64_t extent = before[d];
  const auto places = expr::places_of(positions, extent, extent + 1);
  const auto& given = detail::on_device<T>(values, detail::home_of(source));
  const bool is_one = places.size() == 1;
  const auto seen = expr::viewed(
      given, [&](const Layout& l) { return expr::with_rank(l, rank, is_one && Integer<I>, d); });
  Shape shape = before;
  shape[d] = is_one ? seen.shape()[seen.ndim() - rank + d] : std::int64_t(places.size());
  Shape whole = before;
  whole[d] = checked_add(whole[d], shape[d]);
  const auto result = expr::new_like(source, whole);
  const auto part = [&](const auto& of, const Range& range) {
    return expr::viewed(
        of, [&](const Layout& l) { return shape_views::cut(l, std::int64_t(d), range); });
  };
  if (is_one) {
    const std::int64_t at = places[0];
    part(result, range(0, at)).assign(part(source, range(0, at)));
    part(result, range(at, at + shape[d])).assign(seen);
    part(result, range(at + shape[d], _)).assign(part(source, range(at, _)));
    return result;
  }
  const std::int64_t of_values = seen.ndim() == rank ? seen.shape()[d] : -1;
  const bool are_few = !places.empty() && places.size() <= expr::few_runs;
  if (are_few && (of_values == 1 || of_values == shape[d])) {
    for (const auto& [to, from, is_value] : expr::inserted_runs(places, extent)) {
      if (!is_value)
        part(result, to).assign(part(source, from));
      else
        part(result, to).assign(of_values == 1 ? seen : part(seen, from));
    }
    return result;
  }
  part(result, range(0, extent)).assign(source);
  part(result, range(extent, _)).assign(seen);
  return expr::gathered(result, expr::inserted_positions(places, extent), d);
}

/// Which ends trim_zeros trims.
enum class Trim { both, front, back };

/// A view without the zeros at the ends of all axes, one, or a list: the smallest box around all
/// other elements; without elements if there are none. Waits for where they are.
template <expr::Operand A>
auto trim_zeros(const A& a, Trim ends = Trim::both, const ReduceAxes& axes = {}) {
  std::vector<Index> entries(a.ndim(), Index(all));
  bool has_values = !(a.size() == 0);
  for (std::size_t d = 0; d < a.ndim() && has_values; ++d) {
    Axes others;
    for (std::size_t other = 0; other < a.ndim(); ++other) {
      if (other != d) others.push_back(std::int64_t(other));
    }
    const auto filled = eval(any(a != std::remove_const_t<typename A::value_type>{}, others));
    has_values = any(filled).item();
    if (!has_values) break;
    const std::int64_t first = argmax(filled).item();
    const std::int64_t past = a.shape()[d] - argmax(flip(filled)).item();
    entries[d] = range(ends == Trim::back ? 0 : first, ends == Trim::front ? a.shape()[d] : past);
  }
  if (!has_values) entries.assign(a.ndim(), range(0, 0));
  if (axes.all()) return a(std::span<const Index>(entries));
  std::vector<Index> trimmed(a.ndim(), Index(all));
  for (const std::int64_t d : normalize_axes(axes.list(), a.ndim())) {
    trimmed[std::size_t(d)] = entries[std::size_t(d)];
  }
  return a(std::span<const Index>(trimmed));
}

}  // namespace quarry
