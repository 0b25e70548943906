// SPDX-License-Identifier: BSD-3-Clause
#include "memory/crew.hpp"

#include <algorithm>
#include <system_error>
#include <thread>

namespace quarry::memory {
namespace {

constexpr std::size_t pieces_at_a_time = 16;  // then a thread looks where it is needed most
constexpr std::size_t most_threads = 32;

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
  }
  for (std::size_t i = 0; i < helpers; ++i) wanted_.notify_one();
  job.work(0);
  if (helpers == 0) return;
  std::unique_lock lock(mutex_);
  std::erase(entries_, &entry);
  left_.wait(lock, [&] { return entry.now == 0; });
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
    if (!entry) {
      wanted_.wait(lock);
      continue;
    }
    ++entry->now;
    lock.unlock();
    entry->job->work(pieces_at_a_time);
    lock.lock();
    if (--entry->now == 0) left_.notify_all();
  }
}

}  // namespace quarry::memory
