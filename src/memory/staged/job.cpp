// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/job.hpp"

#include <algorithm>
#include <utility>

#include "memory/staged/copy_threads.hpp"

namespace quarry::memory {

void Job::run(std::size_t threads) {
  const std::size_t most = std::max<std::size_t>(std::min(threads, count_), 1);
  CopyThreads::instance().run(*this, most - 1);
  if (error_) std::rethrow_exception(error_);
}

void Job::work(std::size_t most) noexcept {
  Share share(*this, most);
  try {
    do_share(share);
  } catch (...) {
    fail(std::current_exception());
  }
}

void Job::fail(std::exception_ptr error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  has_failed_.store(true);
  next_.store(count_);
}

bool Job::Share::take(std::size_t& piece) noexcept {
  if (left_ == 0) return false;
  --left_;
  piece = job_.next_.fetch_add(1);
  if (piece < job_.count_) return true;
  job_.next_.store(job_.count_);
  return false;
}

}  // namespace quarry::memory
