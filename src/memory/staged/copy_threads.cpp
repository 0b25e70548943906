// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/copy_threads.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <system_error>
#include <thread>

namespace quarry::memory {
namespace {

constexpr std::size_t pieces_at_a_time = 16;  // then a thread looks for the job that needs it most
constexpr std::size_t most_threads = 32;
constexpr auto patience = std::chrono::microseconds(500);

/// Polls `happened` for a while, and yields to other threads meanwhile.
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

CopyThreads& CopyThreads::instance() {
  static auto* const threads = new CopyThreads;  // its threads outlive the static objects
  return *threads;
}

void CopyThreads::run(Job& job, std::size_t helpers) noexcept {
  Entry entry{&job, helpers};
  const std::vector<WakeFlag*> flags = helpers > 0 ? post(entry) : std::vector<WakeFlag*>();
  for (WakeFlag* const flag : flags) {
    flag->store(1);
    flag->notify_one();
  }
  job.work(SIZE_MAX);
  if (helpers == 0) return;
  std::unique_lock lock(mutex_);
  std::erase(entries_, &entry);
  lock.unlock();
  const auto is_left = [&] { return entry.now == 0; };
  if (looks_out_for(is_left)) return;
  lock.lock();
  left_.wait(lock, is_left);
}

/// Opens the job to helpers; returns the sleeping ones to wake. Without memory for that no thread
/// is notified, and the caller works alone.
std::vector<CopyThreads::WakeFlag*> CopyThreads::post(Entry& entry) noexcept try {
  const std::lock_guard lock(mutex_);
  start_threads(std::min(entry.most, most_threads));
  entries_.reserve(entries_.size() + 1);
  std::size_t wanted = entry.most;
  for (const Entry* const other : entries_) {
    if (other->job->has_work()) wanted += other->most - std::min(other->most, other->now.load());
  }
  std::vector<WakeFlag*> flags = sleeping(wanted - std::min(wanted, awake_));
  entries_.push_back(&entry);
  jobs_.fetch_add(1);
  return flags;
} catch (const std::bad_alloc&) {
  return {};
}

std::vector<CopyThreads::WakeFlag*> CopyThreads::sleeping(std::size_t wanted) {
  const auto first = asleep_.end() - static_cast<std::ptrdiff_t>(std::min(wanted, asleep_.size()));
  std::vector<WakeFlag*> flags(first, asleep_.end());
  asleep_.erase(first, asleep_.end());
  return flags;
}

/// Starts fewer than wanted, even none, if the system refuses more.
void CopyThreads::start_threads(std::size_t wanted) {
  asleep_.reserve(most_threads);
  try {
    for (; threads_ < wanted; ++threads_) std::thread([this] { help(); }).detach();
  } catch (const std::system_error&) {
  }
}

CopyThreads::Entry* CopyThreads::job_with_fewest_threads() {
  Entry* found = nullptr;
  for (Entry* const e : entries_) {
    if (e->now < e->most && e->job->has_work() && (!found || e->now < found->now)) found = e;
  }
  return found;
}

void CopyThreads::help() noexcept {
  WakeFlag flag = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    Entry* const entry = job_with_fewest_threads();
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
    if (called || is_called()) continue;
    asleep_.push_back(&flag);
    lock.unlock();
    flag.wait(0);
    flag.store(0);
    lock.lock();
  }
}

}  // namespace quarry::memory
