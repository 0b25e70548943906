// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

/// The threads that the CPU device's loops share.
namespace quarry::backend::cpu_backend {

/// How many threads loops run on: the processors that this process may use, at most
/// QUARRY_NUM_THREADS, and 1 where no thread can be started.
int thread_count();

using RangeFunction = void (*)(const void* state, std::int64_t begin, std::int64_t end);
void run_ranges(std::int64_t n, std::int64_t grain, RangeFunction f, const void* state);

/// Calls f(begin, end) on disjoint ranges that make up [0, n), on several threads when n > grain.
/// Returns when all are done, and throws what one of them threw. If threads cannot be started it
/// runs on the calling thread, or throws RuntimeError if a part has run already.
template <class F>
void parallel(std::int64_t n, std::int64_t grain, const F& f) {
  if (n <= grain || thread_count() == 1) return f(std::int64_t{0}, n);
  const auto call = [](const void* state, std::int64_t begin, std::int64_t end) {
    (*static_cast<const F*>(state))(begin, end);
  };
  run_ranges(n, grain, call, &f);
}

}  // namespace quarry::backend::cpu_backend
