// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace quarry::memory {

/// Work that several threads do together.
class Job {
 public:
  virtual ~Job() = default;
  /// Does a share of it on the calling thread: all that is left, or for `budget` > 0 so many
  /// pieces. Called by several threads at once. Errors are the job's to keep.
  virtual void work(std::size_t budget) noexcept = 0;
  virtual bool has_work() const noexcept = 0;
};

/// Threads that wait for jobs; the process has one set of them. They are started when there is
/// something to do and never end, so that a program may use them until its last line.
class Crew {
 public:
  static Crew& instance();
  /// Returns when the job is done, by the calling thread and up to `helpers` others. Jobs that run
  /// at the same time share the threads.
  void run(Job& job, std::size_t helpers);

 private:
  struct Entry {
    Job* job;
    std::size_t most, now = 0;
  };
  void start_threads(std::size_t wanted);
  void help() noexcept;
  Entry* neediest();

  std::mutex mutex_;
  std::condition_variable wanted_, left_;
  std::vector<Entry*> entries_;
  std::size_t threads_ = 0;
};

}  // namespace quarry::memory
