// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/casting.hpp>
#include <quarry/array/ndarray_base.hpp>

/// What tells arrays, expressions and plain values apart, and the sentences for those that are
/// refused.
namespace quarry {

template <class T>
class DeviceNDArray;
struct IndexEntry;

/// Base of every lazy expression, so that argument-dependent lookup finds the operators of this
/// namespace.
struct LazyExpression {};
/// A lazy expression (see expr/node.hpp): has a value_type and a shape, and can evaluate itself
/// into an array.
template <class E>
concept Expression = requires {
  typename std::remove_cvref_t<E>::quarry_expression;
};

#define QUARRY_READ_ONLY \
  "the elements of this array are read-only: copy() gives an array that can be written"

namespace detail {

/// A plain value that can be written into elements of T without losing its kind.
template <class S, class T>
concept ElementValue =
    !Expression<S> && !std::is_base_of_v<DeviceNDArrayBase, S> &&
    ((Number<T> && keeps_kind<S, T>) || (!Number<T> && std::is_convertible_v<S, T>));
template <class U, class T>
concept OtherThan = !std::is_same_v<U, T>;
template <class X>
concept OnDevice = Expression<X> || std::is_base_of_v<DeviceNDArrayBase, X>;
/// A list of entries that are known only at run time; see ops/index_entry.hpp.
template <class X>
concept EntryList = std::is_same_v<typename X::value_type, IndexEntry>;
/// A list of bools of the host, which is no array in memory.
template <class X>
concept BoolList = std::is_same_v<X, std::vector<bool>>;
/// An entry of an index that has positions, or is a mask, or a list with such entries.
template <class X>
concept Positions = OnDevice<X> || std::is_same_v<X, bool> || EntryList<X> || BoolList<X> ||
    (HostArray<X> && !std::is_convertible_v<X, std::span<const Index>>);
template <class T>
inline constexpr bool is_bool = std::is_same_v<std::remove_const_t<T>, bool>;
/// An array or expression of bools.
template <class X>
concept Mask = OnDevice<X> && is_bool<typename X::value_type>;

/// Makes views; arrays are friends of it.
struct Viewer {
  template <class A>
  static auto view(const A& array, const View& v) {
    return array.view(v);
  }
  /// Read-only.
  template <class T>
  static DeviceNDArray<const std::remove_const_t<T>> view_const(const DeviceNDArray<T>& array,
                                                                const View& v) {
    return {array, v};
  }
};

}  // namespace detail
}  // namespace quarry
