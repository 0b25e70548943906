// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/stream.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

namespace quarry::backend::cpu_backend {
namespace {
constexpr auto idle_time = std::chrono::seconds(1);  // a thread without work ends after this
}

std::uint64_t Queue::submit(std::unique_ptr<Task> task) {
  std::uint64_t number;
  bool start_thread;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    number = ++submitted_;
    if (blocking_) blocking_tasks_.fetch_add(1, std::memory_order_relaxed);
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
    std::unique_lock lock(mutex_);
    while (!tasks_.empty()) run_next(lock);
    working_ = false;
  }
}

void Queue::work() noexcept {
  std::unique_lock lock(mutex_);
  while (ready_.wait_for(lock, idle_time, [this] { return closed_ || !tasks_.empty(); }) &&
         !tasks_.empty()) {
    run_next(lock);
  }
  working_ = false;
}

// The task and all that it holds are gone before anybody learns that it is done.
void Queue::run_next(std::unique_lock<std::mutex>& lock) noexcept {
  std::unique_ptr<Task> task = std::move(tasks_.front());
  tasks_.pop_front();
  lock.unlock();
  std::exception_ptr error;
  try {
    task->run();
  } catch (...) {
    error = std::current_exception();
  }
  task.reset();
  if (blocking_) blocking_tasks_.fetch_sub(1, std::memory_order_release);
  lock.lock();
  if (!error_) error_ = std::move(error);
  ++completed_;
  finished_.notify_all();
}

void Queue::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return completed_ >= number; });
}

void Queue::wait() {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = submitted_;
  finished_.wait(lock, [&] { return completed_ >= number; });
}

void Queue::synchronize() {
  wait();
  std::unique_lock lock(mutex_);
  if (const std::exception_ptr error = std::exchange(error_, nullptr))
    std::rethrow_exception(error);
}

bool Queue::is_done() {
  const std::lock_guard lock(mutex_);
  return completed_ == submitted_;
}

void Queue::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  ready_.notify_one();
}

Stream Streams::create(const StreamOptions& options) {
  const std::lock_guard lock(mutex_);
  auto queue = std::make_shared<Queue>(!options.non_blocking, created_ + 1);
  std::erase_if(closing_, [](const auto& q) { return q->is_done(); });
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
  if (!queue->is_done()) closing_.push_back(*at);
  open_.erase(at);
}

std::uint64_t Streams::created() {
  const std::lock_guard lock(mutex_);
  return created_;
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

/// Of the streams that are there now.
template <class F>
void Streams::for_each_queue(F f) {
  const std::uint64_t last = created();
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

void Streams::synchronize(Stream stream) {
  if (Queue* q = queue(stream))
    q->synchronize();
  else
    wait_for_blocking();
}

bool Streams::is_done(Stream stream) {
  if (Queue* q = queue(stream)) return q->is_done();
  return Queue::blocking_tasks() == 0;
}

void Streams::synchronize() {
  for_each_queue([](Queue& queue) { queue.wait(); });
  for_each_queue([](Queue& queue) { queue.synchronize(); });
}

}  // namespace quarry::backend::cpu_backend
