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

/// `rows` rows of n elements, each into an accumulator of its own. `pointer` and `stride` are those
/// of the inputs; `row_stride` is from row to row.
void fold_rows(const kernels::value_loops& loops, void* accumulators, i64 rows, i64 n,
               char* const* pointer, const i64* stride, const i64* row_stride, const u64* scalars,
               i64 first);

/// Whether rows are folded together: one by one they have to be longer to be worth it.
bool fold_together(const kernels::value_loops& loops, i64 n, const i64* stride,
                   const i64* row_stride);

/// `rows` rows of n elements into n accumulators; the elements of a row have the same position
/// among the reduced, `at` in the first row, and values without a position of their own.
void fold_columns(const kernels::value_loops& loops, void* accumulators, i64 n, i64 rows,
                  char* const* pointer, const i64* stride, const i64* row_stride,
                  const u64* scalars, i64 at);

}  // namespace quarry::backend::cpu_backend
