// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/staged/job.hpp"

namespace quarry::memory {

/// Threads that wait for jobs; the process has one set of them. They are started with the first
/// jobs and never end, so that a program may use them until it exits. After a job they poll for
/// the next one for a while before they sleep: waking a thread takes longer than copying a
/// megabyte.
class CopyThreads {
 public:
  static CopyThreads& instance();
  /// For Job::run: returns when the job is done, by the calling thread and up to `helpers` others.
  /// Jobs that run at the same time share the threads.
  void run(Job& job, std::size_t helpers) noexcept;

 private:
  struct Entry {
    Job* job;
    std::size_t most;
    std::atomic<std::size_t> now = 0;
  };
  /// The flag on which one thread sleeps. With one condition variable for all, a thread that wakes
  /// others would contend with those already woken.
  using WakeFlag = std::atomic<std::uint32_t>;  ///< 1: wake up

  void start_threads(std::size_t wanted);
  std::vector<WakeFlag*> post(Entry& entry) noexcept;
  std::vector<WakeFlag*> sleeping(std::size_t wanted);
  void help() noexcept;
  Entry* job_with_fewest_threads();

  std::mutex mutex_;
  std::condition_variable left_;
  std::vector<Entry*> entries_;
  std::vector<WakeFlag*> asleep_;
  std::size_t threads_ = 0, awake_ = 0;  ///< all; those that poll for work
  std::atomic<std::uint64_t> jobs_ = 0;  ///< so many have been brought
};

}  // namespace quarry::memory
