// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/event.hpp>

#include <fmt/format.h>

#include <exception>
#include <unordered_map>

#include "base/ending.hpp"
#include "base/forked.hpp"
#include "runtime/callback.hpp"
#include "runtime/failed_callbacks.hpp"
#include "runtime/guard_stack.hpp"
#include "runtime/kept_owners.hpp"
#include "runtime/left_work.hpp"
#include "runtime/stream_lifetime.hpp"

namespace quarry {
namespace detail {

void StreamState::end_attachments() noexcept {
  if (!attachments_.load()) return;
  const std::lock_guard lock(attachments_mutex());
  for (Attachment *a = attachments_.exchange(nullptr), *next; a; a = next) {
    next = a->next;
    if (a->owner.load()) a->end.load()(a->data.load(), *this);
    delete a;
  }
}

void StreamState::end() noexcept {
  end_attachments();
  if (kind == StreamKind::created) device->destroy_stream(native);
  ended_.store(true, std::memory_order_release);
}

std::mutex& StreamState::attachments_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

void StreamState::attach(const void* owner, void* data, void (*end)(void*, StreamState&) noexcept) {
  Attachment* place = attachments_.load();
  while (place && place->owner.load()) place = place->next;
  const bool is_new = !place;
  if (is_new) place = new Attachment;
  place->data.store(data, std::memory_order_relaxed);
  place->end.store(end, std::memory_order_relaxed);
  place->owner.store(owner, std::memory_order_release);
  if (!is_new) return;
  place->next = attachments_.load();
  attachments_.store(place, std::memory_order_release);
}

void StreamState::detach(const void* owner) noexcept {
  for (Attachment* a = attachments_.load(); a; a = a->next) {
    if (a->owner.load() == owner) a->owner.store(nullptr, std::memory_order_release);
  }
}

void require_not_captured(const StreamState& stream, const char* call) {
  require<LogicError>(!stream.is_captured(), [&] {
    return fmt::format("{}: the stream's work is captured into a graph and does not run now", call);
  });
}

void StreamState::keep(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

void StreamState::rethrow() {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    std::swap(error, error_);
  }
  if (error) std::rethrow_exception(error);
}

namespace {

/// The driver refuses every call there.
thread_local constinit bool in_callback = false;

/// A function of the program runs in the scope.
class CallbackScope {
 public:
  CallbackScope() {
    running_callbacks.fetch_add(1, std::memory_order_relaxed);
    in_callback = true;
  }
  ~CallbackScope() {
    in_callback = false;
    running_callbacks.fetch_sub(1, std::memory_order_relaxed);
  }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};

/// A pending callback, or a future if it has no function. It holds a stream, whose last handle must
/// not be destroyed on the driver's thread: finished ones are collected here and destroyed by the
/// next call of the library.
struct Callback final : FailedCallback {
  using Function = detail::Callable<void(const Stream&)>;
  using StatusFunction = detail::Callable<void(const Stream&, const std::exception_ptr&)>;

  explicit Callback(Stream s, Function g = {}, StatusFunction h = {})
      : stream(std::move(s)), f(std::move(g)), with_status(std::move(h)) {}
  /// Of the program's function.
  void call() noexcept override {
    try {
      const CallbackScope scope;
      with_status ? with_status(stream, error) : f(stream);
    } catch (...) {
      stream.state().keep(std::current_exception());
    }
  }

