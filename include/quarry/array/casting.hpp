// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>
#include <quarry/kernels/map.hpp>

#include <concepts>
#include <string>
#include <utility>

/// Which values may be written into elements of which type: NumPy's casting rules.
namespace quarry::detail {

/// Bools, integers, floating and complex numbers: each kind converts to the next.
constexpr int kind_rank(Kind kind) {
  return static_cast<int>(kind == Kind::unsigned_integer ? Kind::signed_integer : kind);
}
template <class S, class T>
inline constexpr bool keeps_kind = false;
template <Number S, Number T>
inline constexpr bool keeps_kind<S, T> = kind_rank(dtype_of<S>.kind()) <=
                                         kind_rank(dtype_of<T>.kind());

/// Whether NumPy's casting='same_kind' allows values of `from` in an array of `to`.
constexpr bool same_kind(DType from, DType to) {
  if (from == to) return true;
  if (from.is_record() || to.is_record()) return false;
  if (from.kind() == Kind::signed_integer && to.kind() == Kind::unsigned_integer) return false;
  return kind_rank(from.kind()) <= kind_rank(to.kind());
}

/// The program that converts the elements of a copy; nullptr if the types are equal.
template <class From, class To>
const kernels::program* conversion() {
  static_assert(same_kind(dtype_of<From>, dtype_of<To>),
                "this copy can lose the kind of the values; convert them first");
  if constexpr (dtype_of<From> == dtype_of<To>) {
    return nullptr;
  } else {
    using K = kernel_type_t<From>;
    using Program = kernels::map_of<kernels::in<K, 0>, kernel_type_t<To>, 0, K>;
    return &kernels::program_for<Program>::value;
  }
}

[[noreturn]] void throw_out_of_range(const std::string& value, DType type);

/// `value` as a kernel's K. Throws DTypeError if K is an integer type that does not hold the
/// integer, as NumPy 2 does.
template <class K, Number S>
K scalar_as(const S& value) {
  if constexpr (requires { value.real(), value.imag(); }) {
    using R = std::remove_cvref_t<decltype(value.real())>;
    return kernels::convert<K>(kernels::complex<R>{value.real(), value.imag()});
  } else if constexpr (std::is_arithmetic_v<S>) {
    const auto number = static_cast<kernel_type_t<S>>(value);
    if constexpr (kernels::is_integer<kernel_type_t<S>> && kernels::is_integer<K>) {
      if (!std::in_range<K>(number)) throw_out_of_range(std::to_string(number), row_of<K>);
    }
    return kernels::convert<K>(number);
  } else {
    return kernels::convert<K>(static_cast<float>(value));  // half precision
  }
}

}  // namespace quarry::detail
