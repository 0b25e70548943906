// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>
#include <quarry/kernels/picks.hpp>
#include <quarry/kernels/scatter.hpp>

/// What map_parted wants of an expression that accesses single elements of a side operand.
namespace quarry::kernels {

/// The number of an element of T, `offset` bytes behind a pointer; number 0 is `first` bytes
/// behind.
template <class T>
__device__ u32 element_number(i64 offset, i64 first) {
  return static_cast<u32>(static_cast<u64>(offset - first) / sizeof(T));
}

/// The places of a map's side operand, numbered from its first element, and what is done there.
template <class E, class Out>
struct parted_access {
  static constexpr single_access kind = single_access::read;
  using type = typename only_pick<E>::type;
  static constexpr int operand = 1 + only_pick<E>::input;
  template <class C>
  static __device__ bool is_there(const C& /*c*/) {
    return true;
  }
  template <class C>
  static __device__ u32 place(const C& c, i64 first) {
    return element_number<type>(only_pick<E>::offset(c), first);
  }
};
template <class E, class T, int First, int Axes>
struct parted_access<E, side<T, First, Axes>> {
  static constexpr single_access kind = single_access::replace;
  using type = T;
  static constexpr int operand = 0;
  template <class C>
  static __device__ bool is_there(const C& c) {
    return E::is_written(c);
  }
  template <class C>
  static __device__ u32 place(const C& c, i64 first) {
    return element_number<T>(E::offset(c), first);
  }
};
template <class V, class... Places, class T, int First, int Axes>
struct parted_access<into<marked, V, Places...>, side<T, First, Axes>> {
  static constexpr single_access kind = single_access::mark;
  using type = T;
  static constexpr int operand = 0;
  template <class C>
  static __device__ bool is_there(const C& /*c*/) {
    return true;
  }
  template <class C>
  static __device__ u32 place(const C& c, i64 /*first*/) {
    return static_cast<u32>(into<marked, V, Places...>::place(c));
  }
};

/// The context of a lane whose element of the side operand has been read.
template <class C, class T>
struct context_with_picked : C {
  T picked;
  template <class U, int K>
  __device__ U input_at(i64 /*offset*/) const {
    return picked;
  }
};

}  // namespace quarry::kernels
