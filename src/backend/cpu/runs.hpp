// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>

/// A family's loops over one run of elements, with the longest vectors that there are: what is not
/// dense is copied piece by piece where that pays. Arguments are those of kernels/map.hpp and
/// kernels/reduce.hpp.
namespace quarry::backend::cpu_backend {

using kernels::i64;
using kernels::u64;

void map_run(const kernels::map_loops& loops, i64 n, char* const* pointer, const i64* stride,
             const u64* scalars, i64 first);

/// n elements into one accumulator. `pointer` and `stride` are those of the inputs.
void fold_run(const kernels::value_loops& loops, void* accumulator, i64 n, char* const* pointer,
              const i64* stride, const u64* scalars, i64 first);

/// An element into each of n accumulators; all have the position `at` among the reduced, and values
/// without a position of their own.
void fold_column(const kernels::value_loops& loops, void* accumulators, i64 n, char* const* pointer,
                 const i64* stride, const u64* scalars, i64 at);

}  // namespace quarry::backend::cpu_backend
