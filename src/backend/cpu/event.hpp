// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "backend/backend.hpp"

namespace quarry::backend::cpu_backend {

/// One recording of an event. Waits hold the recording they were given, so recording the event anew
/// in another stream does not let them go early.
class Mark {
 public:
  using Clock = std::chrono::steady_clock;

  void complete();
  bool is_done();
  void wait();
  /// When it was completed; it must be done.
  Clock::time_point time();

 private:
  std::mutex mutex_;
  std::condition_variable completed_;
  bool done_ = false;
  Clock::time_point time_;
};

class EventState {
 public:
  /// Throws LogicError for an event that other processes shall see.
  explicit EventState(const EventOptions& options);

  bool timing() const { return timing_; }
  /// nullptr when never recorded.
  std::shared_ptr<Mark> mark();
  void set(std::shared_ptr<Mark> mark);

 private:
  const bool timing_;
  std::mutex mutex_;
  std::shared_ptr<Mark> mark_;
};

/// Throws LogicError when an event has no timing, was never recorded or is not done.
float elapsed_ms(EventState& start, EventState& end);

}  // namespace quarry::backend::cpu_backend
