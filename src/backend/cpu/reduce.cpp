// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/kernels/reduce.hpp>

#include <algorithm>
#include <cassert>
#include <new>
#include <vector>

#include "backend/cpu/cursor.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/runs.hpp"
#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 task_elements = i64{32} << 10;  // a task folds about as many
constexpr i64 run_chunk = i64{16} << 10, column_chunk = 512, most_chunks = 4096;
constexpr i64 most_outputs = 512;  // accumulators side by side in a task
constexpr std::size_t stack_bytes = 16 << 10;

/// Neighbouring outputs along the last kept axis.
struct OutputBlock {
  i64 first, count;  // positions among the kept elements
  Pointers at;       // every operand at the first output
};

class Reduction {
 public:
  explicit Reduction(const KernelCall& call);
  void run();

 private:
  OutputBlock block(i64 index) const;
  void fold(const OutputBlock& to, i64 chunk, std::byte* accumulators) const;
  void fold_along(const OutputBlock& to, i64 begin, i64 end, std::byte* accumulators) const;
  void fold_columns(const OutputBlock& to, i64 begin, i64 end, std::byte* accumulators) const;
  template <class F>
  void for_runs(const Pointers& base, i64 begin, i64 end, const F& f) const;
  void finish(const OutputBlock& to, const std::byte* accumulators) const;
  void run_whole() const;
  void run_in_chunks() const;
  i64 grain() const {
    return std::max<i64>(1, task_elements / (outputs_ * std::min(chunk_, call_.reduced)));
  }

  const KernelCall& call_;
  const kernels::reduce_loops& loops_;
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

// Columns want a long last kept axis, runs a long last reduced one.
bool along_reduced(const KernelCall& call, i64 kept_run, i64 reduced_run) {
  if (kept_run == 1) return true;
  if (call.along_reduced) return call.reduced > 16 || kept_run < 64;
  return kept_run < 8 && reduced_run > kept_run;
}

Reduction::Reduction(const KernelCall& call)
    : call_(call),
      loops_(*static_cast<const kernels::reduce_loops*>(call.program->loops)),
      pointers_(pointers_of(call)),
      scalars_(scalars_of(call)),
      kept_(call, 0, call.kept_rank),
      reduced_(call, call.kept_rank, call.reduced_rank()),
      kept_step_(kept_.last_steps()),
      reduced_step_(reduced_.last_steps()),
      acc_size_(loops_.fold->accumulator_size) {
  assert(acc_size_ <= stack_bytes);
  const i64 row = kept_.last_extent();
  along_ = loops_.have_positions || along_reduced(call, row, reduced_.last_extent());
  chunk_ =
      std::max(along_ ? run_chunk : column_chunk, (call.reduced + most_chunks - 1) / most_chunks);
  chunks_ = (call.reduced + chunk_ - 1) / chunk_;
  const i64 fit = static_cast<i64>(stack_bytes / acc_size_);
  const i64 wanted = along_ ? std::max<i64>(1, task_elements / call.reduced) : most_outputs;
  outputs_ = std::min({most_outputs, fit, wanted, row});
  row_blocks_ = (row + outputs_ - 1) / outputs_;
  blocks_ = call.kept / row * row_blocks_;
}

void Reduction::run() {
  if (chunks_ == 1)
    run_whole();
  else
    run_in_chunks();
}

void Reduction::run_whole() const {
  parallel(blocks_, grain(), [&](i64 begin, i64 end) {
    alignas(64) std::byte accumulators[stack_bytes];
    for (i64 b = begin; b < end; ++b) {
      const OutputBlock to = block(b);
      fold(to, 0, accumulators);
      finish(to, accumulators);
    }
  });
}

void Reduction::run_in_chunks() const {
  const auto row_size = static_cast<std::size_t>(call_.kept) * acc_size_;
  std::vector<std::byte> partial(row_size * static_cast<std::size_t>(chunks_));
  const auto at = [&](i64 chunk, const OutputBlock& b) {
    return partial.data() + static_cast<std::size_t>(chunk) * row_size +
           static_cast<std::size_t>(b.first) * acc_size_;
  };
  parallel(blocks_ * chunks_, grain(), [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      const OutputBlock to = block(i / chunks_);
      fold(to, i % chunks_, at(i % chunks_, to));
    }
  });
  parallel(blocks_, std::max<i64>(1, task_elements / (outputs_ * chunks_)),
           [&](i64 begin, i64 end) {
             for (i64 b = begin; b < end; ++b) {
               const OutputBlock to = block(b);
               for (i64 width = 1; width < chunks_; width *= 2) {
                 for (i64 c = 0; c + width < chunks_; c += 2 * width) {
                   loops_.fold->merge(at(c, to), at(c + width, to), to.count);
                 }
               }
               finish(to, at(0, to));
             }
           });
}

OutputBlock Reduction::block(i64 index) const {
  const i64 row = index / row_blocks_, column = index % row_blocks_ * outputs_;
  const i64 columns = kept_.last_extent();
  const Cursor cursor(kept_.outer(), pointers_, row);
  OutputBlock b{row * columns + column, std::min(outputs_, columns - column), cursor.pointers()};
  advance(b.at, b.at, kept_step_, column);
  return b;
}

void Reduction::fold(const OutputBlock& to, i64 chunk, std::byte* accumulators) const {
  const i64 begin = chunk * chunk_, end = std::min(begin + chunk_, call_.reduced);
  loops_.fold->begin(accumulators, to.count);
  if (along_)
    fold_along(to, begin, end, accumulators);
  else
    fold_columns(to, begin, end, accumulators);
}

// Calls f(n, pointers, first) on the runs along the last axis that make up the reduced elements
// [begin, end).
template <class F>
void Reduction::for_runs(const Pointers& base, i64 begin, i64 end, const F& f) const {
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

void Reduction::fold_along(const OutputBlock& to, i64 begin, i64 end,
                           std::byte* accumulators) const {
  Pointers base(pointers_.size());
  for (i64 j = 0; j < to.count; ++j) {
    advance(base, to.at, kept_step_, j);
    std::byte* const accumulator = accumulators + static_cast<std::size_t>(j) * acc_size_;
    for_runs(base, begin, end, [&](i64 n, Pointers& at, i64 first) {
      fold_run(loops_, accumulator, n, at.data() + 1, reduced_step_.data() + 1, scalars_, first);
    });
  }
}

void Reduction::fold_columns(const OutputBlock& to, i64 begin, i64 end,
                             std::byte* accumulators) const {
  for_runs(to.at, begin, end, [&](i64 n, Pointers& at, i64 first) {
    for (i64 i = 0; i < n; ++i) {
      fold_column(loops_, accumulators, to.count, at.data() + 1, kept_step_.data() + 1, scalars_,
                  first + i);
      advance(at, at, reduced_step_, 1);
    }
  });
}

void Reduction::finish(const OutputBlock& to, const std::byte* accumulators) const {
  loops_.finish(to.at[0], kept_step_[0], accumulators, to.count, call_.reduced, scalars_);
}

}  // namespace

void reduce_now(const KernelCall& call) {
  try {
    Reduction(call).run();
  } catch (const std::bad_alloc&) {
    throw MemoryError("no host memory for the accumulators of a reduction");
  }
}

}  // namespace quarry::backend::cpu_backend
