// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/threads.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/float_environment.hpp"

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

#if defined(__SANITIZE_THREAD__)
constexpr bool is_watched = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool is_watched = true;
#else
constexpr bool is_watched = false;
#endif
#else
constexpr bool is_watched = false;
#endif

/// Tells ThreadSanitizer, which does not see into TBB, that the parts of a loop come after what was
/// before it, and before what follows. Between the parts it says nothing.
class Order {
 public:
  void begin() { mark(begun_); }
  void begin_part() const { see(begun_); }
  void end_part() { mark(ended_); }
  void end() const { see(ended_); }

 private:
  static void mark(std::atomic<int>& moment) {
    if constexpr (is_watched) moment.fetch_add(1, std::memory_order_release);
  }
  static void see(const std::atomic<int>& moment) {
    if constexpr (is_watched) static_cast<void>(moment.load(std::memory_order_acquire));
  }
  std::atomic<int> begun_ = 0, ended_ = 0;
};

}  // namespace

int thread_count() {
  static const int count = usable_threads();
  return count;
}

void run_ranges(std::int64_t n, std::int64_t grain, RangeFunction f, const void* state) {
  using Range = oneapi::tbb::blocked_range<std::int64_t>;
  Order order;
  order.begin();
  arena().execute([&] {
    oneapi::tbb::parallel_for(Range(0, n, static_cast<std::size_t>(grain)), [&](const Range& r) {
      const FloatEnvironment environment;  // that of the worker is any thread's of the program
      order.begin_part();
      f(state, r.begin(), r.end());
      order.end_part();
    });
  });
  order.end();
}

}  // namespace quarry::backend::cpu_backend
