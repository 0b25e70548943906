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
/// of the library of those of an input: there constants stay in registers, which a call for every
/// vector reads anew.
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

}  // namespace quarry::kernels
