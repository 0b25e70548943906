// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/reduction.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "backend/cpu/runs.hpp"
#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 task_elements = i64{32} << 10;  // a task folds about as many
constexpr i64 run_chunk = i64{16} << 10, column_chunk = 512, most_chunks = 4096;
constexpr i64 run_bytes = i64{64} << 10;  // of values at least: fewer take less than their call
constexpr std::size_t stack_bytes = 16 << 10;
constexpr i64 cached_elements = i64{1} << 20;  // of all tasks that run at one time

constexpr i64 least_row = 4, least_run = 17;  // shorter rows are folded as columns

// Columns want a long last kept axis, runs a long last reduced one; `least` elements are worth one.
bool along_reduced(const KernelCall& call, i64 kept_run, i64 reduced_run, i64 least) {
  if (kept_run == 1) return true;
  if (call.along_reduced) return call.reduced >= least || kept_run < 64;
  return kept_run < 8 && reduced_run > kept_run;
}

}  // namespace

Reduction::Reduction(const KernelCall& call, const kernels::value_loops& loops)
    : call_(call),
      loops_(loops),
      pointers_(pointers_of(call)),
      scalars_(scalars_of(call)),
      kept_(call, 0, call.kept_rank),
      reduced_(call, call.kept_rank, call.reduced_rank()),
      kept_step_(kept_.last_steps()),
      reduced_step_(reduced_.last_steps()),
      acc_size_(loops_.fold->accumulator_size) {
  assert(acc_size_ <= stack_bytes);
  const i64 row = kept_.last_extent();
  const bool are_together = fold_together(loops_, reduced_.last_extent(), reduced_step_.data() + 1,
                                          kept_step_.data() + 1);
  along_ = loops_.have_positions ||
           along_reduced(call, row, reduced_.last_extent(), are_together ? least_row : least_run);
  const i64 run = std::max(run_chunk, run_bytes / static_cast<i64>(loops_.fold->value_size));
  chunk_ = std::max(along_ ? run : column_chunk, (call.reduced + most_chunks - 1) / most_chunks);
  chunks_ = (call.reduced + chunk_ - 1) / chunk_;
  const i64 fit = static_cast<i64>(stack_bytes / acc_size_);
  const i64 wanted = along_ ? std::max<i64>(1, task_elements / call.reduced) : most_outputs;
  outputs_ = std::min({most_outputs, fit, wanted, row});
  row_blocks_ = (row + outputs_ - 1) / outputs_;
  blocks_ = call.kept / row * row_blocks_;
}

i64 Reduction::grain() const {
  return std::max<i64>(1, task_elements / (outputs_ * std::min(chunk_, call_.reduced)));
}

void Reduction::run(bool used) const {
  if (chunks_ == 1) return run_whole();
  const i64 wave = used ? std::max<i64>(1, cached_elements / (outputs_ * call_.reduced)) : blocks_;
  for (i64 first = 0; first < blocks_; first += wave) {
    run_in_chunks(first, std::min(first + wave, blocks_), used);
  }
}

void Reduction::run_whole() const {
  parallel(blocks_, grain(), [&](i64 begin, i64 end) {
    alignas(64) std::byte accumulators[stack_bytes];
    for (i64 b = begin; b < end; ++b) {
      const OutputBlock to = block(b);
      fold(to, 0, accumulators);
      finish(to, 0, call_.reduced, accumulators);
    }
  });
}

// The accumulators of a block are side by side, chunk by chunk.
void Reduction::run_in_chunks(i64 first, i64 last, bool used) const {
  const std::size_t chunk_size = static_cast<std::size_t>(outputs_) * acc_size_;
  const std::size_t block_size = chunk_size * static_cast<std::size_t>(chunks_);
  std::vector<std::byte> partial(block_size * static_cast<std::size_t>(last - first));
  const auto at = [&](i64 b, i64 chunk) {
    return partial.data() + static_cast<std::size_t>(b - first) * block_size +
           static_cast<std::size_t>(chunk) * chunk_size;
  };
  const auto each_chunk = [&](const auto& f) {
    parallel((last - first) * chunks_, grain(), [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end;) {
        const i64 b = first + i / chunks_, of_block = (b - first) * chunks_;
        const OutputBlock to = block(b);
        for (const i64 stop = std::min(end, of_block + chunks_); i < stop; ++i) {
          f(to, i - of_block, at(b, i - of_block));
        }
      }
    });
  };
  each_chunk([&](const OutputBlock& to, i64 chunk, std::byte* total) { fold(to, chunk, total); });
  parallel(last - first, std::max<i64>(1, task_elements / (outputs_ * chunks_)),
           [&](i64 begin, i64 end) {
             for (i64 b = first + begin; b < first + end; ++b) {
               const OutputBlock to = block(b);
               merge(to, at(b, 0), chunk_size);
               if (!used) finish(to, 0, call_.reduced, at(b, 0));
             }
           });
  if (!used) return;
  each_chunk([&](const OutputBlock& to, i64 chunk, const std::byte* total) {
    finish(to, chunk * chunk_, std::min((chunk + 1) * chunk_, call_.reduced),
           total - static_cast<std::size_t>(chunk) * chunk_size);
  });
}

void Reduction::merge(const OutputBlock& to, std::byte* partial, std::size_t chunk_size) const {
  const auto at = [&](i64 chunk) { return partial + static_cast<std::size_t>(chunk) * chunk_size; };
  for (i64 width = 1; width < chunks_; width *= 2) {
    for (i64 c = 0; c + width < chunks_; c += 2 * width) {
      loops_.fold->merge(at(c), at(c + width), to.count);
    }
  }
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

Pointers Reduction::row_of(const OutputBlock& to, i64 j) const {
  Pointers at(pointers_.size());
  advance(at, to.at, kept_step_, j);
  return at;
}

// Rows that are one run each are folded together.
void Reduction::fold_along(const OutputBlock& to, i64 begin, i64 end,
                           std::byte* accumulators) const {
  const i64 together = reduced_.last_extent() == call_.reduced ? to.count : 1;
  for (i64 j = 0; j < to.count; j += together) {
    std::byte* const accumulator = accumulators + static_cast<std::size_t>(j) * acc_size_;
    for_runs(row_of(to, j), begin, end, [&](i64 n, Pointers& at, i64 first) {
      fold_rows(loops_, accumulator, together, n, at.data() + 1, reduced_step_.data() + 1,
                kept_step_.data() + 1, scalars_, first);
    });
  }
}

void Reduction::fold_columns(const OutputBlock& to, i64 begin, i64 end,
                             std::byte* accumulators) const {
  for_runs(to.at, begin, end, [&](i64 n, Pointers& at, i64 first) {
    cpu_backend::fold_columns(loops_, accumulators, to.count, n, at.data() + 1,
                              kept_step_.data() + 1, reduced_step_.data() + 1, scalars_, first);
  });
}

}  // namespace quarry::backend::cpu_backend
