// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/ipc.hpp>
#include <quarry/runtime/stream.hpp>

namespace quarry {

/// How an event is made.
struct EventOptions {
  bool timing = true;         ///< elapsed_time() can be used
  bool blocking = false;      ///< synchronize() sleeps instead of spinning
  bool interprocess = false;  ///< can be shared between processes; needs timing = false
  std::optional<Device> device = std::nullopt;  ///< the current device if none
};

/// A CUDA event: a point in a stream. Copies are handles to the same event. Every member of a
/// moved-from event throws LogicError.
class Event {
 public:
  /// Throws LogicError for options that exclude each other.
  explicit Event(const EventOptions& options = {});

  Device device() const;          ///< whose streams record it
  bool is_external() const;       ///< whether another library made it
  std::uintptr_t handle() const;  ///< CUevent as an integer
  /// Completes when the work queued in `stream` so far is done; can be repeated.
  const Event& record(const Stream& stream) const;
  const Event& record() const;  ///< in the current stream
  /// Whether it has completed; true also if never recorded.
  bool query() const;
  /// Waits until it has completed. Throws errors of the work before it, once.
  const Event& synchronize() const;
  /// Work queued in `stream` from now on starts after the event. Does not wait on the host.
  void wait(const Stream& stream) const;
  /// The same for the current stream.
  void wait() const;
  /// Milliseconds from this event to `end`. Throws LogicError if one was not recorded, has not
  /// completed yet, or was made without timing.
  float elapsed_time(const Event& end) const;
  ///@{
  /// PyCUDA's names: milliseconds since or until another event, as elapsed_time().
  float time_since(const Event& earlier) const { return earlier.elapsed_time(*this); }
  float time_till(const Event& later) const { return elapsed_time(later); }
  ///@}

  /// The handle by which another process opens this event, while it lives. Throws LogicError unless
  /// it was made with interprocess = true and timing = false, and on the CPU device.
  IpcBytes ipc_handle() const;
  /// Another process's event; both see each other's record(). Throws LogicError for bytes that are
  /// no handle, in the process that exported it, and on the CPU device.
  static Event from_ipc_handle(const IpcBytes& handle, const Device& device = {});

  struct State;
  /// For the library itself.
  State& state() const {
    if (!state_) throw_moved_from();
    return *state_;
  }

 private:
  [[noreturn]] static void throw_moved_from();
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
  friend Event external_event(std::uintptr_t handle, detail::Callable<void()> finalizer);

  std::shared_ptr<State> state_;
};

/// An event of the current device that another library made (a CUevent). Without a `finalizer` that
/// library destroys it, after the last handle; else `finalizer` is called then, once, and may
/// destroy the event. It may not throw. Throws LogicError for 0, and on the CPU device.
Event external_event(std::uintptr_t handle, detail::Callable<void()> finalizer = {});

///@{
/// Numba's names.
inline Event event(bool timing = true) { return Event({.timing = timing}); }
inline float event_elapsed_time(const Event& start, const Event& end) {
  return start.elapsed_time(end);
}
///@}

}  // namespace quarry
