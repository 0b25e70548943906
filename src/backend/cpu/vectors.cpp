// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/vectors.hpp"

#include <algorithm>
#include <atomic>

namespace quarry::backend::cpu_backend {
namespace {

Vectors longest() {
#ifdef __x86_64__
  __builtin_cpu_init();
  const bool has_256 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!has_256) return Vectors::bytes_16;
  const bool has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return has_512 ? Vectors::bytes_64 : Vectors::bytes_32;
#else
  return Vectors::bytes_32;  // one copy, for the processor that the compiler was told
#endif
}

std::atomic<Vectors> limit = longest();

}  // namespace

Vectors vectors() { return limit.load(std::memory_order_relaxed); }
void limit_vectors(Vectors most) { limit = std::min(most, longest()); }

}  // namespace quarry::backend::cpu_backend
