// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/kernels/rows.hpp>

#include <new>

#include "backend/cpu/loops.hpp"
#include "backend/cpu/reduction.hpp"
#include "backend/cpu/runs.hpp"

namespace quarry::backend::cpu_backend {
namespace {

const kernels::rows_loops& loops_of(const KernelCall& call) {
  return *static_cast<const kernels::rows_loops*>(call.program->loops);
}

/// A block of rows is folded, then its elements are computed.
class Rows final : public Reduction {
 public:
  explicit Rows(const KernelCall& call) : Reduction(call, loops_of(call)) {}

 private:
  static constexpr std::size_t most_bytes = 16;  // of a total's parts
  using Totals = char[2][most_outputs * most_bytes];

  void finish(const OutputBlock& to, i64 begin, i64 end,
              const std::byte* accumulators) const override {
    alignas(64) Totals totals;
    loops_of(call()).totals(totals[0], totals[1], accumulators, to.count, call().reduced,
                            scalars());
    if (is_along())
      apply_along(to, begin, end, totals);
    else
      apply_columns(to, begin, end, totals);
  }

  /// n elements from `at` on, `step` apart; the totals that belong to them are there too.
  void apply(i64 n, const Pointers& at, const Steps& step, const Pointers& totals,
             const Steps& totals_step, i64 first) const {
    const std::size_t operands = at.size();
    Pointers all(operands + 2);
    Steps steps(operands + 2);
    for (std::size_t k = 0; k < operands; ++k) all[k] = at[k], steps[k] = step[k];
    for (std::size_t k = 0; k < 2; ++k) {
      all[operands + k] = totals[k], steps[operands + k] = totals_step[k];
    }
    map_run(*loops_of(call()).elements, n, all.data(), steps.data(), scalars(), first);
  }

  void apply_along(const OutputBlock& to, i64 begin, i64 end, Totals& totals) const {
    const Steps sizes = sizes_of_totals();
    Steps none(2);
    none[0] = none[1] = 0;
    for (i64 j = 0; j < to.count; ++j) {
      const Pointers of_row = totals_at(totals, sizes, j);
      for_runs(row_of(to, j), begin, end, [&](i64 n, const Pointers& at, i64 first) {
        apply(n, at, reduced_step(), of_row, none, first);
      });
    }
  }
  void apply_columns(const OutputBlock& to, i64 begin, i64 end, Totals& totals) const {
    const Steps sizes = sizes_of_totals();
    const Pointers of_rows = totals_at(totals, sizes, 0);
    for_runs(to.at, begin, end, [&](i64 n, Pointers& at, i64 first) {
      for (i64 i = 0; i < n; ++i) {
        apply(to.count, at, kept_step(), of_rows, sizes, first + i);
        advance(at, at, reduced_step(), 1);
      }
    });
  }

  Steps sizes_of_totals() const {
    Steps sizes(2);
    sizes[0] = loops_of(call()).first_size;
    sizes[1] = loops_of(call()).second_size;
    return sizes;
  }
  static Pointers totals_at(Totals& totals, const Steps& sizes, i64 j) {
    Pointers at(2);
    for (std::size_t k = 0; k < 2; ++k) at[k] = totals[k] + j * sizes[k];
    return at;
  }
};

}  // namespace

void rows_now(const KernelCall& call) {
  try {
    Rows(call).run(true);
  } catch (const std::bad_alloc&) {
    throw MemoryError("no host memory for the totals of rows");
  }
}

}  // namespace quarry::backend::cpu_backend
