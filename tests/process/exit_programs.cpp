// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <quarry/memory/host_memory.hpp>
#include <quarry/quarry.hpp>

#include "process/child.hpp"

namespace quarry::test {
namespace {

using Array = DeviceNDArray<float>;

constexpr int wrong_values = 3, no_error = 4;

Array ones_of(const Stream& s) { return full<float>({1000}, 1, {.stream = s}); }
bool is_sum(const Array& a, float expected) { return sum(a).item() == expected; }
[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

// --- objects that outlive main
// ----------------------------------------------------------------------

/// Made before the driver is loaded, destroyed after its end: the fake driver ends a program that
/// calls it then.
struct Last {
  std::optional<Stream> stream;
  std::optional<Event> event;
  std::vector<Array> arrays;
  std::vector<float, PinnedAllocator<float>> pinned;
};
__attribute__((init_priority(101))) Last last;

int static_objects_made_before_the_library() {
  last.stream = stream();
  last.event.emplace();
  last.arrays = {Array(Shape{100}), ones_of(*last.stream), Array(Shape{10'000'000})};
  last.pinned.resize(1000);
  last.event->record(*last.stream);
  return 0;
}

int static_arrays() {
  static Array a = ones<float>({1000});
  static const auto managed = managed_array<float>({1000});
  static const auto mapped = mapped_array<float>({1000});
  a += 1.f;
  return is_sum(a, 2000) ? 0 : wrong_values;
}

int static_streams_with_work() {
  static const Stream s = stream(), t = stream({.non_blocking = true});
  static Event e;
  static Array a = ones_of(s);
  for (int i = 0; i < 100; ++i) a += 1.f;
  e.record(s);
  t.wait_event(e);
  static const Array b = a.bind(t) + 1.f;
  return 0;
}

int thread_local_objects() {
  const auto use = [] {
    thread_local const Stream s = stream();
    thread_local Array a = ones_of(s), b = ones_of(per_thread_default_stream());
    a += 1.f;
    b += 1.f;
  };
  use();
  std::thread(use).join();
  return 0;
}

int streams_with_work_at_the_end_of_main() {
  const Stream s = stream();
  Array a = ones_of(s);
  for (int i = 0; i < 100; ++i) a += 1.f;
  return 0;
}

// --- the library at work during the end
// --------------------------------------------------------------

/// Right values; on a GPU, whose driver may have ended, also an error of the library.
void compute_at_the_end() {
  try {
    const Array a = full<float>({1000}, 1);
    if (!is_sum(a + 1.f, 2000)) std::_Exit(wrong_values);
  } catch (const Error&) {
    if (Device().is_cpu()) std::_Exit(wrong_values);
  }
}

int operations_in_static_destructors() {
  struct Worker {
    Array a = ones<float>({1000});
    ~Worker() { compute_at_the_end(); }
  };
  static const Worker worker;
  return 0;
}

int operations_in_atexit() {
  static const Array a = ones<float>({1000});
  std::atexit(compute_at_the_end);
  return is_sum(a, 1000) ? 0 : wrong_values;
}

int first_use_in_atexit() {
  std::atexit(compute_at_the_end);
  return 0;
}

// --- ends from elsewhere
// ----------------------------------------------------------------------------

int exit_on_another_thread() {
  static Array a = ones<float>({1000});
  const Stream s = stream();
  Array b = ones_of(s);
  b += 1.f;
  std::thread([] { std::exit(7); }).join();
  return no_error;
}

int exit_in_a_callback() {
  const Stream s = stream();
  static const Array a = ones_of(s);
  s.add_callback([](const Stream&) { std::exit(7); });
  try {
    s.synchronize();
  } catch (const DeviceLost&) {  // the driver ends before the process does
    sleep_for_ever();
  }
  return no_error;
}

int quick_exit_in_a_callback() {
  const Stream s = stream();
  static const Array a = ones_of(s);
  s.add_callback([](const Stream&) { std::quick_exit(7); });
  s.synchronize();
  return no_error;
}

int interrupt() {
  static Array a = ones<float>({1000});
  const Stream s = stream();
  Array b = ones_of(s);
  b += 1.f;
  kill(getpid(), SIGINT);
  sleep_for_ever();
}

int uncaught_exception() {
  static Array a = ones<float>({1000});
  const Stream s = stream();
  const Array b = ones_of(s) + 1.f;
  throw std::runtime_error("nobody catches this");
}

int uncaught_error_of_the_library() {
  const Stream s = stream();
  const Array b = ones_of(s) + ones<float>({3});  // ShapeError
  return no_error;
}

int detached_thread_at_work() {
  static std::atomic<int> rounds = 0;
  std::thread([] {
    const Stream s = stream();
    Array a = ones_of(s);
    try {
      for (;; ++rounds) {
        a += 1.f;
        s.synchronize();
      }
    } catch (const Error&) {  // a driver that has ended
      sleep_for_ever();
    }
  }).detach();
  while (rounds < 10) std::this_thread::yield();
  return 0;
}

int callback_that_never_returns() {
  static const Stream s = stream();
  static std::atomic<bool> has_begun = false;
  s.add_callback([](const Stream&) {
    has_begun = true;
    sleep_for_ever();
  });
  while (!has_begun) std::this_thread::yield();
  return 0;
}

}  // namespace

std::vector<Program> exit_programs() {
  return {
      {"StaticObjectsMadeBeforeTheLibrary", static_objects_made_before_the_library},
      {"StaticArrays", static_arrays},
      {"StaticStreamsWithWork", static_streams_with_work},
      {"ThreadLocalObjects", thread_local_objects},
      {"StreamsWithWorkAtTheEndOfMain", streams_with_work_at_the_end_of_main},
      {"OperationsInStaticDestructors", operations_in_static_destructors},
      {"OperationsInAtexit", operations_in_atexit},
      {"FirstUseInAtexit", first_use_in_atexit},
      {"ExitOnAnotherThread", exit_on_another_thread, {.code = 7}},
      {"ExitInACallback", exit_in_a_callback, {.code = 7}, true},
      {"QuickExitInACallback", quick_exit_in_a_callback, {.code = 7}, true},
      {"Interrupt", interrupt, {.signal = SIGINT}},
      {"UncaughtException", uncaught_exception, {.signal = SIGABRT}},
      {"UncaughtErrorOfTheLibrary", uncaught_error_of_the_library, {.signal = SIGABRT}},
      {"DetachedThreadAtWork", detached_thread_at_work},
      {"CallbackThatNeverReturns", callback_that_never_returns, {}, true},
  };
}

}  // namespace quarry::test
