// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/threads.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <quarry/base/error.hpp>

#include "base/environment.hpp"
#include "base/float_environment.hpp"

namespace quarry::backend::cpu_backend {
namespace {

/// How many of `wanted` threads can exist at once. TBB's workers start each other, and end the
/// program when one cannot be started.
int startable_threads(int wanted) {
  std::vector<std::thread> threads;
  std::mutex all_started;
  {
    const std::lock_guard lock(all_started);
    try {
      while (std::ssize(threads) < wanted) {
        threads.emplace_back([&] { const std::lock_guard wait(all_started); });
      }
    } catch (const std::exception&) {
    }
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

int usable_threads() {
  int count = oneapi::tbb::info::default_concurrency();
  if (const auto limit = environment::threads()) count = std::min(count, *limit);
  return 1 + startable_threads(count - 1);
}

// A separate arena: a thread that waits in it executes only loops, never a task of the program that
// might call the device again. Never destroyed, since streams may still run while the program ends.
// None if it could not be made: a second attempt would wait for the first one for ever.
oneapi::tbb::task_arena* arena() {
  static auto* const instance = [] {
    try {
      auto made = std::make_unique<oneapi::tbb::task_arena>(thread_count());
      made->initialize();
      return made.release();
    } catch (const std::exception&) {
      return static_cast<oneapi::tbb::task_arena*>(nullptr);
    }
  }();
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

/// Tells ThreadSanitizer, which cannot see TBB's synchronisation, that the parts of a loop happen
/// after the code before it, and before the code after it; not an order of the parts.
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

namespace {

/// A loop and its progress, for the case that TBB itself fails.
struct Loop {
  RangeFunction f;
  const void* state;
  Order order = {};
  std::atomic<bool> has_begun = false, has_failed = false;

  void part(std::int64_t begin, std::int64_t end) {
    if (!has_begun.load(std::memory_order_relaxed)) has_begun = true;
    const FloatEnvironment environment;  // a worker's own could be that of any thread
    order.begin_part();
    try {
      f(state, begin, end);
    } catch (...) {
      has_failed = true;
      throw;
    }
    order.end_part();
  }
};

/// False, with nothing done, if TBB cannot start the threads that it needs.
bool run_on_threads(Loop& loop, std::int64_t n, std::int64_t grain) {
  using Range = oneapi::tbb::blocked_range<std::int64_t>;
  if (!arena()) return false;
  try {
    arena()->execute([&] {
      oneapi::tbb::parallel_for(Range(0, n, static_cast<std::size_t>(grain)),
                                [&](const Range& r) { loop.part(r.begin(), r.end()); });
    });
  } catch (const std::exception& e) {
    if (loop.has_failed) throw;
    if (!loop.has_begun) return false;
    throw RuntimeError(
        fmt::format("the threads of the CPU device could not be started: {}", e.what()));
  }
  return true;
}

}  // namespace

void run_ranges(std::int64_t n, std::int64_t grain, RangeFunction f, const void* state) {
  Loop loop{f, state};
  loop.order.begin();
  if (!run_on_threads(loop, n, grain)) loop.part(0, n);
  loop.order.end();
}

}  // namespace quarry::backend::cpu_backend
