// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/threads.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace quarry::backend::cpu_backend {
namespace {

bool can_start_threads() {
  try {
    std::thread([] {}).join();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

int usable_threads() {
  int count = oneapi::tbb::info::default_concurrency();
  if (const char* text = std::getenv("QUARRY_NUM_THREADS")) {
    const long limit = std::strtol(text, nullptr, 10);
    if (limit >= 1) count = static_cast<int>(std::min<long>(count, limit));
  }
  return count > 1 && can_start_threads() ? count : 1;
}

// An arena of our own: a thread that waits in it picks up only loops, never a task of the program
// that might call the device again. It is never destroyed, since streams may still work while the
// program ends.
oneapi::tbb::task_arena& arena() {
  static auto& instance = *new oneapi::tbb::task_arena(thread_count());
  return instance;
}

}  // namespace

int thread_count() {
  static const int count = usable_threads();
  return count;
}

void run_ranges(std::int64_t n, std::int64_t grain, RangeFunction f, const void* state) {
  using Range = oneapi::tbb::blocked_range<std::int64_t>;
  arena().execute([&] {
    oneapi::tbb::parallel_for(Range(0, n, static_cast<std::size_t>(grain)),
                              [&](const Range& r) { f(state, r.begin(), r.end()); });
  });
}

}  // namespace quarry::backend::cpu_backend
