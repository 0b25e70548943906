// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

namespace quarry::kernels {

template <class F>
inline constexpr bool is_own_function = false;
#ifdef QUARRY_VECTOR_FUNCTIONS  // not for nvcc: math.hpp
#define QUARRY_OWN_FUNCTION(function) \
  template <>                         \
  inline constexpr bool is_own_function<function##_op> = true;
QUARRY_VECTOR_FUNCTIONS(QUARRY_OWN_FUNCTION)
#undef QUARRY_OWN_FUNCTION
#endif

/// The loop of map_loops (map.hpp) for vectors of 32 bytes where elements Out of E are a function
/// of those of an input that the library has a loop for. For its own functions there constants stay
/// in registers, which a call for every vector reads anew; other loops are written in vectors,
/// since compilers make slower ones.
template <class E, class Out>
struct function_loop {
  static constexpr bool exists = false;
};
template <class F, class T>
requires(is_own_function<F> &&
         (is_same<T, float> || is_same<T, double>)) struct function_loop<op<F, T, in<T, 0>>, T> {
  static constexpr bool exists = true;
  static void run(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
};

#ifdef __x86_64__
/// Floats are truncated to these by vectors of i32.
template <class To>
inline constexpr bool is_in_i32 = is_same<To, i32> || (is_integer<To> && sizeof(To) < 4);
template <class To>
requires(is_in_i32<To>) struct function_loop<cast<To, in<float, 0>>, To> {
  static constexpr bool exists = true;
  static void run(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
};

/// A quotient by a number, which is multiplied by its inverse.
template <class T>
inline constexpr bool has_quotient_loop = is_same<T, i8> || is_same<T, i32> || is_same<T, i64>;
template <class T>
requires(
    has_quotient_loop<T>) struct function_loop<op<floor_divide_op, T, in<T, 0>, val<T, 0>>, T> {
  static constexpr bool exists = true;
  static void run(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
};
#endif

}  // namespace quarry::kernels
