// SPDX-License-Identifier: BSD-3-Clause
#include "memory/write_log.hpp"

#include <quarry/base/overlap.hpp>

#include <deque>
#include <mutex>

#include "base/environment.hpp"
#include "base/forked.hpp"

namespace quarry {

std::atomic<std::uint64_t> detail::writes_logged = 0;

namespace memory {
namespace {

/// The latest writes; the last one has the number writes_logged.
struct Log {
  static constexpr std::size_t capacity = std::size_t{1} << 16;
  std::mutex mutex;
  std::deque<Elements> latest;
};
Log& log() {
  static auto* const log = new Log;  // streams may write until the process ends
  return *log;
}

}  // namespace

bool checked_mode() {
  static const bool checked = environment::is_checked();
  return checked;
}

void log_write(Elements written) {
  require_not_forked();  // a thread missing in the child may hold the lock
  const std::lock_guard lock(log().mutex);
  if (log().latest.size() == Log::capacity) log().latest.pop_front();
  log().latest.push_back(std::move(written));
  detail::writes_logged.fetch_add(1, std::memory_order_relaxed);
}

bool written_since(std::uint64_t count, const Elements& read) {
  require_not_forked();
  const std::lock_guard lock(log().mutex);
  std::uint64_t number = detail::write_count();
  for (auto w = log().latest.rbegin(); w != log().latest.rend() && number > count; ++w, --number) {
    if (overlap(w->data, w->layout, w->itemsize, read.data, read.layout, read.itemsize) !=
        Overlap::disjoint) {
      return true;
    }
  }
  return false;
}

}  // namespace memory
}  // namespace quarry
