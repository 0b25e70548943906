// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/streams/scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace quarry::fake {
namespace {

thread_local bool is_in_host_function = false;
constexpr std::size_t longest_backlog =
    1024;  // a real driver blocks as well when its queues are full

double real_ms() {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  return Milliseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_reached(const Mark& mark) {
  return mark.is_done || (mark.is_elsewhere && mark.shared->is_done(mark.number));
}

void reach(Mark& mark) {
  mark.is_done = true;
  if (mark.shared) mark.shared->finish(mark.number);
}

}  // namespace

bool Scheduler::in_host_function() { return is_in_host_function; }

void Scheduler::set(const Behaviour& behaviour) {
  const Lock lock(mutex_);
  random_.seed(behaviour.seed);
  behaviour_ = behaviour;
  if (behaviour_.background) start_worker();
  work_to_do_.notify_all();
}

Behaviour Scheduler::behaviour() const {
  const Lock lock(mutex_);
  return behaviour_;
}

std::shared_ptr<Queue> Scheduler::make(int device, StreamKind kind) {
  const Lock lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  if (index >= sticky_.size()) sticky_.resize(index + 1, CUDA_SUCCESS);
  return queues_.emplace_back(std::make_shared<Queue>(device, kind));
}

void Scheduler::destroy(Queue& queue) {
  const Lock lock(mutex_);
  queue.is_destroyed = true;
  std::erase_if(queues_, [](const auto& q) { return q->is_destroyed && q->waiting.empty(); });
}

void Scheduler::add(Queue& queue, Operation operation) {
  Lock lock(mutex_);
  operation.ticket = next_ticket_++;
  operation.queued_ms = real_ms();
  queue.waiting.push_back(std::move(operation));
  if (behaviour_.background) {
    work_to_do_.notify_all();
  } else {
    std::uniform_real_distribution<double> chance;
    if (chance(random_) < behaviour_.eagerness) step(lock);
  }
  while (pending_locked() > longest_backlog) {
    if (behaviour_.background || !step(lock)) wait(lock, changed_);
  }
}

/// The legacy default stream waits for all earlier work in the blocking streams of its device, and
/// they for earlier work in it.
bool Scheduler::may_run(const Queue& queue) const {
  if (queue.waiting.empty() || queue.is_running) return false;
  const Operation& first = queue.waiting.front();
  if (first.wait_for && !is_reached(*first.wait_for)) return false;
  if (queue.kind == StreamKind::non_blocking) return true;
  return std::none_of(queues_.begin(), queues_.end(), [&](const auto& other) {
    const bool is_ordered =
        other->device == queue.device && other->kind != StreamKind::non_blocking &&
        (other->kind == StreamKind::legacy) != (queue.kind == StreamKind::legacy);
    return is_ordered && !other->waiting.empty() && other->waiting.front().ticket < first.ticket;
  });
}

Queue* Scheduler::pick() {
  std::vector<Queue*> ready;
  for (const auto& queue : queues_) {
    if (may_run(*queue)) ready.push_back(queue.get());
  }
  if (ready.empty()) return nullptr;
  return ready[static_cast<std::size_t>(random_() % ready.size())];
}

/// Runs one operation or hands it to the worker; false when none may run now.
bool Scheduler::step(Lock& lock) {
  Queue* const queue = pick();
  if (!queue) return false;
  queue->is_running = true;
  const auto owner =
      std::find_if(queues_.begin(), queues_.end(), [&](const auto& q) { return q.get() == queue; });
  const std::shared_ptr<Queue> kept = *owner;
  if (kept->waiting.front().host_function) {
    start_worker();
    host_functions_.push_back(kept);
    work_to_do_.notify_all();
  } else {
    run(lock, *kept);
  }
  return true;
}

void Scheduler::run(Lock& lock, Queue& queue) {
  Operation& operation = queue.waiting.front();  // stays in place while others are added behind it
  const bool is_lost = sticky_[static_cast<std::size_t>(queue.device)] != CUDA_SUCCESS;
  const int delay = behaviour_.delay_us;
  lock.unlock();
  if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
  CUresult result = CUDA_SUCCESS;
  if (operation.host_function && is_lost) {
    // the real driver calls none any more
  } else if (operation.host_function) {
    is_in_host_function = true;
    const double begin = real_ms();
    operation.host_function(operation.state);
    operation.cost_ms += real_ms() - begin;
    is_in_host_function = false;
  } else if (operation.work && !is_lost) {
    result = operation.work();
  }
  lock.lock();
  complete(queue, result);
}

void Scheduler::complete(Queue& queue, CUresult result) {
  CUresult& sticky = sticky_[static_cast<std::size_t>(queue.device)];
  if (result != CUDA_SUCCESS && sticky == CUDA_SUCCESS) sticky = result;
  Operation done = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  queue.is_running = false;
  now_ms_ = std::max(now_ms_, done.queued_ms) + done.cost_ms;
  ++operations_;
  if (done.mark) {
    done.mark->time_ms = now_ms_;
    reach(*done.mark);
  }
  if (queue.is_destroyed && queue.waiting.empty()) {
    std::erase_if(queues_, [&](const auto& q) { return q.get() == &queue; });
  }
  changed_.notify_all();
  work_to_do_.notify_all();
}

void Scheduler::start_worker() {
  if (has_worker_) return;
  has_worker_ = true;
  std::thread([this] { work(); }).detach();
}

/// The thread that runs host functions, and everything in the background mode. It never ends.
void Scheduler::work() {
  Lock lock(mutex_);
  while (true) {
    if (!host_functions_.empty()) {
      const std::shared_ptr<Queue> queue = host_functions_.front();
      host_functions_.pop_front();
      run(lock, *queue);
    } else if (!(behaviour_.background || is_hurried()) || !step(lock)) {
      wait(lock, work_to_do_);
    }
  }
}

/// Nobody tells when another process has done something.
void Scheduler::wait(Lock& lock, std::condition_variable& condition) {
  if (has_others_) {
    condition.wait_until(lock, std::chrono::system_clock::now() + std::chrono::milliseconds(1));
  } else {
    condition.wait(lock);
  }
}

template <class Done>
void Scheduler::until(Lock& lock, Done done) {
  while (!done()) {
    if (behaviour_.background || !step(lock)) wait(lock, changed_);
  }
}

void Scheduler::finish(Queue& queue) {
  Lock lock(mutex_);
  const std::uint64_t last = next_ticket_;
  until(lock, [&] { return queue.waiting.empty() || queue.waiting.front().ticket >= last; });
}

void Scheduler::finish(const Mark& mark) {
  Lock lock(mutex_);
  until(lock, [&] { return is_reached(mark); });
}

void Scheduler::finish_device(int device) {
  finish_where([=](const Queue& queue) { return queue.device == device; });
}

void Scheduler::finish_all() {
  finish_where([](const Queue&) { return true; });
}

/// What other threads add meanwhile is not waited for.
template <class Chosen>
void Scheduler::finish_where(Chosen chosen) {
  Lock lock(mutex_);
  const std::uint64_t last = next_ticket_;
  until(lock, [&] {
    return std::all_of(queues_.begin(), queues_.end(), [&](const auto& q) {
      return !chosen(*q) || q->waiting.empty() || q->waiting.front().ticket >= last;
    });
  });
}

void Scheduler::poll_step(Lock& lock) {
  if (behaviour_.polls_run_work && !behaviour_.background) step(lock);
}

bool Scheduler::poll(Queue& queue) {
  Lock lock(mutex_);
  const bool is_empty = queue.waiting.empty();
  if (!is_empty) poll_step(lock);
  return is_empty;
}

bool Scheduler::poll(const Mark& mark) {
  Lock lock(mutex_);
  const bool is_done = is_reached(mark);
  if (!is_done) poll_step(lock);
  return is_done;
}

bool Scheduler::poll_blocking(int device) {
  Lock lock(mutex_);
  const bool is_done = std::all_of(queues_.begin(), queues_.end(), [&](const auto& q) {
    return q->device != device || q->kind == StreamKind::non_blocking || q->waiting.empty();
  });
  if (!is_done) poll_step(lock);
  return is_done;
}

bool Scheduler::is_done(const Mark& mark) {
  const Lock lock(mutex_);
  return is_reached(mark);
}

void Scheduler::hurry(std::shared_ptr<Mark> mark) {
  const Lock lock(mutex_);
  hurried_.push_back(std::move(mark));
  start_worker();
  work_to_do_.notify_all();
}

bool Scheduler::is_hurried() {
  std::erase_if(hurried_, [](const auto& mark) { return is_reached(*mark); });
  return !hurried_.empty();
}

void Scheduler::expect_others() {
  const Lock lock(mutex_);
  has_others_ = true;
}

std::uint64_t Scheduler::random() {
  const Lock lock(mutex_);
  return random_();
}

void Scheduler::drop(int device) {
  Lock lock(mutex_);
  const auto of_device = [&](const auto& q) { return q->device == device; };
  changed_.wait(lock, [&] {
    return std::none_of(queues_.begin(), queues_.end(),
                        [&](const auto& q) { return of_device(q) && q->is_running; });
  });
  for (const auto& queue : queues_) {
    if (!of_device(queue)) continue;
    for (const Operation& operation : queue->waiting) {
      if (operation.mark) reach(*operation.mark);
    }
    queue->waiting.clear();
  }
  std::erase_if(queues_, of_device);
  changed_.notify_all();
}

CUresult Scheduler::sticky(int device) const {
  const Lock lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  return index < sticky_.size() ? sticky_[index] : CUDA_SUCCESS;
}

void Scheduler::clear_sticky(int device) {
  const Lock lock(mutex_);
  if (static_cast<std::size_t>(device) < sticky_.size()) {
    sticky_[static_cast<std::size_t>(device)] = CUDA_SUCCESS;
  }
}

std::size_t Scheduler::pending_locked() const {
  std::size_t count = 0;
  for (const auto& queue : queues_) count += queue->waiting.size();
  return count;
}

std::size_t Scheduler::pending() const {
  const Lock lock(mutex_);
  return pending_locked();
}

std::int64_t Scheduler::operations() const {
  const Lock lock(mutex_);
  return operations_;
}

}  // namespace quarry::fake
