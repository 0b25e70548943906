// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>
#include <quarry/kernels/program.hpp>

#include <concepts>
#include <utility>

/// Which values may be written into elements of which type: NumPy's casting rules.
namespace quarry::detail {

/// Bools, integers, floating and complex numbers in the order in which each goes into the next.
constexpr int kind_rank(Kind kind) {
  return static_cast<int>(kind == Kind::unsigned_integer ? Kind::signed_integer : kind);
}
template <class S, class T>
inline constexpr bool keeps_kind = false;
template <Number S, Number T>
inline constexpr bool keeps_kind<S, T> = kind_rank(dtype_of<S>.kind()) <=
                                         kind_rank(dtype_of<T>.kind());

/// Whether NumPy's casting='same_kind' lets values of `from` go into an array of `to`.
constexpr bool same_kind(DType from, DType to) {
  if (from == to) return true;
  if (from.is_record() || to.is_record()) return false;
  if (from.kind() == Kind::signed_integer && to.kind() == Kind::unsigned_integer) return false;
  return kind_rank(from.kind()) <= kind_rank(to.kind());
}

/// What converts elements of a copy on its way; nullptr where there is nothing to convert.
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

template <class T, class S>
constexpr bool in_range(const S& value) {
  if constexpr (std::same_as<S, bool> || std::same_as<T, bool>) {
    return true;
  } else {
    using Integer = std::conditional_t<std::same_as<T, char>, std::int8_t, T>;
    return std::in_range<Integer>(value);
  }
}

}  // namespace quarry::detail
