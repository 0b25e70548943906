// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>

#include <cstddef>

#include "backend/cpu/cursor.hpp"

namespace quarry::backend::cpu_backend {

/// Neighbouring outputs along the last kept axis.
struct OutputBlock {
  i64 first, count;  // positions among the kept elements
  Pointers at;       // every operand at the first output
};

/// The folds of a call over its reduced axes, and what becomes of the totals. The reduced elements
/// are cut into chunks, whose accumulators are merged as a balanced tree.
class Reduction {
 public:
  Reduction(const KernelCall& call, const kernels::value_loops& loops);
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  /// The elements of a block are folded and `used` while they are in the caches.
  void run(bool used) const;

 protected:
  ~Reduction() = default;
  /// Called with the totals of a block and the reduced elements [begin, end): with all of them, or
  /// with every chunk where the elements are `used`.
  virtual void finish(const OutputBlock& to, i64 begin, i64 end,
                      const std::byte* accumulators) const = 0;
  bool is_along() const { return along_; }
  const KernelCall& call() const { return call_; }
  const u64* scalars() const { return scalars_; }
  const Steps& kept_step() const { return kept_step_; }
  const Steps& reduced_step() const { return reduced_step_; }
  std::size_t accumulator_size() const { return acc_size_; }
  /// The operands at output j of a block.
  Pointers row_of(const OutputBlock& to, i64 j) const;
  /// Calls f(n, pointers, first) on the runs along the last axis that make up the reduced elements
  /// [begin, end).
  template <class F>
  void for_runs(const Pointers& base, i64 begin, i64 end, const F& f) const {
    const i64 columns = reduced_.last_extent();
    i64 column = begin % columns;
    Cursor cursor(reduced_.outer(), base, begin / columns);
    Pointers at(pointers_.size());
    while (begin < end) {
      const i64 n = std::min(columns - column, end - begin);
      advance(at, cursor.pointers(), reduced_step_, column);
      f(n, at, begin);
      begin += n;
      column = 0;
      cursor.next();
    }
  }

 private:
  OutputBlock block(i64 index) const;
  void fold(const OutputBlock& to, i64 chunk, std::byte* accumulators) const;
  void fold_along(const OutputBlock& to, i64 begin, i64 end, std::byte* accumulators) const;
  void fold_columns(const OutputBlock& to, i64 begin, i64 end, std::byte* accumulators) const;
  void run_whole() const;
  void run_in_chunks(i64 first, i64 last, bool used) const;
  void merge(const OutputBlock& to, std::byte* partial, std::size_t chunk_size) const;
  i64 grain() const;

  const KernelCall& call_;
  const kernels::value_loops& loops_;
  Pointers pointers_;
  const u64* scalars_;
  Axes kept_, reduced_;
  Steps kept_step_, reduced_step_;
  std::size_t acc_size_;
  bool along_ = false;
  i64 chunk_ = 1, chunks_ = 1;  // reduced elements of a chunk, and how many chunks
  i64 outputs_ = 1, row_blocks_ = 1,
      blocks_ = 1;  // outputs of a block, blocks of a row and of all rows
};

inline constexpr i64 most_outputs = 512;  // of a block

}  // namespace quarry::backend::cpu_backend
