// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <thread>

#include <quarry/base/error.hpp>

#include "base/forked.hpp"

namespace quarry::backend::cpu_backend {
namespace {
constexpr auto idle_time = std::chrono::seconds(1);  // a thread without work ends after this

thread_local constinit bool is_in_host_call = false;

/// A function of the program runs in the scope, on behalf of a stream.
class HostCall {
 public:
  HostCall() { is_in_host_call = true; }
  ~HostCall() { is_in_host_call = false; }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;
};

/// Made while there is memory.
const std::exception_ptr& memory_error() {
  static const auto& error = *new const std::exception_ptr(std::make_exception_ptr(
      MemoryError("no host memory for work that was queued in a stream of the CPU device")));
  return error;
}

}  // namespace

void require_usable() {
  require_not_forked();
  used_devices |= cpu_bit;
  require<LogicError>(!is_in_host_call,
                      "a function that a stream calls on the host may not use the CPU device, as "
                      "it may not use a GPU: it is part of the stream that it would wait for");
}

Queue::~Queue() {
  if (blocking_ && error_) unsettled_.fetch_sub(1, std::memory_order_relaxed);
}

std::uint64_t Queue::submit(std::unique_ptr<Task> task) {
  std::uint64_t number;
  bool start_thread;
  {
    const std::lock_guard lock(mutex_);
    if (recording_) return recording_->push_back(std::move(task)), 0;
    tasks_.push_back(std::move(task));
    number = ++submitted_;
    if (blocking_) unsettled_.fetch_add(1, std::memory_order_relaxed);
    start_thread = !std::exchange(working_, true);
  }
  if (start_thread)
    start();
  else
    ready_.notify_one();
  return number;
}

void Queue::start() {
  try {
    std::thread([self = shared_from_this()] { self->work(); }).detach();
  } catch (const std::exception&) {  // of the system, or no memory
    Lock lock(mutex_);
    while (!tasks_.empty()) run_next(lock);
    working_ = false;
  }
}

void Queue::work() noexcept {
  Lock lock(mutex_);
  while (ready_.wait_for(lock, idle_time, [this] { return closed_ || !tasks_.empty(); }) &&
         !tasks_.empty()) {
    run_next(lock);
  }
  working_ = false;
}

// The task and all that it holds are destroyed before anybody learns that it is done. Its event
// completes together with the count of tasks.
void Queue::run_next(Lock& lock) noexcept {
  std::unique_ptr<Task> task = std::move(tasks_.front());
  tasks_.pop_front();
  const std::exception_ptr failed = error_;
  lock.unlock();
  std::exception_ptr error;
  try {
    task->run(failed);
  } catch (const std::bad_alloc&) {
    error = memory_error();
  } catch (...) {
    error = std::current_exception();
  }
  const std::shared_ptr<Mark> mark = task->mark();
  task.reset();
  lock.lock();
  if (error) fail(std::move(error));
  ++completed_;
  if (mark) mark->complete(error_ ? failures_ : 0);
  if (blocking_) unsettled_.fetch_sub(1, std::memory_order_release);
  finished_.notify_all();
}

/// With the lock. The first error is the one that is reported.
void Queue::fail(std::exception_ptr error) noexcept {
  if (error_) return;
  error_ = std::move(error);
  ++failures_;
  if (blocking_) unsettled_.fetch_add(1, std::memory_order_relaxed);
}

/// With the lock.
std::exception_ptr Queue::take_error() noexcept {
  if (blocking_ && error_) unsettled_.fetch_sub(1, std::memory_order_relaxed);
  return std::exchange(error_, nullptr);
}

void Queue::wait(std::uint64_t number) {
  Lock lock(mutex_);
  finished_.wait(lock, [&] { return completed_ >= number; });
}

void Queue::wait() {
  Lock lock(mutex_);
  const std::uint64_t number = submitted_;
  finished_.wait(lock, [&] { return completed_ >= number; });
}

void Queue::synchronize() {
  wait();
  report();
}

void Queue::report() {
  std::exception_ptr error;
  {
    const Lock lock(mutex_);
    error = take_error();
  }
  if (error) std::rethrow_exception(error);
}

void Queue::report(std::uint64_t failure) {
  std::exception_ptr error;
  {
    const Lock lock(mutex_);
    if (failures_ == failure) error = take_error();
  }
  if (error) std::rethrow_exception(error);
}

std::exception_ptr Queue::error(std::uint64_t failure) {
  const Lock lock(mutex_);
  return failures_ == failure ? error_ : nullptr;
}

bool Queue::has_failed() {
  const Lock lock(mutex_);
  return error_ != nullptr;
}

bool Queue::is_done() {
  const std::lock_guard lock(mutex_);
  return completed_ == submitted_;
}

void Queue::begin_recording() {
  const std::lock_guard lock(mutex_);
  recording_.emplace();
  is_invalidated_ = false;
}

std::optional<Queue::Recording> Queue::end_recording() {
  const std::lock_guard lock(mutex_);
  std::optional<Recording> recorded = std::move(recording_);
  recording_.reset();
  if (is_invalidated_) recorded.reset();
  return recorded;
}

bool Queue::is_recording() const {
  const std::lock_guard lock(mutex_);
  return recording_.has_value();
}

void Queue::require_not_recording(const char* what) {
  const std::lock_guard lock(mutex_);
  is_invalidated_ = is_invalidated_ || recording_;
  require<LogicError>(!recording_, [&] {
    return fmt::format("work in the stream is captured into a graph, and {} cannot be", what);
  });
}

void Queue::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  ready_.notify_one();
}

