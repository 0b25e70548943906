// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/shape.hpp>

/// NumPy's diff.
namespace quarry {

namespace expr {
/// Throws ShapeError, with the values, for fewer than 0 differences, no axes, or no such axis.
void require_differences(const Shape& shape, std::int64_t n, std::int64_t axis);

/// Each element along the axis less the one before it.
template <class T>
DeviceNDArray<std::remove_const_t<T>> differences(const DeviceNDArray<T>& a, std::int64_t axis) {
  const auto part = [&](const Range& of) {
    return viewed(a, [&](const Layout& l) { return shape_views::cut(l, axis, of); });
  };
  if constexpr (quarry::detail::is_bool<T>) {
    return eval(part(range(1, _)) != part(range(0, -1)));
  } else {
    return eval(part(range(1, _)) - part(range(0, -1)));
  }
}
}  // namespace expr

/// The differences of neighbours along an axis, taken n times: out[i] = a[i + 1] - a[i], each time
/// one element less, or none. They have the type of the elements, and wrap in it; of bools they
/// are whether neighbours differ. A new array, by one kernel for each time; with n = 0 a copy. What
/// np.diff puts before and behind, concatenate() does: diff(concatenate(std::tuple{
/// zeros<int>({1}), a})). Throws ShapeError, with the values, for a negative n, for an array
/// without axes and for an axis that there is not.
template <expr::Operand A>
auto diff(const A& a, std::int64_t n = 1, std::int64_t axis = -1) {
  using T = std::remove_const_t<typename A::value_type>;
  const auto elements = eval(a);
  expr::require_differences(elements.shape(), n, axis);
  if (n == 0) return elements.copy();
  DeviceNDArray<T> result = expr::differences(elements, axis);
  for (std::int64_t k = 1; k < n; ++k) result = expr::differences(result, axis);
  return result;
}

}  // namespace quarry
