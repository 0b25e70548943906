// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/runs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "backend/cpu/vectors.hpp"
#include "base/small_array.hpp"

namespace quarry::backend::cpu_backend {
namespace {

using kernels::map_loops;
using kernels::value_loops;

using Pointers = SmallArray<char*>;
using Steps = SmallArray<i64>;

constexpr i64 block = map_loops::block;
constexpr i64 piece_bytes = i64{16} << 10;  // of values between their computation and their fold
constexpr i64 least_dense = 8;              // fewer elements are not worth a copy into a block
constexpr std::size_t most_bytes = 16;      // of an element that is copied
constexpr i64 spread_count = 512;           // copies of an element that is the same everywhere
constexpr std::size_t staged_bytes = std::size_t{32} << 10;

map_loops::dense_loop* dense_loop(const map_loops& loops) {
  const Vectors longest = vectors();
  if (longest == Vectors::bytes_16) return nullptr;
  return loops.dense[longest == Vectors::bytes_64 ? 1 : 0];
}

template <std::size_t Size>
void repeat_of(char* to, const char* element, i64 n) {
  char value[Size];
  std::memcpy(value, element, Size);
  for (i64 i = 0; i < n; ++i) std::memcpy(to + static_cast<std::size_t>(i) * Size, value, Size);
}

void repeat(char* to, const char* element, std::size_t size, i64 n) {
  if (size == 1) return repeat_of<1>(to, element, n);
  if (size == 2) return repeat_of<2>(to, element, n);
  if (size == 4) return repeat_of<4>(to, element, n);
  if (size == 8) return repeat_of<8>(to, element, n);
  for (i64 i = 0; i < n; ++i) std::memcpy(to + static_cast<std::size_t>(i) * size, element, size);
}

/// How a run may be computed by its dense loop.
class DenseRun {
 public:
  DenseRun(const map_loops& loops, char* const* pointer, const i64* stride)
      : loops_(loops), operands_(loops.outputs + loops.inputs), pointer_(pointer), stride_(stride) {
    for (int k = 0; k < operands_; ++k) {
      can_ = can_ && !loops.is_side[k];
      const bool is_dense = stride[k] == static_cast<i64>(size(k));
      if (is_dense) continue;
      can_ = can_ && stride[k] == 0 && k >= loops.outputs && size(k) <= most_bytes;
      ++repeated_;
    }
    can_ = can_ && repeated_ * spread_bytes <= staged_bytes;
  }
  /// Whether every operand is dense, or an input that is the same element everywhere; side operands
  /// are neither.
  bool can() const { return can_; }
  void run(map_loops::dense_loop* dense, i64 n, const u64* scalars, i64 first) const;

 private:
  static constexpr std::size_t spread_bytes = most_bytes * spread_count;
  std::size_t size(int k) const { return loops_.size[k]; }
  bool changes_inputs() const;
  void blocks(map_loops::dense_loop* dense, i64 n, i64 last, const u64* scalars, i64 first) const;
  void rest(map_loops::dense_loop* dense, i64 begin, i64 n, const u64* scalars, i64 first) const;
  bool has_small_elements() const;
  void strided(i64 begin, i64 n, const u64* scalars, i64 first) const;