Stream Streams::create(StreamOrder order) {
  require_usable();
  memory_error();
  const std::lock_guard lock(mutex_);
  auto queue = std::make_shared<Queue>(order == StreamOrder::with_default, created_ + 1);
  drop_closed();
  closing_.reserve(open_.size() + closing_.size() + 1);  // so that destroy cannot fail
  open_.push_back(std::move(queue));
  ++created_;
  return open_.back().get();
}

void Streams::destroy(Stream stream) noexcept {
  Queue* const queue = Streams::queue(stream);
  if (!queue) return;
  const std::lock_guard lock(mutex_);
  const auto at =
      std::find_if(open_.begin(), open_.end(), [&](auto& q) { return q.get() == queue; });
  if (at == open_.end()) return;
  queue->close();
  if (!queue->is_done() || queue->has_failed()) closing_.push_back(*at);
  open_.erase(at);
}

/// Of the streams without handles the first failed one is kept: the next wait for all streams
/// reports its error.
void Streams::drop_closed() {
  bool has_failed = false;
  std::erase_if(closing_, [&](const auto& queue) {
    if (!queue->is_done()) return false;
    return !queue->has_failed() || std::exchange(has_failed, true);
  });
}

std::shared_ptr<Queue> Streams::queue_after(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Queue> first;
  for (const auto* list : {&open_, &closing_}) {
    for (const auto& queue : *list) {
      if (queue->number() > number && (!first || queue->number() < first->number())) first = queue;
    }
  }
  return first;
}

/// For all current streams.
template <class F>
void Streams::for_each_queue(F f) {
  const std::uint64_t last = created_.load(std::memory_order_acquire);
  if (last == 0) return;
  for (auto queue = queue_after(0); queue && queue->number() <= last;
       queue = queue_after(queue->number())) {
    f(*queue);
  }
}

void Streams::wait_for_each_blocking() {
  for_each_queue([](Queue& queue) {
    if (queue.blocking()) queue.wait();
  });
}

void Streams::settle_each_blocking() {
  wait_for_each_blocking();
  for_each_queue([](Queue& queue) {
    if (queue.blocking()) queue.report();
  });
}

void Streams::mark(Stream stream, EventState& event) {
  require_not_forked();
  Queue* const q = queue(stream);
  if (q) q->require_not_recording("an event");
  const bool carries_errors = event.carries_errors();
  if (carries_errors) require_usable();
  auto mark = std::make_shared<Mark>(q && carries_errors ? q->shared_from_this() : nullptr);
  if (q) {
    q->submit(std::make_unique<MarkTask>(mark));
  } else {
    carries_errors ? settle_blocking() : wait_for_blocking();
    mark->complete();
  }
  event.set(std::move(mark));
}

void Streams::wait(Stream stream, EventState& event) {
  require_not_forked();
  if (event.carries_errors()) require_usable();
  if (Queue* const q = queue(stream)) q->require_not_recording("a wait for an event");
  const std::shared_ptr<Mark> mark = event.mark();
  if (!mark || (mark->is_done() && !mark->error())) return;
  if (!queue(stream)) {
    run_always(stream, [&](const std::exception_ptr&) { mark->wait(); });
    return mark->report();
  }
  run_always(stream, [mark](const std::exception_ptr&) {
    mark->wait();
    if (const std::exception_ptr error = mark->error()) std::rethrow_exception(error);
  });
}

void Streams::host_call(Stream stream, HostFunction f, void* state, HostFailure instead) {
  require_usable();
  if (Queue* const q = queue(stream)) q->require_not_recording("a call on the host");
  if (!queue(stream)) settle_blocking();
  run_always(stream, [=](const std::exception_ptr& failed) {
    const HostCall scope;
    if (!failed)
      f(state);
    else if (instead)
      instead(state, failed);
  });
}

void Streams::synchronize(Stream stream) {
  require_usable();
  if (Queue* q = queue(stream)) {
    q->require_not_recording("a wait");
    q->synchronize();
  } else {
    settle_blocking();
  }
}

bool Streams::is_done(Stream stream) {
  require_not_forked();
  if (Queue* q = queue(stream)) {
    q->require_not_recording("a query");
    return q->is_done();
  }
  bool is_done = true;
  if (Queue::unsettled() == 0) return is_done;
  for_each_queue(
      [&](Queue& queue) { is_done = is_done && (!queue.blocking() || queue.is_done()); });
  return is_done;
}

void Streams::synchronize() {
  require_usable();
  for_each_queue([](Queue& queue) { queue.wait(); });
  for_each_queue([](Queue& queue) { queue.report(); });
}

void Streams::drain() noexcept {
  if (is_forked()) return;
  for_each_queue([](Queue& queue) { queue.wait(); });
}

}  // namespace quarry::backend::cpu_backend
