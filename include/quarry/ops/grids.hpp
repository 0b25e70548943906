// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/shape.hpp>

#include <optional>
#include <tuple>

/// Coordinates: NumPy's indices, meshgrid, mgrid, ogrid and fromfunction, and points that are
/// spaced by a factor.
namespace quarry {

namespace expr {

/// `values`, of one axis, along an axis of so many.
template <class A>
A along(const A& values, std::size_t axis, std::size_t rank) {
  return viewed(values, [=](const Layout& l) { return shape_views::along(l, axis, rank); });
}
/// 0, 1, ... along an axis of `shape`, the same along the others.
template <class T>
DeviceNDArray<const T> coordinates(const Shape& shape, std::size_t axis,
                                   const ArrayOptions& options) {
  using Line = Node<Convert<kernel_type_t<T>>, Position<kernels::i64>>;
  const auto line = generate<T>(shape[axis], Line(Position<kernels::i64>{}), options);
  return broadcast_to(along(line, axis, shape.size()), shape);
}
/// What a caller gives for an axis of a grid, as an array of one axis.
template <Operand A>
auto grid_line(const A& a) {
  return eval(a).ravel();
}
DeviceNDArray<std::int64_t> grid_line(const Range& range);

}  // namespace expr

/// The coordinates of every element of an array of this shape, of which element i along the first
/// axis has those of axis i.
template <Number T = std::int64_t>
DeviceNDArray<T> indices(const Shape& shape, const ArrayOptions& options = {}) {
  Shape all_axes = shape;
  all_axes.insert(0, std::int64_t(shape.size()));
  const DeviceNDArray<T> result(all_axes, options);
  const StreamGuard guard(result.stream());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    result(d).assign(expr::coordinates<T>(shape, d, {.stream = result.stream()}));
  }
  return result;
}

/// What `f` makes of the coordinates of an array of this shape: `fromfunction([](auto i, auto j) {
/// return i + j; }, {3, 4})`. It is called once, with a read-only array of T for each axis.
template <Number T = double, class F, std::size_t N>
auto fromfunction(const F& f, const Extent (&shape)[N], const ArrayOptions& options = {}) {
  Shape extents;
  for (const Extent& extent : shape) extents.push_back(extent.value);
  const Stream stream = detail::stream_of(options);
  const StreamGuard guard(stream);
  return [&]<std::size_t... D>(std::index_sequence<D...>) {
    const auto& values = f(expr::coordinates<T>(extents, D, {.stream = stream})...);
    return array(values);
  }
  (std::make_index_sequence<N>());
}

namespace expr {
/// Makes the stream of the first array among the arguments the current one of the scope.
class SharedStream {
 public:
  template <class... X>
  explicit SharedStream(const X&... x) {
    (take(x), ...);
  }

 private:
  template <class X>
  void take(const X& x) {
    if constexpr (requires { x.stream(); }) {
      if (!guard_) guard_.emplace(x.stream());
    }
  }
  std::optional<StreamGuard> guard_;
};
}  // namespace expr

/// Which axis of a grid is the first: that of the second coordinate (a picture has rows for y), or
/// that of the first. A sparse grid has extent 1 along all axes but a coordinate's own.
enum class Mesh { xy, ij, sparse_xy, sparse_ij };

/// The coordinates of the points of a grid, from those along each axis: `auto [x, y] = meshgrid(a,
/// b);`. New arrays.
template <Mesh mesh = Mesh::xy, expr::Operand... A>
auto meshgrid(const A&... a) {
  constexpr std::size_t rank = sizeof...(A);
  constexpr bool swaps = rank > 1 && (mesh == Mesh::xy || mesh == Mesh::sparse_xy);
  constexpr bool is_sparse = mesh == Mesh::sparse_xy || mesh == Mesh::sparse_ij;
  Shape shape{a.size()...};
  if (swaps) std::swap(shape[0], shape[1]);
  std::size_t next = 0;
  const auto coordinate = [&](const auto& values) {
    const std::size_t axis = next++, place = swaps && axis < 2 ? 1 - axis : axis;
    const auto line = expr::along(expr::grid_line(values), place, rank);
    return is_sparse ? line.copy() : broadcast_to(line, shape).copy();
  };
  return std::tuple{coordinate(a)...};
}

