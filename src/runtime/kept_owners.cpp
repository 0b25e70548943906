// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/kept_owners.hpp"

#include <atomic>
#include <list>
#include <mutex>
#include <new>

#include "base/forked.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry::detail {
namespace {

struct Kept {
  std::shared_ptr<void> owner;
  UnfinishedWork unfinished;
};

struct KeptOwners {
  std::mutex mutex;
  std::list<Kept> all;
  std::atomic<std::size_t> count = 0;
  static KeptOwners& instance() {
    static auto* const owners = new KeptOwners;  // outlives the work that is queued at exit
    return *owners;
  }
};

}  // namespace

void keep_until_done(std::shared_ptr<void> owner, const Stream& home,
                     std::span<const Stream> others) noexcept {
  if (is_forked()) return;
  UnfinishedWork unfinished(home, others);
  if (unfinished.is_empty()) return;
  std::list<Kept> kept;
  try {
    kept.emplace_back();
  } catch (const std::bad_alloc&) {
    return unfinished.wait();
  }
  kept.front() = {std::move(owner), std::move(unfinished)};
  KeptOwners& owners = KeptOwners::instance();
  const std::lock_guard lock(owners.mutex);
  owners.all.splice(owners.all.end(), kept);
  ++owners.count;
}

void end_kept_owners(std::size_t patience) noexcept {
  KeptOwners& owners = KeptOwners::instance();
  if (owners.count.load(std::memory_order_relaxed) == 0) return;
  std::list<Kept> done;  // destroyed after the unlock: an owner's destructor may do anything
  const std::lock_guard lock(owners.mutex);
  for (std::size_t left = owners.all.size(), at_work = 0; left > 0 && at_work < patience; --left) {
    const bool is_done = owners.all.front().unfinished.is_done();
    at_work += !is_done;
    owners.count -= is_done;
    std::list<Kept>& to = is_done ? done : owners.all;
    to.splice(to.end(), owners.all, owners.all.begin());
  }
}

}  // namespace quarry::detail
