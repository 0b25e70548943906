// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/dtype.hpp>

namespace quarry {

namespace detail {

constexpr bool is_integer(Kind kind) {
  return kind == Kind::signed_integer || kind == Kind::unsigned_integer;
}

constexpr TypeId signed_of_size(std::size_t size) {
  return size == 1   ? TypeId::int8
         : size == 2 ? TypeId::int16
         : size == 4 ? TypeId::int32
                     : TypeId::int64;
}

/// NumPy's floating type for an integer of `size` bytes; float64 also for 64-bit integers.
constexpr TypeId floating_for_integer(std::size_t size) {
  return size == 1 ? TypeId::float16 : size == 2 ? TypeId::float32 : TypeId::float64;
}

constexpr TypeId promote_integers(DType a, DType b) {
  if (a.kind() == b.kind()) return a.itemsize() > b.itemsize() ? a.id() : b.id();
  const DType with_sign = a.kind() == Kind::signed_integer ? a : b;
  const DType without = a.kind() == Kind::signed_integer ? b : a;
  if (with_sign.itemsize() > without.itemsize()) return with_sign.id();
  return without.itemsize() == 8 ? TypeId::float64 : signed_of_size(2 * without.itemsize());
}

/// The real type that a common complex type needs to hold values of `type`.
constexpr TypeId real_of(DType type) {
  switch (type.kind()) {
    case Kind::complex:
      return type.itemsize() == 8 ? TypeId::float32 : TypeId::float64;
    case Kind::floating:
      return type.id();
    default:
      return floating_for_integer(type.itemsize());
  }
}

constexpr TypeId complex_over(TypeId real) {
  return real == TypeId::float64 ? TypeId::complex128 : TypeId::complex64;
}

/// At least one of them is floating. float16 with bfloat16 gives float32, as in ml_dtypes; integers
/// of one byte fit both.
constexpr TypeId promote_reals(DType a, DType b) {
  if (a.itemsize() == 1) return b.id();
  if (b.itemsize() == 1) return a.id();
  const DType x = real_of(a);
  const DType y = real_of(b);
  if (x == y) return x.id();
  if (x.itemsize() == y.itemsize()) return TypeId::float32;
  return x.itemsize() > y.itemsize() ? x.id() : y.id();
}

}  // namespace detail

/// The common type of two arrays, as NumPy 2 (NEP 50) and ml_dtypes have it. A record has none.
constexpr TypeId promote(TypeId a, TypeId b) {
  if (a == TypeId::record || b == TypeId::record) detail::throw_record_has_no_row();
  if (a == b || b == TypeId::bool_) return a;
  if (a == TypeId::bool_) return b;
  const DType x = a;
  const DType y = b;
  if (detail::is_integer(x.kind()) && detail::is_integer(y.kind()))
    return detail::promote_integers(x, y);
  if (x.kind() != Kind::complex && y.kind() != Kind::complex) return detail::promote_reals(x, y);
  return detail::complex_over(detail::promote_reals(detail::real_of(x), detail::real_of(y)));
}

/// The common type of an array and a plain C++ scalar of kind `scalar`, which contributes only its
/// kind to the result, not its width. A bool is not weak, but promotes to any type.
constexpr TypeId promote_weak(TypeId array, Kind scalar) {
  const DType type = array;
  const bool exact = type.kind() == Kind::boolean || detail::is_integer(type.kind());
  switch (scalar) {
    case Kind::boolean:
      return array;
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      return type.kind() == Kind::boolean ? TypeId::int64 : array;
    case Kind::floating:
      return exact ? TypeId::float64 : array;
    case Kind::complex:
      if (type.kind() == Kind::complex) return array;
      return exact ? TypeId::complex128 : detail::complex_over(array);
    case Kind::record:
      break;
  }
  detail::throw_record_has_no_row();
}

/// A weak scalar, which takes the width of the array: the arithmetic types and std::complex.
/// Half-precision scalars are not weak.
template <class T>
concept WeakScalar = Number<T> && detail::row_of<T>
!= TypeId::float16&& detail::row_of<T> != TypeId::bfloat16;

/// The common type of arrays of A and B: numpy.result_type.
template <Number A, Number B>
using result_type_t = host_type_t<promote(dtype_of<A>.id(), dtype_of<B>.id())>;

namespace detail {

template <Number T, Number Scalar>
constexpr TypeId with_scalar() {
  if constexpr (WeakScalar<Scalar>)
    return promote_weak(dtype_of<T>.id(), dtype_of<Scalar>.kind());
  else
    return promote(dtype_of<T>.id(), dtype_of<Scalar>.id());
}

}  // namespace detail

/// The result of an array of `T` with a scalar of type `Scalar`.
template <Number T, Number Scalar>
using weak_result_t = host_type_t<detail::with_scalar<T, Scalar>()>;

}  // namespace quarry
