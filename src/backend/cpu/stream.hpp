// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/backend.hpp"

namespace quarry::backend::cpu_backend {

class Task {
 public:
  virtual ~Task() = default;
  virtual void run() = 0;
};

template <class F>
class TaskOf : public Task {
 public:
  explicit TaskOf(F f) : f_(std::move(f)) {}
  void run() override { f_(); }

 private:
  F f_;
};

/// A created stream: tasks run in order on a thread of its own, which starts with the first task
/// and ends when there was none for a while. Where no thread can be started they run on the
/// submitting thread.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(bool blocking, std::uint64_t number) : blocking_(blocking), number_(number) {}

  /// The task's number; numbers count from 1. What the task throws is kept for `synchronize`.
  std::uint64_t submit(std::unique_ptr<Task> task);
  void wait(std::uint64_t number);
  void wait();
  /// Waits, then throws the first exception since the last `synchronize`.
  void synchronize();
  bool is_done();
  /// Lets the thread end as soon as nothing is pending.
  void close() noexcept;

  /// Does the default stream wait for this one?
  bool blocking() const { return blocking_; }
  std::uint64_t number() const { return number_; }  ///< later streams have larger ones
  /// Tasks pending in all blocking streams of the process.
  static std::int64_t blocking_tasks() { return blocking_tasks_.load(std::memory_order_acquire); }

 private:
  void start();
  void work() noexcept;
  void run_next(std::unique_lock<std::mutex>& lock) noexcept;

  const bool blocking_;
  const std::uint64_t number_;
  std::mutex mutex_;
  std::condition_variable ready_, finished_;
  std::deque<std::unique_ptr<Task>> tasks_;
  std::uint64_t submitted_ = 0, completed_ = 0;
  std::exception_ptr error_;
  bool working_ = false, closed_ = false;
  static inline std::atomic<std::int64_t> blocking_tasks_ = 0;
};

/// All streams of the device. Work of the default streams (nullptr, 1 and 2 are one) runs at once
/// on the calling thread, after what the blocking streams hold; calls from several threads run side
/// by side.
class Streams {
 public:
  Stream create(const StreamOptions& options);
  void destroy(Stream stream) noexcept;

  static Stream legacy() { return reinterpret_cast<Stream>(std::uintptr_t{1}); }
  static Stream per_thread() { return reinterpret_cast<Stream>(std::uintptr_t{2}); }
  /// nullptr for a default stream.
  static Queue* queue(Stream stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? nullptr : static_cast<Queue*>(stream);
  }

  /// Runs `f` in the order of `stream`; returns the task's number, 0 when it is already done.
  template <class F>
  std::uint64_t run(Stream stream, F&& f) {
    used_devices |= cpu_bit;
    using Stored = TaskOf<std::decay_t<F>>;
    if (Queue* q = queue(stream)) return q->submit(std::make_unique<Stored>(std::forward<F>(f)));
    wait_for_blocking();
    f();
    return 0;
  }
  /// The same, and waits for it.
  template <class F>
  void run_and_wait(Stream stream, F&& f) {
    const std::uint64_t number = run(stream, std::forward<F>(f));
    if (Queue* q = queue(stream)) q->wait(number);
  }

  void synchronize(Stream stream);
  bool is_done(Stream stream);
  /// Waits for every stream, destroyed ones too, then throws what one of them kept.
  void synchronize();

 private:
  void wait_for_blocking() {
    if (Queue::blocking_tasks() != 0) wait_for_each_blocking();
  }
  void wait_for_each_blocking();
  // Waiting takes no memory: those who free some have to wait, and cannot fail.
  template <class F>
  void for_each_queue(F f);
  std::uint64_t created();
  std::shared_ptr<Queue> queue_after(std::uint64_t number);  ///< the next one, or nullptr

  std::mutex mutex_;
  std::uint64_t created_ = 0;
  std::vector<std::shared_ptr<Queue>> open_, closing_;
};

}  // namespace quarry::backend::cpu_backend
