// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/bincount.hpp>

#include <algorithm>
#include <memory>
#include <new>

#include "backend/cpu/cursor.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 task_elements = i64{32} << 10;  // fewer are not worth a second thread

i64 bins_of(const KernelCall& call) {
  return static_cast<i64>(call.scalars[call.program->scalars - 1].word[0]);
}

/// Adds the elements [begin, end) to `counts`.
void count(const KernelCall& call, i64* counts, i64 begin, i64 end) {
  const Steps steps = Axes(call, call.kept_rank, call.reduced_rank()).last_steps();
  Pointers at(call.operands.size());
  advance(at, pointers_of(call), steps, begin);
  static_cast<const kernels::bincount_loops*>(call.program->loops)
      ->run(counts, end - begin, at.data() + 1, steps.data() + 1, scalars_of(call), begin);
}

/// A thread that counts in a table of its own clears it and adds it to the output: as many as that
/// is worth it.
i64 table_count(const KernelCall& call) {
  const i64 least = std::max(task_elements, 4 * bins_of(call));
  return std::clamp<i64>(call.reduced / least, 1, thread_count());
}

}  // namespace

void bincount_now(const KernelCall& call) {
  auto* const counts = reinterpret_cast<i64*>(call.operands[0].data);
  const i64 n = call.reduced, bins = bins_of(call), tables = table_count(call);
  const auto size = static_cast<std::size_t>((tables - 1) * bins);
  const std::unique_ptr<i64[]> others(size > 0 ? new (std::nothrow) i64[size]() : nullptr);
  if (!others) return count(call, counts, 0, n);
  const auto table = [&](i64 t) { return t == 0 ? counts : others.get() + (t - 1) * bins; };
  parallel(tables, 1, [&](i64 begin, i64 end) {
    for (i64 t = begin; t < end; ++t) {
      count(call, table(t), n / tables * t, t + 1 == tables ? n : n / tables * (t + 1));
    }
  });
  parallel(bins, task_elements, [&](i64 begin, i64 end) {
    for (i64 t = 1; t < tables; ++t) {
      for (i64 bin = begin; bin < end; ++bin) counts[bin] += table(t)[bin];
    }
  });
}

}  // namespace quarry::backend::cpu_backend
