// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

/// NumPy's arange and linspace.
namespace quarry {

///@{
/// start, start + step, ... below stop. Throws ShapeError for step 0 or a length that is not
/// finite. Integers wrap, half precision is computed in float32 and rounded once.
template <Number T>
DeviceNDArray<T> arange(T start, T stop, T step = T(1), const ArrayOptions& options = {});
template <Number T>
DeviceNDArray<T> arange(T stop, const ArrayOptions& options = {}) {
  return arange<T>(T(0), stop, T(1), options);
}
///@}

/// How a linspace is made.
struct LinspaceOptions {
  bool endpoint = true;     ///< the last value is `stop`
  ArrayOptions array = {};  ///< where it goes
};

namespace expr {
/// The number of elements of an arange; same exceptions.
std::int64_t arange_length(double start, double stop, double step);
std::int64_t arange_length(std::int64_t start, std::int64_t stop, std::int64_t step);
std::int64_t arange_length(std::uint64_t start, std::uint64_t stop, std::uint64_t step);
/// The types in which the length and the elements of an arange of T are computed.
template <class K>
using length_t =
    std::conditional_t<kernels::is_floating<K>, double,
                       std::conditional_t<kernels::is_integer<K> && !kernels::is_signed<K>,
                                          std::uint64_t, std::int64_t>>;
template <class K>
using computed_t = std::conditional_t<kernels::is_half<K>, float, K>;
std::int64_t linspace_count(std::int64_t count);
///@{
/// Throw DTypeError: unless an integer type holds the whole part of `value`, and for an arange of
/// more than two bools.
void require_holds(DType type, double value);
void require_pair_of_bools(std::int64_t count);
///@}
/// A number as one of the three types in which lengths are computed.
template <class N>
auto widened(N number) {
  using Integer = std::conditional_t<std::is_unsigned_v<N>, std::uint64_t, std::int64_t>;
  return static_cast<std::conditional_t<std::is_floating_point_v<N>, double, Integer>>(number);
}
/// first, first + step, ...: so many, in the type in which elements of T are computed.
template <class T, class C>
DeviceNDArray<T> progression(std::int64_t n, C first, C step, const ArrayOptions& options) {
  using Times = Node<Apply<kernels::multiply_op, C>, Position<C>, Constant<C>>;
  using Plus = Node<Apply<kernels::add_op, C>, Constant<C>, Times>;
  return generate<T>(n, Plus(Constant<C>{first}, Times({}, Constant<C>{step})), options);
}
/// `count` points from start to stop, computed in C, as elements of T; integers are those below.
template <class T, class C>
DeviceNDArray<T> points(C start, C stop, std::int64_t count, const LinspaceOptions& options) {
  constexpr bool is_rounded_down = kernels::is_integer<kernel_type_t<T>>;
  const std::int64_t intervals = linspace_count(count) - (options.endpoint ? 1 : 0);
  const C step = intervals > 0 ? (stop - start) / C(intervals) : 0;
  using Times = Node<Apply<kernels::multiply_op, C>, Position<C>, Constant<C>>;
  using Plus = Node<Apply<kernels::add_op, C>, Constant<C>, Times>;
  using Below = Node<Apply<kernels::floor_op, C>, Plus>;
  using Point = std::conditional_t<is_rounded_down, Below, Plus>;
  using Narrow = Node<Convert<kernel_type_t<T>>, Point>;
  const Plus exact(Constant<C>{start}, Times({}, Constant<C>{step}));
  return generate<T>(count, Narrow(Point(exact)), options.array);
}
}  // namespace expr

template <Number T>
DeviceNDArray<T> arange(T start, T stop, T step, const ArrayOptions& options) {
  using K = kernel_type_t<T>;
  using Wide = expr::length_t<K>;
  using C = expr::computed_t<K>;
  const std::int64_t n = expr::arange_length(Wide(start), Wide(stop), Wide(step));
  return expr::progression<T>(n, C(start), C(step), options);
}

/// `count` evenly spaced values from start to stop, which is included unless options.endpoint is
/// false; computed in float64 and rounded once. Throws ShapeError for a negative count.
template <Number T>
requires(dtype_of<T>.kind() ==
         Kind::floating) DeviceNDArray<T> linspace(T start, T stop, std::int64_t count = 50,
                                                   const LinspaceOptions& options = {}) {
  const auto result = expr::points<T>(double(start), double(stop), count, options);
  const StreamGuard guard(result.stream());
  if (options.endpoint && count > 1) result(-1) = stop;  // exact, whatever the step was rounded to
  return result;
}

namespace expr {
/// The common type of plain numbers, and the type of points between them.
template <class... N>
using CommonNumber = std::remove_cv_t<decltype((N() + ...))>;
template <class... N>
using CommonPoint =
    std::conditional_t<std::is_integral_v<CommonNumber<N...>>, double, CommonNumber<N...>>;
}  // namespace expr

///@{
/// For numbers of several types: the element type is their common type; points between integers are
/// double. An explicit type (arange<float>(0, 5)) selects the functions above.
template <class Named = void, class A, class B>
requires(std::is_void_v<Named>&& std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> &&
         !std::is_same_v<A, B>) auto arange(A start, B stop, const ArrayOptions& options = {}) {
  using T = expr::CommonNumber<A, B>;
  return arange<T>(T(start), T(stop), T(1), options);
}
template <class Named = void, class A, class B, class C>
requires(std::is_void_v<Named>&& std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>&&
             std::is_arithmetic_v<C> &&
         !(std::is_same_v<A, B> &&
           std::is_same_v<B, C>)) auto arange(A start, B stop, C step,
                                              const ArrayOptions& options = {}) {
  using T = expr::CommonNumber<A, B, C>;
  return arange<T>(T(start), T(stop), T(step), options);
}
template <class Named = void, class A, class B>
requires(std::is_void_v<Named>&& std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> &&
         !(std::is_same_v<A, B> &&
           std::is_floating_point_v<A>)) auto linspace(A start, B stop, std::int64_t count = 50,
                                                       const LinspaceOptions& options = {}) {
  using T = expr::CommonPoint<A, B>;
  return linspace<T>(T(start), T(stop), count, options);
}
///@}

namespace expr {
template <class X>
concept PlainNumber = std::is_arithmetic_v<X>;
/// Whether all numbers have the type T: those are for the functions of one type.
template <class T, class... N>
inline constexpr bool are_all = (std::is_same_v<T, N> && ...);
/// The first element of an integer or other type T: the whole part of a number. Throws DTypeError,
/// with the number, if T does not hold it.
template <class T, class W>
auto element_from(W number) {
  using K = kernel_type_t<T>;
  if constexpr (kernels::is_integer<K> && std::is_floating_point_v<W>) {
    require_holds(dtype_of<T>, number);
  }
  return quarry::detail::scalar_as<computed_t<K>>(number);
}
/// An arange whose length is computed in W.
template <class T, class W>
DeviceNDArray<T> arange_as(W start, W stop, W step, const ArrayOptions& options) {
  const std::int64_t n = arange_length(start, stop, step);
  const auto first = element_from<T>(start);
  if constexpr (kernels::is_integer<kernel_type_t<T>>) {
    using I = std::remove_const_t<decltype(first)>;
    const I second = n > 1 ? element_from<T>(start + step) : first;
    const I distance = static_cast<I>(std::uint64_t(second) - std::uint64_t(first));
    return progression<T>(n, first, distance, options);
  } else {
    if constexpr (quarry::detail::is_bool<T>) require_pair_of_bools(n);
    return progression<T>(n, first, element_from<T>(step), options);
  }
}
}  // namespace expr

///@{
/// With an explicit element type and other numbers: the length follows from these numbers as they
/// are, as in NumPy, so that arange<std::uint8_t>(256) has all 256 values. Elements of an integer
/// type begin with the whole part of start, and their distance is that to the whole part of start +
/// step: arange<int>(0, 3, 0.5) is six zeros, as in NumPy. They wrap. Throws DTypeError, with the
/// value, if the first two do not fit in T, or for more than two bools.
template <Number T, expr::PlainNumber A, expr::PlainNumber B, expr::PlainNumber C>
requires(!expr::are_all<T, A, B, C>) DeviceNDArray<T> arange(A start, B stop, C step,
                                                             const ArrayOptions& options = {}) {
  using expr::arange_as;
  if constexpr ((std::is_floating_point_v<A> || std::is_floating_point_v<B> ||
                 std::is_floating_point_v<C>)) {
    return arange_as<T>(double(start), double(stop), double(step), options);
  } else {
    const auto first = expr::widened(start);
    const auto end = expr::widened(stop);
    const auto by = expr::widened(step);
    if (std::cmp_greater_equal(first, 0) && std::cmp_greater_equal(end, 0) &&
        std::cmp_greater_equal(by, 0)) {
      return arange_as<T>(std::uint64_t(first), std::uint64_t(end), std::uint64_t(by), options);
    }
    const auto signed_of = [](auto n) { return detail::scalar_as<std::int64_t>(n); };
    return arange_as<T>(signed_of(first), signed_of(end), signed_of(by), options);
  }
}
template <Number T, expr::PlainNumber A, expr::PlainNumber B>
requires(!expr::are_all<T, A, B>) DeviceNDArray<T> arange(A start, B stop,
                                                          const ArrayOptions& options = {}) {
  return arange<T>(start, stop, B(1), options);
}
template <Number T, expr::PlainNumber B>
requires(!expr::are_all<T, B>) DeviceNDArray<T> arange(B stop, const ArrayOptions& options = {}) {
  return arange<T>(B(0), stop, B(1), options);
}
///@}
/// Points between other numbers than those of an explicit element type, and points of an integer
/// type, which are the integers below: linspace<int>(0, 3, 7), as in NumPy. Throws DTypeError, with
/// the value, if an integer type T does not hold start and stop.
template <Number T, expr::PlainNumber A, expr::PlainNumber B>
requires(!detail::is_bool<T> && (!expr::are_all<T, A, B> || dtype_of<T>.kind() != Kind::floating))
    DeviceNDArray<T> linspace(A start, B stop, std::int64_t count = 50,
                              const LinspaceOptions& options = {}) {
  const auto end = [](auto number) {
    if constexpr (!kernels::is_integer<kernel_type_t<T>>) {
      return double(number);
    } else if constexpr (std::is_floating_point_v<decltype(number)>) {
      return expr::element_from<T>(__builtin_floor(double(number)));
    } else {
      return expr::element_from<T>(expr::widened(number));
    }
  };
  static_cast<void>(end(start));
  const auto last = end(stop);
  const auto result = expr::points<T>(double(start), double(stop), count, options);
  const StreamGuard guard(result.stream());
  if (options.endpoint && count > 1) result(-1) = last;
  return result;
}

}  // namespace quarry
