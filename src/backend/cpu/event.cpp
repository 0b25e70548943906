// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/event.hpp"

#include <quarry/base/error.hpp>

#include <utility>

#include "backend/cpu/stream.hpp"

namespace quarry::backend::cpu_backend {

void Mark::complete(std::uint64_t failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  time_ = Clock::now();
  done_ = true;
  completed_.notify_all();
}

bool Mark::is_done() {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Mark::wait() {
  std::unique_lock lock(mutex_);
  completed_.wait(lock, [this] { return done_; });
}

std::exception_ptr Mark::error() { return queue_ ? queue_->error(failure_) : nullptr; }

void Mark::report() {
  if (queue_) queue_->report(failure_);
}

Mark::Clock::time_point Mark::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

EventState::EventState(EventKind kind)
    : timing_(kind == EventKind::timed), carries_errors_(kind != EventKind::order_only) {
  require<LogicError>(kind != EventKind::interprocess,
                      "an event of the CPU cannot be shared with other processes");
}

std::shared_ptr<Mark> EventState::mark() {
  const std::lock_guard lock(mutex_);
  return mark_;
}

void EventState::set(std::shared_ptr<Mark> mark) {
  const std::lock_guard lock(mutex_);
  mark_ = std::move(mark);
}

namespace {
Mark::Clock::time_point time_of(EventState& event) {
  require<LogicError>(event.timing(), "the event was created without timing");
  const std::shared_ptr<Mark> mark = event.mark();
  require<LogicError>(mark != nullptr, "the event was never recorded");
  require<LogicError>(mark->is_done(),
                      "the event is not done: wait for it before reading its time");
  return mark->time();
}
}  // namespace

float elapsed_ms(EventState& start, EventState& end) {
  const auto first = time_of(start);
  return std::chrono::duration<float, std::milli>(time_of(end) - first).count();
}

}  // namespace quarry::backend::cpu_backend
