// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/left_work.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <new>

#include "base/forked.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::detail {
namespace {

using Left = WaitForWork::Left;

/// Of all streams, in the order of their launches. Each piece once for each stream.
struct All {
  std::mutex mutex;
  std::vector<Left> list;
  std::atomic<std::size_t> count = 0;  ///< of the list, for those who need no more

  /// Moves those that are wanted out of the list.
  std::vector<Left> take(const auto& is_wanted) {
    const auto first = std::stable_partition(list.begin(), list.end(),
                                             [&](const Left& left) { return !is_wanted(left); });
    std::vector<Left> taken(std::make_move_iterator(first), std::make_move_iterator(list.end()));
    list.erase(first, list.end());
    return taken;
  }
  static All& instance() {
    static auto* const all = new All;  // streams end when the process does
    return *all;
  }
};

bool is_of(const Left& left, const StreamState* state) {
  return left.state == state && !left.is_alive.expired();
}

/// Those that are wanted, which are in the list no more.
std::vector<Left> take(const auto& is_wanted) {
  All& all = All::instance();
  if (all.count.load(std::memory_order_acquire) == 0) return {};
  require_not_forked();
  const std::lock_guard lock(all.mutex);
  std::vector<Left> taken = all.take(is_wanted);
  all.count.store(all.list.size(), std::memory_order_release);
  return taken;
}

/// Behind the others of the list, unless it has the same already.
void put(All& all, Left&& left) {
  const bool is_there = std::ranges::any_of(all.list, [&](const Left& other) {
    return other.left == left.left && is_of(other, left.state);
  });
  if (!is_there) all.list.push_back(std::move(left));
}

}  // namespace

void leave(const Stream& stream, const std::shared_ptr<LeftForHost>& left) {
  StreamState& state = stream.state();
  All& all = All::instance();
  std::vector<Left> settled;  // destroyed without the lock
  const std::lock_guard lock(all.mutex);
  settled = all.take([](const Left& other) { return other.left->is_settled(); });
  put(all, {state.device, &state, state.weak_from_this(), left});
  all.count.store(all.list.size(), std::memory_order_release);
}

WaitForWork::WaitForWork(const Stream& stream)
    : taken_(take([&](const Left& left) { return is_of(left, &stream.state()); })) {}
WaitForWork::WaitForWork(const backend::Device& device)
    : taken_(take([&](const Left& left) { return left.device == &device; })) {}

WaitForWork::~WaitForWork() {
  if (taken_.empty()) return;
  All& all = All::instance();
  const std::lock_guard lock(all.mutex);
  try {
    for (Left& left : taken_) put(all, std::move(left));
  } catch (const std::bad_alloc&) {  // then the host does not learn of it
  }
  all.count.store(all.list.size(), std::memory_order_release);
}

void WaitForWork::rethrow() {
  for (; !taken_.empty(); taken_.erase(taken_.begin())) taken_.front().left->rethrow();
}

}  // namespace quarry::detail