  const map_loops& loops_;
  const int operands_;
  char* const* const pointer_;
  const i64* const stride_;
  bool can_ = true;
  std::size_t repeated_ = 0;
};

// The last block may begin among the elements of the one before, unless these were changed.
void DenseRun::run(map_loops::dense_loop* dense, i64 n, const u64* scalars, i64 first) const {
  const i64 whole = n / block * block;
  if (whole > 0) {
    const bool again = whole < n && !changes_inputs();
    blocks(dense, whole, again ? n - block : whole, scalars, first);
    if (again) return;
  }
  if (whole == n) return;
  if (n - whole >= least_dense && has_small_elements())
    rest(dense, whole, n - whole, scalars, first);
  else
    strided(whole, n - whole, scalars, first);
}

bool DenseRun::changes_inputs() const {
  for (int out = 0; out < loops_.outputs; ++out) {
    for (int in = loops_.outputs; in < operands_; ++in) {
      if (pointer_[out] == pointer_[in]) return true;
    }
  }
  return false;
}

// n elements in whole blocks, then the block at `last` if that is not n. Inputs that are the same
// element everywhere are read from copies of it.
void DenseRun::blocks(map_loops::dense_loop* dense, i64 n, i64 last, const u64* scalars,
                      i64 first) const {
  alignas(64) char staged[staged_bytes];
  Pointers copies(operands_), at(operands_);
  char* next = staged;
  for (int k = 0; k < operands_; ++k) {
    copies[k] = pointer_[k];
    if (stride_[k] != 0) continue;
    repeat(next, pointer_[k], size(k), std::min(n, spread_count));
    copies[k] = next;
    next += spread_bytes;
  }
  const auto part = [&](i64 begin, i64 count) {
    for (int k = 0; k < operands_; ++k) at[k] = copies[k] + begin * stride_[k];
    dense(count, at.data(), scalars, first + begin);
  };
  const i64 step = repeated_ == 0 ? n : spread_count;
  for (i64 i = 0; i < n; i += step) part(i, std::min(step, n - i));
  if (last < n) part(last, block);
}

bool DenseRun::has_small_elements() const {
  std::size_t bytes = 0;
  for (int k = 0; k < operands_; ++k) {
    if (size(k) > most_bytes) return false;
    bytes += most_bytes * block;
  }
  return bytes <= staged_bytes;
}

// Less than a block: the inputs are copied, and their last elements repeated.
void DenseRun::rest(map_loops::dense_loop* dense, i64 begin, i64 n, const u64* scalars,
                    i64 first) const {
  alignas(64) char staged[staged_bytes];
  Pointers at(operands_);
  for (int k = 0; k < operands_; ++k) {
    at[k] = staged + static_cast<std::size_t>(k) * most_bytes * block;
    if (k < loops_.outputs) continue;
    const char* const from = pointer_[k] + begin * stride_[k];
    const std::size_t bytes = stride_[k] == 0 ? 0 : size(k) * static_cast<std::size_t>(n);
    std::memcpy(at[k], from, bytes);
    const char* const last = stride_[k] == 0 ? from : from + (n - 1) * stride_[k];
    repeat(at[k] + bytes, last, size(k), stride_[k] == 0 ? block : block - n);
  }
  dense(block, at.data(), scalars, first + begin);
  for (int k = 0; k < loops_.outputs; ++k) {
    std::memcpy(pointer_[k] + begin * stride_[k], at[k], size(k) * static_cast<std::size_t>(n));
  }
}

void DenseRun::strided(i64 begin, i64 n, const u64* scalars, i64 first) const {
  Pointers at(operands_);
  for (int k = 0; k < operands_; ++k) at[k] = pointer_[k] + begin * stride_[k];
  loops_.run(n, at.data(), stride_, scalars, first + begin);
}

/// The values of n elements from element i of a run on: computed into `buffer`, or where they are.
const void* values_of(const value_loops& loops, i64 i, i64 n, char* const* pointer,
                      const i64* stride, const u64* scalars, i64 first, char* buffer) {
  const auto size = static_cast<i64>(loops.fold->value_size);
  if (loops.are_input && stride[0] == size) return pointer[0] + i * size;
  const int operands = 1 + loops.values->inputs;
  Pointers at(operands);
  Steps steps(operands);
  at[0] = buffer;
  steps[0] = size;
  for (int k = 1; k < operands; ++k) {
    at[k] = pointer[k - 1] + i * stride[k - 1];
    steps[k] = stride[k - 1];
  }
  map_run(*loops.values, n, at.data(), steps.data(), scalars, first + i);
  return buffer;
}

/// Calls f(i, count, values) for the pieces of a run.
template <class F>
void for_pieces(const value_loops& loops, i64 n, char* const* pointer, const i64* stride,
                const u64* scalars, i64 first, const F& f) {
  alignas(64) char buffer[piece_bytes];
  const i64 piece = piece_bytes / static_cast<i64>(loops.fold->value_size);
  for (i64 i = 0; i < n; i += piece) {
    const i64 count = std::min(piece, n - i);
    f(i, count, values_of(loops, i, count, pointer, stride, scalars, first, buffer));
  }
}

/// The values are those of the only input, and lie side by side.
bool are_there(const value_loops& loops, const i64* stride) {
  return loops.are_input && stride[0] == static_cast<i64>(loops.fold->value_size);
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
  if (are_there(loops, stride)) return f(0, rows, pointer[0], row_stride[0]);
  alignas(64) char buffer[piece_bytes];
  const i64 group = are_one_run(loops, n, stride, row_stride) ? piece / n : 1;
  Pointers at(static_cast<std::size_t>(loops.values->inputs));
  for (i64 r = 0; r < rows; r += group) {
    const i64 count = std::min(group, rows - r);
    advance(at, pointer, row_stride, r);
    f(r, count, values_of(loops, 0, count * n, at.data(), stride, scalars, first, buffer),
      n * size);
  }
}

}  // namespace

void map_run(const map_loops& loops, i64 n, char* const* pointer, const i64* stride,
             const u64* scalars, i64 first) {
  map_loops::dense_loop* const dense = n < least_dense ? nullptr : dense_loop(loops);
  if (dense) {
    const DenseRun whole(loops, pointer, stride);
    if (whole.can()) return whole.run(dense, n, scalars, first);
  }
  loops.run(n, pointer, stride, scalars, first);
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
  Pointers at(static_cast<std::size_t>(loops.values->inputs));
  for (i64 r = 0; r < rows; ++r) {
    advance(at, pointer, row_stride, r);
    for_pieces(loops, n, at.data(), stride, scalars, first,
               [&](i64 i, i64 count, const void* values) {
                 fold(bytes + r * size, 1, count, values, 0, first + i);
               });
  }
}

bool fold_together(const value_loops& loops, i64 n, const i64* stride, const i64* row_stride) {
  return are_there(loops, stride) || are_one_run(loops, n, stride, row_stride);
}

void fold_columns(const value_loops& loops, void* accumulators, i64 n, i64 rows,
                  char* const* pointer, const i64* stride, const i64* row_stride,
                  const u64* scalars, i64 at) {
  const auto fold = loops.fold->columns[static_cast<int>(vectors())];
  if (are_there(loops, stride)) return fold(accumulators, n, pointer[0], rows, row_stride[0], at);
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
        values_of(loops, i, count, row.data(), stride, scalars, 0, buffer + k * piece * size);
      }
      fold(bytes + i * static_cast<i64>(loops.fold->accumulator_size), count, buffer, some,
           piece * size, at + r);
    }
  }
}

}  // namespace quarry::backend::cpu_backend
