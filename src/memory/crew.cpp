// SPDX-License-Identifier: BSD-3-Clause
#include "memory/crew.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

namespace quarry::memory {
namespace {

constexpr std::size_t pieces_at_a_time = 16;  // then a thread looks where it is needed most
constexpr std::size_t most_threads = 32;
constexpr auto patience = std::chrono::microseconds(500);

/// Looks until `happened`, for a while, and lets other threads run meanwhile.
template <class F>
bool looks_out_for(const F& happened) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!happened()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

Crew& Crew::instance() {
  static auto* const crew = new Crew;  // its threads outlive the static objects
  return *crew;
}

void Crew::run(Job& job, std::size_t helpers) {
  Entry entry{&job, helpers};
  if (helpers > 0) {
    const std::lock_guard lock(mutex_);
    start_threads(std::min(helpers, most_threads));
    entries_.push_back(&entry);
    jobs_.fetch_add(1);
    call(helpers);
  }
  job.work(0);
  if (helpers == 0) return;
  std::unique_lock lock(mutex_);
  std::erase(entries_, &entry);
  lock.unlock();
  const auto is_left = [&] { return entry.now == 0; };
  if (looks_out_for(is_left)) return;
  lock.lock();
  left_.wait(lock, is_left);
}

/// Wakes as many as it takes beside those that look out for a job already.
void Crew::call(std::size_t helpers) {
  if (helpers <= awake_) return;
  if (helpers - awake_ >= asleep_) return wanted_.notify_all();
  for (std::size_t i = awake_; i < helpers; ++i) wanted_.notify_one();
}

/// Fewer than wanted, even none, where the system gives no more.
void Crew::start_threads(std::size_t wanted) {
  try {
    for (; threads_ < wanted; ++threads_) std::thread([this] { help(); }).detach();
  } catch (const std::system_error&) {
  }
}

Crew::Entry* Crew::neediest() {
  Entry* found = nullptr;
  for (Entry* const e : entries_) {
    if (e->now < e->most && e->job->has_work() && (!found || e->now < found->now)) found = e;
  }
  return found;
}

void Crew::help() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    Entry* const entry = neediest();
    if (entry) {
      ++entry->now;
      lock.unlock();
      entry->job->work(pieces_at_a_time);
      lock.lock();
      if (--entry->now == 0) left_.notify_all();
      continue;
    }
    const auto is_called = [this, seen = jobs_.load()] { return jobs_.load() != seen; };
    ++awake_;
    lock.unlock();
    const bool called = looks_out_for(is_called);
    lock.lock();
    --awake_;
    if (called) continue;
    ++asleep_;
    wanted_.wait(lock, is_called);
    --asleep_;
  }
}

}  // namespace quarry::memory
