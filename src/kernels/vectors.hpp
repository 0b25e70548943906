// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

// Always inlined: what it does is compiled for the instruction set of the function that calls it.
#define QUARRY_INLINED [[gnu::always_inline]] inline

namespace quarry::kernels {

template <class T, u64 Width>
struct vector_of {
  using type __attribute__((vector_size(Width))) = T;
};
/// Elements side by side, `Width` bytes of them.
template <class T, u64 Width>
using vector = typename vector_of<T, Width>::type;

}  // namespace quarry::kernels