  Stream stream;
  Function f;
  StatusFunction with_status;
  std::promise<Stream> done = {};
};

struct Finished {
  std::mutex mutex;
  std::unique_ptr<PutOff> first;
  static Finished& instance() {
    static Finished* const all = new Finished;  // outlives every thread that may still call back
    return *all;
  }
  void add(std::unique_ptr<PutOff> end) noexcept {
    const std::lock_guard lock(mutex);
    end->next = std::move(first);
    first = std::move(end);
  }
  void collect() noexcept {
    std::unique_ptr<PutOff> dead;
    {
      const std::lock_guard lock(mutex);
      dead = std::move(first);
    }
    while (dead) dead = std::move(dead->next);
  }
};

void run_callback(void* state) {
  std::unique_ptr<Callback> callback(static_cast<Callback*>(state));
  if (callback->f || callback->with_status)
    callback->call();
  else
    callback->done.set_value(callback->stream);
  Finished::instance().add(std::move(callback));
}

/// On a GPU called by whoever has seen the failure, with any lock: there the program's function is
/// called by another thread.
void fail_callback(void* state, const std::exception_ptr& error) {
  std::unique_ptr<Callback> callback(static_cast<Callback*>(state));
  callback->error = error;
  const bool is_called = callback->with_status && !process_is_ending;
  if (is_called && !callback->stream.device().is_cpu()) {
    return call_on_own_thread(std::move(callback));
  }
  if (is_called)
    callback->call();
  else if (!callback->f && !callback->with_status)
    callback->done.set_exception(error);
  Finished::instance().add(std::move(callback));
}

/// Takes the callback, unless this throws.
void queue_callback(std::unique_ptr<Callback>& callback) {
  require<LogicError>(!callback->stream.state().is_captured(),
                      "a callback runs once: it cannot be captured into a graph");
  drop_finished_callbacks();
  const StreamState& state = callback->stream.state();
  state.device->host_call(state.native, run_callback, callback.get(), fail_callback);
  static_cast<void>(callback.release());  // now of one of the two functions
}

/// The default streams of a device: one state each, never destroyed.
Stream fixed_stream(backend::Device& device, backend::Stream native) {
  require_not_forked();
  static std::mutex mutex;
  static auto& states = *new std::map<std::pair<backend::Device*, backend::Stream>, Stream>;
  const std::lock_guard lock(mutex);
  const auto found = states.find({&device, native});
  if (found != states.end()) return found->second;
  Stream made = make_stream(std::make_shared<StreamState>(device, native, StreamKind::fixed));
  return states.emplace(std::pair(&device, native), std::move(made)).first->second;
}

thread_local constinit GuardStack<Stream> guards;

}  // namespace

bool runs_on_this_thread() noexcept { return in_callback; }

void put_off(std::unique_ptr<PutOff> end) noexcept { Finished::instance().add(std::move(end)); }

void drop_finished_callbacks() noexcept {
  if (in_callback || is_forked()) return;
  Finished::instance().collect();
  end_kept_owners();
  end_retired_streams();
}

Stream per_thread_stream(backend::Device& device) {
  if (device.per_thread_stream() == nullptr) return fixed_stream(device, nullptr);
  thread_local std::map<backend::Device*, Stream> states;
  const auto found = states.find(&device);
  if (found != states.end()) return found->second;
  end_retired_streams();
  Stream made = make_stream(
      std::make_shared<StreamState>(device, device.per_thread_stream(), StreamKind::per_thread));
  return states.emplace(&device, std::move(made)).first->second;
}

const Stream* guarded_stream(const Device& device) {
  const GuardEntry<Stream>* const innermost = guards.top();
  return innermost && innermost->value.state().device == &device.backend() ? &innermost->value
                                                                           : nullptr;
}

}  // namespace detail

Stream::Stream() : Stream(default_stream()) {}

void Stream::throw_moved_from() { throw LogicError("the stream was moved from"); }

Device Stream::device() const { return Device(*state().device); }
bool Stream::is_default() const {
  return state().kind == detail::StreamKind::fixed ||
         state().kind == detail::StreamKind::per_thread;
}
bool Stream::is_external() const { return state().kind == detail::StreamKind::external; }
std::uintptr_t Stream::handle() const { return reinterpret_cast<std::uintptr_t>(state().native); }
int Stream::priority() const { return state().priority; }

void Stream::synchronize() const {
  detail::require_not_captured(state(), "Stream::synchronize()");
  detail::WaitForWork work(*this);
  {
    const detail::DropFinishedCallbacks after;
    state().device->synchronize(state().native);
  }
  state().rethrow();
  work.rethrow();
}

bool Stream::is_done() const {
  detail::require_not_captured(state(), "Stream::is_done()");
  const detail::DropFinishedCallbacks after;
  return state().device->is_done(state().native);
}

void Stream::wait_event(const Event& event) const { event.wait(*this); }

Event Stream::record() const {
  Event event({.device = device()});
  event.record(*this);
  return event;
}

void Stream::add_callback(detail::Callable<void(const Stream&)> f) const {
  require<LogicError>(static_cast<bool>(f), "add_callback: an empty function");
  auto callback = std::make_unique<detail::Callback>(*this, std::move(f));
  detail::queue_callback(callback);
}

void Stream::add_status_callback(
    detail::Callable<void(const Stream&, const std::exception_ptr&)> f) const {
  require<LogicError>(static_cast<bool>(f), "add_callback: an empty function");
  auto callback = std::make_unique<detail::Callback>(*this, nullptr, std::move(f));
  detail::queue_callback(callback);
}

std::future<Stream> Stream::async_done() const {
  auto callback = std::make_unique<detail::Callback>(*this);
  auto future = callback->done.get_future();  // destroyed first: no broken promise is reported
  detail::queue_callback(callback);
  return future;
}

Stream::AutoSynchronize::AutoSynchronize(Stream stream)
    : stream_(std::move(stream)), exceptions_(std::uncaught_exceptions()) {}
Stream::AutoSynchronize::~AutoSynchronize() noexcept(false) {
  if (std::uncaught_exceptions() == exceptions_) stream_.synchronize();
}
Stream::AutoSynchronize Stream::auto_synchronize() const { return AutoSynchronize(*this); }

Stream stream(const StreamOptions& options) {
  detail::drop_finished_callbacks();
  backend::Device& device = options.device.value_or(Device()).backend();
  const auto [least, most] = device.priority_range();
  const int priority = std::max(most, std::min(least, options.priority));
  const auto order =
      options.non_blocking ? backend::StreamOrder::independent : backend::StreamOrder::with_default;
  return detail::created_stream(device, order, priority);
}

Stream default_stream(const Device& device) {
  return detail::fixed_stream(device.backend(), nullptr);
}
Stream default_stream() { return default_stream(Device()); }
Stream legacy_default_stream() {
  backend::Device& device = Device().backend();
  return detail::fixed_stream(device, device.legacy_stream());
}
Stream per_thread_default_stream() { return detail::per_thread_stream(Device().backend()); }

namespace {

/// The current device's handle of a stream that another library made.
backend::Stream require_external(backend::Device& device, std::uintptr_t handle) {
  require<LogicError>(!device.info().is_cpu,
                      "external_stream: the CPU device has no streams made by other libraries");
  require<LogicError>(handle != 0,
                      "external_stream: 0 is the default stream; use default_stream()");
  return reinterpret_cast<backend::Stream>(handle);
}

}  // namespace

Stream external_stream(std::uintptr_t handle) {
  backend::Device& device = Device().backend();
  const backend::Stream native = require_external(device, handle);
  if (native == device.legacy_stream()) return detail::fixed_stream(device, native);
  if (native == device.per_thread_stream()) return detail::per_thread_stream(device);
  return detail::external_stream_of(device, native);
}

Stream external_stream(std::uintptr_t handle, detail::Callable<void()> finalizer) {
  require<LogicError>(static_cast<bool>(finalizer), "external_stream: an empty finalizer");
  backend::Device& device = Device().backend();
  const backend::Stream native = require_external(device, handle);
  require<LogicError>(native != device.legacy_stream() && native != device.per_thread_stream(),
                      "external_stream: nobody destroys a default stream");
  return detail::external_stream_of(device, native, std::move(finalizer));
}

StreamGuard::StreamGuard(Stream stream) {
  stream.state();  // throws for a moved-from stream
  entry_ = detail::guards.push(std::move(stream));
}
StreamGuard::~StreamGuard() { detail::guards.end(entry_, "StreamGuard"); }

Stream current_stream() {
  const auto* const innermost = detail::guards.top();
  return innermost ? innermost->value : default_stream();
}

}  // namespace quarry
