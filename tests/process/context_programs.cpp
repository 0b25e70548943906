// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <quarry/quarry.hpp>

#include "process/child.hpp"

/// Programs that end with contexts on the stacks of their threads, and objects made under them.
namespace quarry::test {
namespace {

constexpr int wrong_values = 3, no_error = 4;

bool is_sum(const DeviceNDArray<float>& a, float expected) { return sum(a).item() == expected; }

/// Destroyed after the driver's end, and after what belongs to the thread.
struct PoppedLast {
  std::optional<Context> context;
  std::optional<DeviceNDArray<float>> array;
  ~PoppedLast() {
    if (!context) return;
    context->pop();
    array.reset();
  }
};
__attribute__((init_priority(101))) PoppedLast last;

int popped_after_the_end_of_the_driver() {
  last.context = get_current_device().make_context();
  last.array = ones<float>({1000});
  return is_sum(*last.array, 1000) ? 0 : wrong_values;
}

int static_contexts_on_the_stack() {
  static const Context context = get_current_device().make_context();
  static const DeviceNDArray<float> a = ones<float>({1000});
  static const Context cpu = Device::cpu().make_context();
  static const DeviceNDArray<float> b = ones<float>({1000});
  return is_sum(a, 1000) && is_sum(b, 1000) ? 0 : wrong_values;
}

int popped_in_a_static_destructor() {
  struct Popper {
    Context context = get_current_device().make_context();
    ~Popper() {
      context.pop();
      context.push();
      context.detach();
    }
  };
  static const Popper popper;
  static const DeviceNDArray<float> a = ones<float>({1000});
  return is_sum(a, 1000) ? 0 : wrong_values;
}

int contexts_of_another_thread_at_work() {
  static std::atomic<int> rounds = 0;
  std::thread([] {
    const Context context = get_current_device().make_context();
    try {
      for (;; ++rounds) {
        context.push();
        const auto a = ones<float>({100});
        context.pop();
      }
    } catch (const Error&) {  // a driver that has ended
      for (;;) pause();
    }
  }).detach();
  while (rounds < 10) std::this_thread::yield();
  return 0;
}

int popped_on_another_thread() {
  static Context context = get_current_device().make_context();
  static auto a = std::make_unique<DeviceNDArray<float>>(ones<float>({1000}));
  bool is_refused = false;
  std::thread([&] {
    try {
      context.pop();
    } catch (const LogicError&) {
      is_refused = true;
    }
    if (!is_sum(*a, 1000)) is_refused = false;
    a.reset();
    context.push();  // and this thread ends with it
  }).join();
  return is_refused ? 0 : no_error;
}

int detached_on_another_thread() {
  static Context context = get_current_device().make_context();
  static const DeviceNDArray<float> a = ones<float>({1000});
  std::thread([] { context.detach(); }).join();
  if (!is_sum(a, 1000)) return wrong_values;
  context.pop();
  return is_sum(a, 1000) ? 0 : wrong_values;
}

int autoinit_to_the_end() {
  static const DeviceNDArray<float> a(autoinit().context == current_context() ? ones<float>({1000})
                                                                              : zeros<float>({1}));
  return is_sum(a, 1000) ? 0 : wrong_values;
}

int close_with_and_without_arrays() {
  Context(get_current_device()).push();
  if (!is_sum(ones<float>({1000}), 1000)) return wrong_values;
  close();
  static const DeviceNDArray<float> a = ones<float>({1000});
  close();
  return is_sum(a, 1000) ? 0 : wrong_values;
}

int reset_under_a_pushed_context() {
  const Device device;
  const Context context = device.make_context();
  if (!is_sum(ones<float>({1000}), 1000)) return wrong_values;
  device.reset();
  if (!is_sum(ones<float>({1000}), 1000)) return wrong_values;
  context.pop();
  device.reset();
  return is_sum(ones<float>({1000}), 1000) ? 0 : wrong_values;
}

}  // namespace

std::vector<Program> context_programs() {
  return {{"PoppedAfterTheEndOfTheDriver", popped_after_the_end_of_the_driver},
          {"StaticContextsOnTheStack", static_contexts_on_the_stack},
          {"PoppedInAStaticDestructor", popped_in_a_static_destructor},
          {"ContextsOfAnotherThreadAtWork", contexts_of_another_thread_at_work},
          {"PoppedOnAnotherThread", popped_on_another_thread},
          {"DetachedOnAnotherThread", detached_on_another_thread},
          {"AutoinitToTheEnd", autoinit_to_the_end},
          {"CloseWithAndWithoutArrays", close_with_and_without_arrays},
          {"ResetUnderAPushedContext", reset_under_a_pushed_context}};
}

}  // namespace quarry::test
