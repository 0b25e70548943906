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
    static_assert(detail::never<X>,
                  "this is no memory of the host: xtensor's containers, std::vector and std::span "
                  "are; xtensor's expressions need #include <quarry/xtensor.hpp>");
    return {};
  }
};

/// What copy_to_host<H>() fills: the headers for libraries specialise it for their containers.
template <class H>
struct HostArrayMaker {
  /// Does not compile for types that it does not know.
  static H make(const Shape&) {
    static_assert(detail::never<H>,
                  "this is no container that copy_to_host can make: std::vector is one, xtensor's "
                  "need #include <quarry/xtensor.hpp>, Eigen's #include <quarry/eigen.hpp>");
    return {};
  }
};
/// Of arrays of one axis. Throws ShapeError for another number of axes.
template <class T, class A>
struct HostArrayMaker<std::vector<T, A>> {
  /// With value-initialised elements.
  static std::vector<T, A> make(const Shape& shape) {
    detail::require_rank(shape, 1);
    return std::vector<T, A>(static_cast<std::size_t>(shape[0]));
  }
};

}  // namespace quarry
