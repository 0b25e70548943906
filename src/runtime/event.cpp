// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/event.hpp>

#include "base/forked.hpp"
#include "runtime/callback.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {

struct Event::State {
  State(backend::Device& on, backend::EventKind kind, bool blocking)
      : State(on, on.create_event(kind, blocking), kind == backend::EventKind::interprocess) {}
  State(backend::Device& on, backend::Event handle, bool interprocess)
      : device(&on), native(handle), is_shared(interprocess) {}
  /// Of another library: `end` destroys it, if anything.
  State(backend::Device& on, backend::Event handle, detail::Callable<void()> end)
      : device(&on), native(handle), is_external(true), finalizer(std::move(end)) {}
  ~State() {
    if (!native || is_forked() || (is_external && !finalizer)) return;
    if (detail::is_in_callback()) {
      detail::call_later([this] {
        return [on = device, event = native, end = finalizer] { destroy(*on, event, end); };
      });
    } else {
      destroy(*device, native, finalizer);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static void destroy(backend::Device& on, backend::Event event,
                      const detail::Callable<void()>& end) {
    end ? end() : on.destroy_event(event);
  }

  backend::Device* device;
  backend::Event native;
  bool is_shared = false;    ///< other processes can open it
  bool is_external = false;  ///< another library made it
  detail::Callable<void()> finalizer = {};
};

namespace {

void require_same_device(const Event& event, const Device& other) {
  require<LogicError>(event.device() == other, [&] {
    return "an event of " + to_string(event.device()) + " used on " + to_string(other);
  });
}

void require_gpu(const Device& device) {
  require<LogicError>(!device.is_cpu(),
                      "events of the CPU device cannot be shared between processes");
}

}  // namespace

void Event::throw_moved_from() { throw LogicError("the event was moved from"); }

Event::Event(const EventOptions& options) {
  require<LogicError>(!(options.interprocess && options.timing),
                      "Event: an interprocess event needs timing = false");
  backend::Device& device = options.device.value_or(Device()).backend();
  const auto kind = options.interprocess ? backend::EventKind::interprocess
                    : options.timing     ? backend::EventKind::timed
                                         : backend::EventKind::untimed;
  state_ = std::make_shared<State>(device, kind, options.blocking);
}

Device Event::device() const { return Device(*state().device); }
bool Event::is_external() const { return state().is_external; }
std::uintptr_t Event::handle() const { return reinterpret_cast<std::uintptr_t>(state().native); }

const Event& Event::record(const Stream& stream) const {
  require_same_device(*this, stream.device());
  state().device->record(state().native, stream.state().native);
  return *this;
}
const Event& Event::record() const {
  const Stream* const guarded = detail::guarded_stream(device());
  return record(guarded ? *guarded : default_stream(device()));
}

bool Event::query() const {
  const detail::DropFinishedCallbacks after;
  return state().device->query(state().native);
}
const Event& Event::synchronize() const {
  const detail::DropFinishedCallbacks after;
  state().device->wait(state().native);
  return *this;
}

void Event::wait(const Stream& stream) const {
  if (stream.device() == device()) {
    state().device->wait(stream.state().native, state().native);
  } else if (stream.device().is_cpu() || device().is_cpu()) {
    synchronize();  // streams of different backends: the host waits for it
  } else {
    stream.state().device->wait(stream.state().native, state().native);
  }
}
void Event::wait() const {
  const Stream* const guarded = detail::guarded_stream(device());
  wait(guarded ? *guarded : default_stream(device()));
}

IpcBytes Event::ipc_handle() const {
  require_gpu(device());
  require<LogicError>(state().is_shared,
                      "Event::ipc_handle: make the event with interprocess = true, timing = false");
  return state().device->export_event(state().native);
}

Event Event::from_ipc_handle(const IpcBytes& handle, const Device& device) {
  require_gpu(device);
  backend::Device& on = device.backend();
  try {
    auto state = std::make_shared<State>(on, nullptr, true);
    state->native = on.import_event(handle);
    return Event(std::move(state));
  } catch (const LogicError& e) {
    throw LogicError(
        std::string("Event::from_ipc_handle: no event of another process can be opened with these "
                    "bytes (in the process that exported it the event itself is used): ") +
        e.what());
  }
}

Event external_event(std::uintptr_t handle, detail::Callable<void()> finalizer) {
  backend::Device& device = Device().backend();
  require<LogicError>(!device.info().is_cpu,
                      "external_event: the CPU device has no events made by other libraries");
  require<LogicError>(handle != 0, "external_event: 0 is no event");
  device.note_unordered_stream();  // of which it may be
  return Event(std::make_shared<Event::State>(device, reinterpret_cast<backend::Event>(handle),
                                              std::move(finalizer)));
}

float Event::elapsed_time(const Event& end) const {
  require_same_device(end, device());
  return state().device->elapsed_ms(state().native, end.state().native);
}

}  // namespace quarry
