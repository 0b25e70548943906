// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/shape.hpp>

/// NumPy's functions that make matrices and take them apart.
namespace quarry {

namespace expr {

/// Rows and columns of a matrix from those that a caller gives: as many columns as rows without a
/// second number. Throws ShapeError for negative ones.
Shape matrix_shape(std::int64_t rows, std::optional<std::int64_t> columns);
/// The shape of a square matrix with a diagonal of `count` elements at `offset`.
Shape shape_around(std::int64_t count, std::int64_t offset);
/// The last two extents, as rows and columns; the one extent of a single axis is both.
Shape triangle_shape(const Shape& shape);
/// An offset beyond the corners of a matrix, as far as matters.
std::int64_t clipped_offset(std::int64_t offset, const Shape& matrix);

/// Whether column <= row + offset.
template <Integer I>
auto below(const Shape& matrix, I offset, const ArrayOptions& options) {
  const ArrayOptions where{.stream = options.stream, .device = options.device};
  const auto rows = arange<I>(matrix[0], where);
  const auto columns = arange<I>(matrix[1], where);
  return columns <= expand_dims(rows, 1) + clipped_offset(offset, matrix);
}

}  // namespace expr

/// Zeros, with ones on the diagonal `offset` places to the right of the main one. As many columns
/// as rows without a second number.
template <Number T = double>
DeviceNDArray<T> eye(std::int64_t rows, std::optional<std::int64_t> columns = std::nullopt,
                     std::int64_t offset = 0, const ArrayOptions& options = {}) {
  const auto result = zeros<T>(expr::matrix_shape(rows, columns), options);
  const StreamGuard guard(result.stream());
  diagonal(result, offset).fill(T(1));
  return result;
}
/// eye() of a square matrix.
template <Number T = double>
DeviceNDArray<T> identity(std::int64_t rows, const ArrayOptions& options = {}) {
  return eye<T>(rows, std::nullopt, 0, options);
}

/// Zeros with `values`, in C order, on a diagonal of a square matrix that is just large enough.
template <expr::Operand V>
auto diagflat(const V& values, std::int64_t offset = 0) {
  using T = std::remove_const_t<typename V::value_type>;
  const Stream& stream = detail::home_of(values);
  const auto result =
      zeros<T>(expr::shape_around(values.size(), offset), ArrayOptions{.stream = stream});
  const StreamGuard guard(stream);
  diagonal(result, offset).reshape(values.shape()).assign(values);
  return result;
}
///@{
/// Of one axis, the matrix with these values on a diagonal; of two axes, a view of a diagonal.
/// Throw ShapeError for other numbers of axes. An expression has one axis: use diagonal() for two.
template <class T>
DeviceNDArray<T> diag(const DeviceNDArray<T>& a, std::int64_t offset = 0) {
  shape_views::require_rank(a.shape(), 1, "diag", 2);
  if (a.ndim() == 1) return diagflat(a, offset);
  return diagonal(a, offset);
}
template <Expression E>
auto diag(const E& e, std::int64_t offset = 0) {
  return diag(eval(e), offset);
}
///@}

/// Ones at and below a diagonal, zeros above.
template <Number T = double>
DeviceNDArray<T> tri(std::int64_t rows, std::optional<std::int64_t> columns = std::nullopt,
                     std::int64_t offset = 0, const ArrayOptions& options = {}) {
  DeviceNDArray<T> result(expr::matrix_shape(rows, columns), options);
  const StreamGuard guard(result.stream());
  result.assign(astype<T>(expr::below(result.shape(), offset, {.stream = result.stream()})));
  return result;
}
/// Lazily: with zeros above a diagonal of the last two axes.
template <expr::Operand A>
auto tril(const A& a, std::int64_t offset = 0) {
  using T = std::remove_const_t<typename A::value_type>;
  return where(expr::below(expr::triangle_shape(a.shape()), offset, {.stream = detail::home_of(a)}),
               a, T(0));
}
/// Lazily: with zeros below a diagonal of the last two axes.
template <expr::Operand A>
auto triu(const A& a, std::int64_t offset = 0) {
  using T = std::remove_const_t<typename A::value_type>;
  const Shape matrix = expr::triangle_shape(a.shape());
  return where(
      expr::below(matrix, expr::clipped_offset(offset, matrix) - 1, {.stream = detail::home_of(a)}),
      T(0), a);
}

/// How vander orders its columns.
struct VanderOptions {
  bool increasing = false;  ///< the first column is of ones, not the last
};
/// The powers of the elements of an array or expression with one axis as columns; as many as rows
/// without a number. Integers become int64 and float32 float64, as in NumPy. Throws ShapeError.
template <expr::Operand X>
auto vander(const X& x, std::optional<std::int64_t> columns = std::nullopt,
            const VanderOptions& options = {}) {
  using R = result_type_t<std::remove_const_t<typename X::value_type>, std::int64_t>;
  shape_views::require_rank(x.shape(), 1, "vander", 1);
  const Stream& stream = detail::home_of(x);
  const DeviceNDArray<R> result(expr::matrix_shape(x.size(), columns),
                                ArrayOptions{.stream = stream});
  const StreamGuard guard(stream);
  const std::int64_t count = result.shape()[1];
  const auto column = [&](std::int64_t power) {
    return result(all, options.increasing ? power : count - 1 - power);
  };
  if (count > 0) column(0).fill(R(1));
  if (count > 1) column(1).assign(x);
  for (std::int64_t power = 2; power < count; ++power) {
    column(power).assign(column(power - 1) * column(1));
  }
  return result;
}

}  // namespace quarry
