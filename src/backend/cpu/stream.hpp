// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/event.hpp"

namespace quarry::backend::cpu_backend {

class Task {
 public:
  virtual ~Task() = default;
  /// `failed` is the error that the queue has not reported yet, or nullptr.
  virtual void run(const std::exception_ptr& failed) = 0;
  /// The mark that completes when the task is counted; it outlives the task.
  virtual std::shared_ptr<Mark> mark() const { return nullptr; }
};

/// Work that is skipped after work that has failed; an `F` that takes the error always runs.
template <class F>
class TaskOf : public Task {
 public:
  explicit TaskOf(F f) : f_(std::move(f)) {}
  void run(const std::exception_ptr& failed) override {
    if constexpr (std::is_invocable_v<F&, const std::exception_ptr&>)
      f_(failed);
    else if (!failed)
      f_();
  }

 private:
  F f_;
};

class MarkTask : public Task {
 public:
  explicit MarkTask(std::shared_ptr<Mark> mark) : mark_(std::move(mark)) {}
  void run(const std::exception_ptr&) override {}
  std::shared_ptr<Mark> mark() const override { return mark_; }

 private:
  std::shared_ptr<Mark> mark_;
};

/// A created stream: tasks run in order on its own thread, which starts with the first task and
/// ends after a while without tasks. If no thread can be started they run on the submitting
/// thread. The first error of its tasks is kept until it is reported; later tasks are skipped
/// until then.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(bool blocking, std::uint64_t number) : blocking_(blocking), number_(number) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// The task's number; numbers count from 1.
  std::uint64_t submit(std::unique_ptr<Task> task);
  /// These wait without reporting errors.
  void wait(std::uint64_t number);
  void wait();
  /// Waits, then reports.
  void synchronize();
  /// Throws the error that was not reported yet, if any; with a number, only that one.
  void report();
  void report(std::uint64_t failure);
  /// That error, or nullptr.
  std::exception_ptr error(std::uint64_t failure);
  bool has_failed();
  bool is_done();
  /// Lets the thread end as soon as nothing is pending.
  void close() noexcept;

  using Recording = std::vector<std::unique_ptr<Task>>;
  /// From now on tasks are recorded instead of run; nothing is pending.
  void begin_recording();
  /// Nothing if a call has invalidated the recording.
  std::optional<Recording> end_recording();
  bool is_recording() const;
  /// Throws LogicError while tasks are recorded, which invalidates the recording.
  void require_not_recording(const char* what);

  /// Does the default stream wait for this one?
  bool blocking() const { return blocking_; }
  std::uint64_t number() const { return number_; }  ///< later streams have larger ones
  /// The number of pending tasks and unreported errors in all blocking streams.
  static std::int64_t unsettled() { return unsettled_.load(std::memory_order_acquire); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  void start();
  void work() noexcept;
  void run_next(Lock& lock) noexcept;
  void fail(std::exception_ptr error) noexcept;
  std::exception_ptr take_error() noexcept;

  const bool blocking_;
  const std::uint64_t number_;
  mutable std::mutex mutex_;
  std::condition_variable ready_, finished_;
  std::deque<std::unique_ptr<Task>> tasks_;
  std::uint64_t submitted_ = 0, completed_ = 0;
  std::exception_ptr error_;    ///< not reported yet
  std::uint64_t failures_ = 0;  ///< so far; the number of the latest
  bool working_ = false, closed_ = false;
  std::optional<Recording> recording_;
  bool is_invalidated_ = false;  ///< the recording
  static inline std::atomic<std::int64_t> unsettled_ = 0;
};

/// Throws LogicError in a function that a stream calls on the host, as the driver refuses every
/// call there.
void require_usable();

/// All streams of the device. Work of the default streams (nullptr, 1 and 2 are one) runs at once
/// on the calling thread, after the work of the blocking streams; calls from several threads run
/// concurrently.
class Streams {
 public:
  Stream create(StreamOrder order);
  void destroy(Stream stream) noexcept;

  static Stream legacy() { return reinterpret_cast<Stream>(std::uintptr_t{1}); }
  static Stream per_thread() { return reinterpret_cast<Stream>(std::uintptr_t{2}); }
  /// nullptr for a default stream.
  static Queue* queue(Stream stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? nullptr : static_cast<Queue*>(stream);
  }

  /// Runs `f` in the order of `stream`. In a default stream it is done on return; an unreported
  /// error of a blocking stream is thrown instead.
  template <class F>
  void run(Stream stream, F&& f) {
    require_usable();
    if (Queue* q = queue(stream)) {
      q->submit(task(std::forward<F>(f)));
    } else {
      settle_blocking();
      f();
    }
  }
  /// The same, and waits for it; throws what `f` threw, or why it was left out.
  template <class F>
  void run_and_wait(Stream stream, const F& f) {
    Queue* const q = queue(stream);
    if (!q) return run(stream, f);
    require_usable();
    q->require_not_recording("a call that waits for its work");
    std::exception_ptr why;
    q->wait(q->submit(task([&](const std::exception_ptr& failed) {
      why = failed;
      if (failed) return;
      try {
        f();
      } catch (...) {
        why = std::current_exception();
        throw;
      }
    })));
    q->report();
    if (why) std::rethrow_exception(why);  // already reported elsewhere
  }
  /// Runs `f(error)` in the order of `stream`, to release memory: it runs also after failures, and
  /// nothing is reported.
  template <class F>
  void run_always(Stream stream, F&& f) {
    if (Queue* q = queue(stream)) {
      q->submit(task(std::forward<F>(f)));
    } else {
      wait_for_blocking();
      f(nullptr);
    }
  }
  /// The event completes when the work queued so far is done.
  void mark(Stream stream, EventState& event);
  /// Work queued from now on comes after the event; the stream takes over its error.
  void wait(Stream stream, EventState& event);

  void host_call(Stream stream, HostFunction f, void* state, HostFailure instead);
  void synchronize(Stream stream);
  bool is_done(Stream stream);
  /// Waits for every stream, destroyed ones too, then reports an error of one of them.
  void synchronize();
  void drain() noexcept;

 private:
  template <class F>
  static std::unique_ptr<Task> task(F&& f) {
    return std::make_unique<TaskOf<std::decay_t<F>>>(std::forward<F>(f));
  }
  void wait_for_blocking() {
    if (Queue::unsettled() != 0) [[unlikely]]
      wait_for_each_blocking();
  }
  /// Waits for the blocking streams and reports an error of one of them.
  void settle_blocking() {
    if (Queue::unsettled() != 0) [[unlikely]]
      settle_each_blocking();
  }
  void wait_for_each_blocking();
  void settle_each_blocking();
  // Waiting does not allocate: code that frees memory waits, and cannot fail.
  template <class F>
  void for_each_queue(F f);
  std::shared_ptr<Queue> queue_after(std::uint64_t number);  ///< the next one, or nullptr
  void drop_closed();

  std::mutex mutex_;
  std::atomic<std::uint64_t> created_ = 0;  ///< none of them takes no lock
  std::vector<std::shared_ptr<Queue>> open_, closing_;
};

}  // namespace quarry::backend::cpu_backend
