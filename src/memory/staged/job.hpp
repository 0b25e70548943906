// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>

namespace quarry::memory {

/// Numbered pieces of work that several threads take in turn. The first error is kept, and after it
/// no more pieces are started.
class Job {
 public:
  explicit Job(std::size_t pieces) : count_(pieces) {}
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Returns when all pieces are done, by the calling thread and copy threads: `threads` in all, or
  /// fewer where there are fewer pieces. Throws the first error of any thread.
  void run(std::size_t threads);

  bool has_work() const noexcept { return next_.load(std::memory_order_relaxed) < count_; }
  /// For a copy thread: does up to so many pieces.
  void work(std::size_t most) noexcept;

 protected:
  /// The pieces that one thread takes before it looks for other work.
  class Share {
   public:
    Share(Job& job, std::size_t most) : job_(job), left_(most) {}
    /// The next piece, counted from 0. Returns false when there is none for this thread.
    bool take(std::size_t& piece) noexcept;

   private:
    Job& job_;
    std::size_t left_;
  };

  /// Takes pieces of the share until there are none. Called by several threads at once.
  virtual void do_share(Share& share) = 0;
  bool has_failed() const noexcept { return has_failed_.load(std::memory_order_relaxed); }

 private:
  void fail(std::exception_ptr error) noexcept;

  const std::size_t count_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace quarry::memory
