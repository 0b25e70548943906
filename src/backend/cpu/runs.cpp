// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/runs.hpp"

#include <algorithm>
#include <cstddef>

#include "backend/cpu/map_run.hpp"
#include "backend/cpu/vectors.hpp"
#include "base/small_array.hpp"

namespace quarry::backend::cpu_backend {
namespace {

using kernels::map_loops;
using kernels::value_loops;

using Pointers = SmallArray<char*>;
using Steps = SmallArray<i64>;

constexpr i64 piece_bytes = i64{16} << 10;  // of values between their computation and their fold

/// The values of runs: computed into a buffer, or where they are.
class Values {
 public:
  Values(const value_loops& loops, const i64* stride, const u64* scalars)
      : size_(static_cast<i64>(loops.fold->value_size)),
        are_there_(loops.are_input && stride[0] == size_),
        stride_(1 + loops.values->inputs),
        scalars_(scalars),
        run_(*loops.values, steps_of(stride)) {}
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  /// Those of the only input, which lie side by side.
  bool are_there() const { return are_there_; }
  /// Of n elements from element i of a run on.
  const void* of(i64 i, i64 n, char* const* pointer, i64 first, char* buffer) const {
    if (are_there_) return pointer[0] + i * size_;
    Pointers at(stride_.size());
    at[0] = buffer;
    for (std::size_t k = 1; k < at.size(); ++k) at[k] = pointer[k - 1] + i * stride_[k];
    run_(n, at.data(), scalars_, first + i);
    return buffer;
  }

 private:
  const i64* steps_of(const i64* stride) {
    stride_[0] = size_;
    std::copy_n(stride, stride_.size() - 1, stride_.begin() + 1);
    return stride_.data();
  }

  const i64 size_;
  const bool are_there_;
  Steps stride_;
  const u64* const scalars_;
  const MapRun run_;
};

/// Calls f(i, count, values) for the pieces of a run.
template <class F>
void for_pieces(const value_loops& loops, const Values& values, i64 n, char* const* pointer,
                i64 first, const F& f) {
  alignas(64) char buffer[piece_bytes];
  const i64 piece = piece_bytes / static_cast<i64>(loops.fold->value_size);
  for (i64 i = 0; i < n; i += piece) {
    const i64 count = std::min(piece, n - i);
    f(i, count, values.of(i, count, pointer, first, buffer));
  }
}

/// The rows are one run, whose values do not depend on their positions.
bool are_one_run(const value_loops& loops, i64 n, const i64* stride, const i64* row_stride) {
  for (int k = 0; k < loops.values->inputs; ++k) {
    if (row_stride[k] != n * stride[k]) return false;
  }
  return !loops.have_positions;
}

void advance(Pointers& at, char* const* pointer, const i64* stride, i64 n) {
  for (std::size_t k = 0; k < at.size(); ++k) at[k] = pointer[k] + n * stride[k];
}

/// Calls f(first row, rows, their values, the bytes between them) for groups of rows that are at
/// most a piece.
template <class F>
void for_groups(const value_loops& loops, i64 rows, i64 n, char* const* pointer, const i64* stride,
                const i64* row_stride, const u64* scalars, i64 first, const F& f) {
  const auto size = static_cast<i64>(loops.fold->value_size), piece = piece_bytes / size;
  const Values values(loops, stride, scalars);
  if (values.are_there()) return f(0, rows, pointer[0], row_stride[0]);
  alignas(64) char buffer[piece_bytes];
  const i64 group = are_one_run(loops, n, stride, row_stride) ? piece / n : 1;
  Pointers at(static_cast<std::size_t>(loops.values->inputs));
  for (i64 r = 0; r < rows; r += group) {
    const i64 count = std::min(group, rows - r);
    advance(at, pointer, row_stride, r);
    f(r, count, values.of(0, count * n, at.data(), first, buffer), n * size);
  }
}

}  // namespace

void map_run(const map_loops& loops, i64 n, char* const* pointer, const i64* stride,
             const u64* scalars, i64 first) {
  MapRun(loops, stride)(n, pointer, scalars, first);
}

void fold_rows(const value_loops& loops, void* accumulators, i64 rows, i64 n, char* const* pointer,
               const i64* stride, const i64* row_stride, const u64* scalars, i64 first) {
  const auto fold = loops.fold->rows[static_cast<int>(vectors())];
  const auto size = static_cast<i64>(loops.fold->accumulator_size);
  auto* const bytes = static_cast<char*>(accumulators);
  if (n <= piece_bytes / static_cast<i64>(loops.fold->value_size)) {
    const auto group = [&](i64 r, i64 count, const void* values, i64 step) {
      fold(bytes + r * size, count, n, values, step, first);
    };
    return for_groups(loops, rows, n, pointer, stride, row_stride, scalars, first, group);
  }
  const Values values(loops, stride, scalars);
  Pointers at(static_cast<std::size_t>(loops.values->inputs));
  for (i64 r = 0; r < rows; ++r) {
    advance(at, pointer, row_stride, r);
    for_pieces(loops, values, n, at.data(), first, [&](i64 i, i64 count, const void* piece) {
      fold(bytes + r * size, 1, count, piece, 0, first + i);
    });
  }
}

bool fold_together(const value_loops& loops, i64 n, const i64* stride, const i64* row_stride) {
  return Values(loops, stride, nullptr).are_there() || are_one_run(loops, n, stride, row_stride);
}

void fold_columns(const value_loops& loops, void* accumulators, i64 n, i64 rows,
                  char* const* pointer, const i64* stride, const i64* row_stride,
                  const u64* scalars, i64 at) {
  const auto fold = loops.fold->columns[static_cast<int>(vectors())];
  const Values values(loops, stride, scalars);
  if (values.are_there()) return fold(accumulators, n, pointer[0], rows, row_stride[0], at);
  constexpr i64 together = 16;  // rows that are computed before they are folded
  const auto size = static_cast<i64>(loops.fold->value_size), piece = piece_bytes / size / together;
  alignas(64) char buffer[piece_bytes];
  auto* const bytes = static_cast<char*>(accumulators);
  Pointers row(static_cast<std::size_t>(loops.values->inputs));
  for (i64 r = 0; r < rows; r += together) {
    const i64 some = std::min(together, rows - r);
    for (i64 i = 0; i < n; i += piece) {
      const i64 count = std::min(piece, n - i);
      for (i64 k = 0; k < some; ++k) {
        advance(row, pointer, row_stride, r + k);
        values.of(i, count, row.data(), 0, buffer + k * piece * size);
      }
      fold(bytes + i * static_cast<i64>(loops.fold->accumulator_size), count, buffer, some,
           piece * size, at + r);
    }
  }
}

}  // namespace quarry::backend::cpu_backend
