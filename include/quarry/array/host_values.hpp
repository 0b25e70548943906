// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/methods.hpp>
#include <quarry/base/shape.hpp>

#include <vector>

/// Conversions from and to other libraries' arrays: <quarry/xtensor.hpp> specialises these.
namespace quarry {

namespace detail {
/// Throws ShapeError unless there are so many axes, as a container of the host has.
void require_rank(const Shape& shape, std::size_t rank);
/// Throws ShapeError unless a container that has a fixed shape has the right one.
void require_shape(const Shape& shape, const Shape& fixed);

template <class Extents>
concept HasSettableExtents = requires(Extents& extents) {
  extents[0] = 1;
};
/// The extents for a container's resize(). Throws ShapeError if it has another number of axes.
template <HasSettableExtents Extents>
Extents extents_for(const Shape& shape) {
  Extents extents{};
  if constexpr (requires { extents.resize(shape.size()); })
    extents.resize(shape.size());
  else
    require_rank(shape, extents.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    extents[i] = static_cast<typename Extents::value_type>(shape[i]);
  return extents;
}
}  // namespace detail

/// What copy_to_host() makes; <quarry/xtensor.hpp> specialises it for xtensor.
template <class T, class = void>
struct HostArrayOf {
  /// Does not compile: only <quarry/xtensor.hpp> knows what to make.
  static std::vector<T> make(const Shape&) {
    static_assert(sizeof(T) == 0,
                  "copy_to_host() without a destination needs #include <quarry/xtensor.hpp>");
    return {};
  }
};

/// Evaluates an object without memory into host memory; <quarry/xtensor.hpp> specialises it for
/// xtensor's expressions.
template <class X>
struct HostValuesOf {
  /// Does not compile for types that are no host arrays.
  static std::vector<float> make(const X&) {
    static_assert(
        detail::never<X>,
        "this is no memory of the host, and no list of elements: xtensor's containers and "
        "std's are; xtensor's expressions need #include <quarry/xtensor.hpp>");
    return {};
  }
};

/// The rank of a container that can have any.
inline constexpr std::size_t any_rank = std::size_t(-1);

/// What copy_to_host<H>() fills: the headers for libraries specialise it for their containers, with
/// `rank`, the number of axes.
template <class H>
struct HostArrayMaker {
  /// Does not compile for types that it does not know.
  static H make(const Shape&) {
    static_assert(detail::never<H>,
                  "this is no container that copy_to_host can make: std's are, xtensor's "
                  "need #include <quarry/xtensor.hpp>, Eigen's #include <quarry/eigen.hpp>");
    return {};
  }
};

}  // namespace quarry
