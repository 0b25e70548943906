// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/callable.hpp>
#include <quarry/runtime/device.hpp>

#include <concepts>
#include <exception>
#include <future>
#include <memory>
#include <optional>

namespace quarry {

class Event;
namespace detail {
struct StreamState;
}

/// How a stream is made.
struct StreamOptions {
  /// Neither waits for the legacy default stream nor makes it wait.
  bool non_blocking = false;
  /// Lower is more urgent; clamped to what the device has.
  int priority = 0;
  std::optional<Device> device = std::nullopt;  ///< the current device if none
};

/// An ordered queue of work on one device. Copies are handles to the same queue. Destroying the
/// last handle lets pending work complete; arrays made in the stream or bound to it keep it alive,
/// arrays only used in it do not. Every member of a moved-from stream throws LogicError.
class Stream {
 public:
  /// The current device's default stream.
  Stream();

  Device device() const;     ///< on which it runs
  bool is_default() const;   ///< whether every device has it
  bool is_external() const;  ///< whether another library made it
  /// CUstream as an integer; 0 for a default stream.
  std::uintptr_t handle() const;
  int priority() const;  ///< lower is more urgent

  /// Waits for the work queued so far. Throws errors of the work itself, once, exceptions of
  /// callbacks, and what launches of graphs have found (see capture()). On the CPU work queued
  /// after work that failed is skipped until the error has been thrown: here, by a copy to the
  /// host, by an event's synchronize() or the device's, or in a default stream, which waits for
  /// this one.
  void synchronize() const;
  /// Whether the work queued so far is done; does not wait.
  bool is_done() const;
  /// Work queued from now on starts after `event` has completed. Does not wait on the host.
  void wait_event(const Event& event) const;
  /// A new event that completes when the work queued so far is done.
  Event record() const;
  /// Calls `f` on a thread of the library or of the driver after the work queued so far; the stream
  /// continues when it returns. `f` may not use the device: such calls throw LogicError. The next
  /// synchronize() rethrows an exception of `f`. If the work before it has failed `f` is not
  /// called, and is destroyed by a later call of the library.
  void add_callback(detail::Callable<void(const Stream&)> f) const;
  /// The same for `f(stream, status)`, which is called also when the work before it has failed:
  /// with its error as a std::exception_ptr, which is null if the work succeeded. After an error
  /// that has lost the GPU the call is made by a thread of the library.
  template <std::invocable<const Stream&, const std::exception_ptr&> F>
  void add_callback(F f) const {
    add_status_callback(std::move(f));
  }
  /// Numba's form: the same for `f(stream, status, arg)`.
  template <class F, class A>
  requires std::invocable<F&, const Stream&, const std::exception_ptr&, A&>
  void add_callback(F f, A arg) const {
    add_status_callback(
        [f = std::move(f), arg = std::move(arg)](
            const Stream& s, const std::exception_ptr& status) mutable { f(s, status, arg); });
  }
  /// Becomes ready, with this stream, when the work queued so far is done; with its error if it
  /// failed.
  std::future<Stream> async_done() const;
  class AutoSynchronize;
  /// Synchronises when the scope ends, unless an exception leaves it:
  ///     auto guard = s.auto_synchronize();
  AutoSynchronize auto_synchronize() const;

  /// Whether both are handles of one stream.
  friend bool operator==(const Stream& a, const Stream& b) { return a.state_ == b.state_; }

  ///@{
  /// For the library itself.
  detail::StreamState& state() const {
    if (!state_) [[unlikely]]
      throw_moved_from();
    return *state_;
  }
  const std::shared_ptr<detail::StreamState>& shared() const { return state_; }
  explicit Stream(std::shared_ptr<detail::StreamState> state) : state_(std::move(state)) {}
  ///@}

 private:
  [[noreturn]] static void throw_moved_from();
  void add_status_callback(
      detail::Callable<void(const Stream&, const std::exception_ptr&)> f) const;

  std::shared_ptr<detail::StreamState> state_;
};

/// The scope of Stream::auto_synchronize().
class Stream::AutoSynchronize {
 public:
  /// Begins the scope.
  explicit AutoSynchronize(Stream stream);
  ~AutoSynchronize() noexcept(false);
  AutoSynchronize(const AutoSynchronize&) = delete;
  AutoSynchronize& operator=(const AutoSynchronize&) = delete;
  const Stream& operator*() const { return stream_; }  ///< the stream

 private:
  Stream stream_;
  int exceptions_;
};

/// A new stream.
Stream stream(const StreamOptions& options = {});
///@{
/// The default streams of a device. The CPU's are one stream that runs its work at once.
Stream default_stream();
Stream legacy_default_stream();
Stream per_thread_default_stream();
///@}
/// A stream that another library made (a CUstream) and will destroy, after the last handle and the
/// last array made in the stream or bound to it. Streams of one handle are equal.
Stream external_stream(std::uintptr_t handle);
/// The same with what ends the stream: `finalizer` is called once, after the last handle and the
/// last array made in the stream or bound to it, and may destroy the stream as cuStreamDestroy
/// does, whose work then still completes. It may not throw. Throws LogicError for a stream of which
/// there are handles already.
Stream external_stream(std::uintptr_t handle, detail::Callable<void()> finalizer);
/// The default stream of `device`.
Stream default_stream(const Device& device);

/// Makes `stream` the current one of the thread for the scope: operations without a stream argument
/// are queued in it if they run on its device. Guards may end in any order; the innermost remaining
/// one is in effect. One that is destroyed on another thread prints a message to stderr.
class StreamGuard {
 public:
  /// Begins the scope. Throws LogicError for a moved-from stream.
  explicit StreamGuard(Stream stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  detail::GuardEntry<Stream>* entry_;
};

/// The innermost StreamGuard's stream, else the current device's default stream.
Stream current_stream();

namespace detail {
/// The innermost StreamGuard's stream if it is on `device`, else nullptr. No ownership.
const Stream* guarded_stream(const Device& device);
}  // namespace detail

}  // namespace quarry
