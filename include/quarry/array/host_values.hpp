// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/methods.hpp>
#include <quarry/base/shape.hpp>

#include <vector>

/// Conversions from and to other libraries' arrays: <quarry/xtensor.hpp> specialises these.
namespace quarry {

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

}  // namespace quarry