///@{
/// np.mgrid[0:3, 1:9:2] is mgrid(range(0, 3), range(1, 9, 2)): the coordinates of a grid in one
/// array, of which element i has those of axis i. Arrays of one axis are positions, too, as
/// linspace(0., 1., 5) for 0:1:5j. Throws LogicError for a range without an end.
template <class First, class... More>
auto mgrid(const First& first, const More&... more) {
  const expr::SharedStream stream(first, more...);
  const auto lines = std::tuple{expr::grid_line(first), expr::grid_line(more)...};
  return std::apply(
      [](const auto&... line) {
        using T = expr::common_element_t<std::remove_cvref_t<decltype(line)>...>;
        constexpr std::size_t rank = sizeof...(line);
        const Shape shape{line.size()...};
        Shape all_axes = shape;
        if (rank > 1) all_axes.insert(0, std::int64_t(rank));
        const DeviceNDArray<T> result(all_axes, ArrayOptions{});
        std::size_t axis = 0;
        const auto write = [&](const auto& values) {
          const std::size_t d = axis++;
          (rank > 1 ? result(d) : result).assign(expr::along(values, d, rank));
        };
        (write(line), ...);
        return result;
      },
      lines);
}
/// The same sparse: `auto [y, x] = ogrid(range(3), range(4));`.
template <class First, class... More>
auto ogrid(const First& first, const More&... more) {
  std::size_t axis = 0;
  const auto line = [&](const auto& given) {
    return expr::along(expr::grid_line(given), axis++, 1 + sizeof...(More));
  };
  return std::tuple{line(first), line(more)...};
}
///@}

/// How a logspace is made.
struct LogspaceOptions {
  bool endpoint = true;     ///< the last value is base to the power of `stop`
  double base = 10;         ///< of the powers
  ArrayOptions array = {};  ///< where it goes
};

namespace expr {
/// An explicit type, or that of points between the numbers.
template <class T, class A, class B>
using PointOf =
    typename std::conditional_t<std::is_void_v<T>, std::type_identity<CommonPoint<A, B>>,
                                std::type_identity<T>>::type;

/// base to the powers from start to stop, computed in C.
template <class T, class C>
DeviceNDArray<T> powers(C sign, C start, C stop, std::int64_t count,
                        const LogspaceOptions& options) {
  const std::int64_t intervals = linspace_count(count) - (options.endpoint ? 1 : 0);
  const C step = intervals > 0 ? (stop - start) / C(intervals) : 0;
  using Number = Constant<C>;
  using Times = Node<Apply<kernels::multiply_op, C>, Position<C>, Number>;
  using Plus = Node<Apply<kernels::add_op, C>, Number, Times>;
  using Power = Node<Apply<kernels::power_op, C>, Number, Plus>;
  using Signed = Node<Apply<kernels::multiply_op, C>, Number, Power>;
  using Narrow = Node<Convert<kernel_type_t<T>>, Signed>;
  const Power power(Number{options.base}, Plus(Number{start}, Times({}, Number{step})));
  return generate<T>(count, Narrow(Signed(Number{sign}, power)), options.array);
}
/// One element becomes `value`, converted as in kernels.
template <class T>
void set_point(const DeviceNDArray<T>& points, std::int64_t position, double value) {
  using Narrow = Node<Convert<kernel_type_t<T>>, Constant<double>>;
  points(position).assign(
      generate<T>(1, Narrow(Constant<double>{value}), {.stream = points.stream()}).reshape({}));
}
/// Throws LogicError, with the values, if one is zero.
void require_geometric(double start, double stop);
}  // namespace expr

/// `count` powers of options.base with evenly spaced exponents from start to stop; computed in
/// float64 and rounded once. Integers give float64. Throws ShapeError for a negative count.
template <class T = void, class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) auto logspace(
    A start, B stop, std::int64_t count = 50, const LogspaceOptions& options = {}) {
  using P = expr::PointOf<T, A, B>;
  const auto result = expr::powers<P>(1., double(start), double(stop), count, options);
  const StreamGuard guard(result.stream());
  if (options.endpoint && count > 1) {
    expr::set_point(result, -1, __builtin_pow(options.base, double(stop)));
  }
  return result;
}
/// `count` real numbers from start to stop, each the one before times a constant; otherwise as
/// linspace. Throws LogicError, with the values, if start or stop is 0.
template <class T = void, class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) auto geomspace(
    A start, B stop, std::int64_t count = 50, const LinspaceOptions& options = {}) {
  using P = expr::PointOf<T, A, B>;
  const double first = double(start), last = double(stop), sign = first < 0 ? -1 : 1;
  expr::require_geometric(first, last);
  const auto result =
      expr::powers<P>(sign, __builtin_log10(sign * first), __builtin_log10(sign * last), count,
                      {.endpoint = options.endpoint, .array = options.array});
  const StreamGuard guard(result.stream());
  if (count > 0) expr::set_point(result, 0, first);
  if (count > 1 && options.endpoint) expr::set_point(result, -1, last);
  return result;
}

}  // namespace quarry
