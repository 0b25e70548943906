// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/select.hpp>

#include <algorithm>
#include <vector>

#include "backend/cpu/cursor.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 part_elements = i64{32} << 10;  // fewer are not worth a second thread

/// Calls f(n, operands' addresses, position) for the runs along the last axis of [begin, end).
template <class F>
void for_runs(const KernelCall& call, i64 begin, i64 end, const F& f) {
  const Axes axes(call, 0, call.rank());
  const Steps steps = axes.last_steps();
  const i64 columns = axes.last_extent();
  Pointers at(call.operands.size());
  Cursor row(axes.outer(), pointers_of(call), begin / columns);
  for (i64 i = begin; i < end; row.next()) {
    const i64 n = std::min(columns - i % columns, end - i);
    advance(at, row.pointers(), steps, i % columns);
    f(n, at.data(), steps.data(), i);
    i += n;
  }
}

}  // namespace

/// Parts of the elements are counted; then it is known where what is kept of each goes.
void select_now(const KernelCall& call) {
  const auto& loops = *static_cast<const kernels::select_loops*>(call.program->loops);
  const i64 parts = (call.kept + part_elements - 1) / part_elements;
  const auto end_of = [&](i64 part) { return std::min((part + 1) * part_elements, call.kept); };
  std::vector<i64> before(static_cast<std::size_t>(parts) + 1);
  parallel(parts, 1, [&](i64 begin, i64 end) {
    for (i64 part = begin; part < end; ++part) {
      i64& kept = before[static_cast<std::size_t>(part) + 1];
      for_runs(call, part * part_elements, end_of(part),
               [&](i64 n, char* const* at, const i64* steps, i64 i) {
                 kept += loops.count(n, at, steps, scalars_of(call), i);
               });
    }
  });
  for (std::size_t part = 1; part < before.size(); ++part) before[part] += before[part - 1];
  *reinterpret_cast<i64*>(call.operands[0].data) = before.back();
  if (!call.operands[1].data) return;
  parallel(parts, 1, [&](i64 begin, i64 end) {
    for (i64 part = begin; part < end; ++part) {
      i64 rank = before[static_cast<std::size_t>(part)];
      for_runs(call, part * part_elements, end_of(part),
               [&](i64 n, char* const* at, const i64* steps, i64 i) {
                 const i64 kept = loops.count(n, at, steps, scalars_of(call), i);
                 if (kept > 0) loops.store(n, at, steps, scalars_of(call), i, rank, kept);
                 rank += kept;
               });
    }
  });
}

}  // namespace quarry::backend::cpu_backend
