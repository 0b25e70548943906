// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/context_stack.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include <quarry/runtime/device.hpp>

#include "backend/contexts.hpp"
#include "runtime/current_device.hpp"

namespace quarry::runtime {
namespace {

struct Pushed {
  backend::Device* device;
  std::shared_ptr<const void> handle;
  CurrentDevice* current = nullptr;
  void* context = nullptr;  ///< of the driver; nullptr of the CPU device
  Pushed* below = nullptr;

  /// Throws LogicError if the driver has another one on top.
  void pop_from_driver() const {
    if (context) device->contexts().pop(context);
  }
};

// Destructors of static objects, which run after those of the thread, may use them.
thread_local constinit Pushed* top = nullptr;
thread_local constinit std::size_t depth = 0;
thread_local constinit bool has_ended = false;

/// At the end of a thread its guards may have been ended before, and the driver forgets its stack.
struct AtThreadEnd {
  ~AtThreadEnd() {
    while (const Pushed* const pushed = std::exchange(top, top ? top->below : nullptr)) {
      pushed->current->has_ended.store(true, std::memory_order_release);
      CurrentDevice::drop(pushed->current);
      delete pushed;
    }
    depth = 0;
    has_ended = true;
  }
};

/// Ends the current device of the top entry.
void remove_top() noexcept {
  const std::unique_ptr<Pushed> ended(std::exchange(top, top->below));
  --depth;
  end_current_device(ended->current);
}

std::string name_of(backend::Device& device) { return to_string(Device(device)); }

void require_on_top(backend::Device* device) {
  require<LogicError>(top, [&] {
    return fmt::format("the context{} cannot be popped: this thread has pushed none",
                       device ? " of " + name_of(*device) : std::string());
  });
  require<LogicError>(!device || top->device == device, [&] {
    return fmt::format("the context of {} cannot be popped: that of {} was pushed after it",
                       name_of(*device), name_of(*top->device));
  });
  require<LogicError>(is_innermost(top->current), [&] {
    return fmt::format(
        "the context of {} cannot be popped: a DeviceGuard that was made after the push is alive",
        name_of(*top->device));
  });
}

}  // namespace

void push_context(backend::Device& device, std::shared_ptr<const void> handle) {
  thread_local const AtThreadEnd cleanup;
  auto pushed = std::make_unique<Pushed>(Pushed{&device, std::move(handle)});
  pushed->current = push_current_device(device);
  try {
    if (!device.info().is_cpu) pushed->context = device.contexts().push();
  } catch (...) {
    end_current_device(pushed->current);
    throw;
  }
  pushed->below = top;
  top = pushed.release();
  ++depth;
}

backend::Device& pop_context(backend::Device* device) {
  if (!top && has_ended && device) return *device;
  require_on_top(device);
  backend::Device& popped = *top->device;
  top->pop_from_driver();
  remove_top();
  return popped;
}

const void* pushed_handle() { return top ? top->handle.get() : nullptr; }
std::size_t pushed_contexts() { return depth; }

void drop_contexts(std::size_t kept) noexcept {
  while (depth > kept) {
    try {
      top->pop_from_driver();
    } catch (const Error&) {  // what other code has made current stays so
    }
    remove_top();
  }
}

}  // namespace quarry::runtime
