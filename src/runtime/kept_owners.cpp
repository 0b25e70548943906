// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/kept_owners.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <mutex>
#include <vector>

#include "base/forked.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::detail {
namespace {

struct DestroyEvent {
  backend::Device* device;
  void operator()(void* event) const noexcept { device->destroy_event(event); }
};
using End = std::unique_ptr<void, DestroyEvent>;  ///< of what one stream held

struct Kept {
  std::shared_ptr<void> owner;
  std::vector<End> unfinished;

  void add_unfinished(const Stream& stream) {
    const StreamState& state = stream.state();
    backend::Device& device = *state.device;
    if (!state.is_of_this_thread()) return device.drain();
    if (device.is_done(state.native)) return;
    End end(device.create_event({.timing = false, .order_only = true}), DestroyEvent{&device});
    device.record(end.get(), state.native);
    unfinished.push_back(std::move(end));
  }
  bool is_done() noexcept {
    try {
      std::erase_if(unfinished,
                    [](const End& end) { return end.get_deleter().device->query(end.get()); });
      return unfinished.empty();
    } catch (const std::exception&) {  // a lost device does nothing more
      return true;
    }
  }
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
  std::list<Kept> kept;
  try {
    kept.emplace_back().add_unfinished(home);
    for (const Stream& other : others) kept.front().add_unfinished(other);
  } catch (const std::exception&) {
    home.state().device->drain();
    for (const Stream& other : others) other.state().device->drain();
    return;
  }
  if (kept.front().unfinished.empty()) return;
  kept.front().owner = std::move(owner);
  KeptOwners& owners = KeptOwners::instance();
  const std::lock_guard lock(owners.mutex);
  owners.all.splice(owners.all.end(), kept);
  ++owners.count;
}

void end_kept_owners(std::size_t patience) noexcept {
  KeptOwners& owners = KeptOwners::instance();
  if (owners.count.load(std::memory_order_relaxed) == 0) return;
  std::list<Kept> done;  // goes after the lock: owners may be anything
  const std::lock_guard lock(owners.mutex);
  for (std::size_t left = owners.all.size(), at_work = 0; left > 0 && at_work < patience; --left) {
    const bool is_done = owners.all.front().is_done();
    at_work += !is_done;
    owners.count -= is_done;
    std::list<Kept>& to = is_done ? done : owners.all;
    to.splice(to.end(), owners.all, owners.all.begin());
  }
}

}  // namespace quarry::detail
