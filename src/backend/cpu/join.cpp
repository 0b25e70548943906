// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/join.hpp>

#include <algorithm>

#include "backend/cpu/loops.hpp"
#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {

void join_now(const KernelCall& call) {
  constexpr std::int64_t task_words = std::int64_t{32} << 10;  // fewer are not worth a thread
  const kernels::join_parts& join = *call.joined;
  const auto& loops = *static_cast<const kernels::join_loops*>(call.program->loops);
  auto* const to = reinterpret_cast<char*>(call.operands[0].data);
  const std::int64_t rows = call.kept / join.columns.extent;
  parallel(rows, std::max<std::int64_t>(task_words / join.columns.extent, 1),
           [&](std::int64_t begin, std::int64_t end) { loops.run(to, join, begin, end); });
}

}  // namespace quarry::backend::cpu_backend
