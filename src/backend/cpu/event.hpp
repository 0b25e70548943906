// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/backend.hpp"

namespace quarry::backend::cpu_backend {

class Queue;

/// One recording of an event. A wait keeps its recording, so recording the event again in another
/// stream does not end the wait early.
class Mark {
 public:
  using Clock = std::chrono::steady_clock;

  Mark() = default;
  /// Propagates the errors of `queue`, unless that is nullptr.
  explicit Mark(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}

  /// `failure` is the number of the failure that the queue has not reported, 0 for none.
  void complete(std::uint64_t failure = 0);
  bool is_done();
  void wait();
  /// The error of its queue if not reported yet, else nullptr; the mark must be done.
  std::exception_ptr error();
  /// Reports that error: throws it, once.
  void report();
  /// When it was completed; it must be done.
  Clock::time_point time();

 private:
  std::mutex mutex_;
  std::condition_variable completed_;
  const std::shared_ptr<Queue> queue_ = nullptr;
  std::uint64_t failure_ = 0;
  bool done_ = false;
  Clock::time_point time_;
};

class EventState {
 public:
  /// Throws LogicError for an interprocess event.
  explicit EventState(EventKind kind);

  bool timing() const { return timing_; }
  bool carries_errors() const { return carries_errors_; }
  /// nullptr when never recorded.
  std::shared_ptr<Mark> mark();
  void set(std::shared_ptr<Mark> mark);

 private:
  const bool timing_, carries_errors_;
  std::mutex mutex_;
  std::shared_ptr<Mark> mark_;
};

/// Throws LogicError when an event has no timing, was never recorded or is not done.
float elapsed_ms(EventState& start, EventState& end);

}  // namespace quarry::backend::cpu_backend
