// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staging.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "memory/convoy.hpp"
#include "memory/crew.hpp"
#include "memory/held_slot.hpp"
#include "memory/transfer_thresholds.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

using enum backend::Direction;

/// A staged copy of memory in short runs: each thread has chunks and slots of its own.
class StagedJob final : public Job {
 public:
  StagedJob(const StagedCopy& copy, const Stream& stream, std::size_t chunk, Stores stores)
      : copy_(copy),
        ring_(Ring::of(*copy.device, Ring::Load::short_runs)),
        stream_(stream),
        bytes_(copy.walk->bytes()),
        chunk_(chunk),
        count_((bytes_ + chunk - 1) / chunk),
        stores_(stores) {}

  std::size_t count() const { return count_; }
  bool has_work() const noexcept override { return next_.load(std::memory_order_relaxed) < count_; }
  void work(std::size_t budget) noexcept override {
    try {
      copy_.direction == host_to_device ? up(budget) : down(budget);
    } catch (...) {
      next_.store(count_);
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Chunk {
    std::size_t first, last;
    std::size_t bytes() const { return last - first; }
  };
  struct Landing {
    Chunk chunk;
    HeldSlot slot;
  };
  static constexpr std::size_t depth = 3;  ///< chunks of one thread on their way down

  bool take(std::size_t& budget, bool limited, Chunk& chunk) {
    if (limited && budget-- == 0) return false;
    const std::size_t i = next_.fetch_add(1);
    if (i >= count_) {
      next_.store(count_);
      return false;
    }
    const std::size_t first = i * chunk_;
    chunk = {first, std::min(bytes_, first + chunk_)};
    return true;
  }

  std::optional<HeldSlot> held(std::optional<Slot> slot) {
    return HeldSlot::of(ring_, *copy_.device, slot);
  }

  void up(std::size_t budget) {
    const bool limited = budget > 0;
    for (Chunk c; take(budget, limited, c);) {
      auto slot = held(ring_.acquire(chunk_));
      if (!slot) {
        up_without_slot(c);
        continue;
      }
      gather(*copy_.walk, copy_.on_host, c.first, c.last, slot->memory(), stores_);
      slot->copy({host_to_device, copy_.on_device + c.first, slot->memory(), c.bytes()}, stream_);
    }
  }

  void down(std::size_t budget) {
    const bool limited = budget > 0;
    std::deque<Landing> landing;
    for (Chunk c; take(budget, limited, c);) {
      auto slot = slot_beside(landing);
      if (!slot) {
        down_without_slot(c);
        continue;
      }
      slot->copy({device_to_host, slot->memory(), copy_.on_device + c.first, c.bytes()}, stream_);
      landing.push_back({c, std::move(*slot)});
      if (landing.size() == depth) land(landing);
    }
    while (!landing.empty()) land(landing);
  }

  /// Waits only with empty hands: else all slots could be held by threads that wait for one more.
  std::optional<HeldSlot> slot_beside(std::deque<Landing>& landing) {
    while (!landing.empty()) {
      if (auto slot = held(ring_.try_acquire(chunk_))) return slot;
      land(landing);
    }
    return held(ring_.acquire(chunk_));
  }

  void land(std::deque<Landing>& landing) {
    const Landing& first = landing.front();
    first.slot.wait();
    scatter(*copy_.walk, copy_.on_host, first.chunk.first, first.chunk.last, first.slot.memory());
    landing.pop_front();
  }

  void up_without_slot(const Chunk& c) {
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(c.bytes());
    gather(*copy_.walk, copy_.on_host, c.first, c.last, memory.get());
    copy_.device->copy({host_to_device, copy_.on_device + c.first, memory.get(), c.bytes()},
                       stream_.state().native, true);
  }
  void down_without_slot(const Chunk& c) {
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(c.bytes());
    copy_.device->copy({device_to_host, memory.get(), copy_.on_device + c.first, c.bytes()},
                       stream_.state().native, true);
    scatter(*copy_.walk, copy_.on_host, c.first, c.last, memory.get());
  }

  const StagedCopy copy_;
  Ring& ring_;
  const Stream& stream_;
  const std::size_t bytes_, chunk_, count_;
  const Stores stores_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

void run_chunks(const StagedCopy& copy, const Stream& stream, const TransferThresholds& t) {
  const std::size_t bytes = copy.walk->bytes();
  const Stores stores = bytes <= t.uncached_strided_bytes ? Stores::uncached : Stores::cached;
  StagedJob job(copy, stream, strided_chunk(bytes, t), stores);
  Crew::instance().run(job, std::min(t.strided_threads, job.count()) - 1);
  job.rethrow();
}

/// False where there is no page-locked memory.
bool run_convoy(const StagedCopy& copy, const Stream& stream, const TransferThresholds& t) {
  Ring& ring = Ring::of(*copy.device);
  const auto ends = chunk_ends(copy.walk->bytes(), t.least_chunk, t.chunk_bytes);
  const std::size_t wanted = std::min(ends.size(), t.convoy_slots);
  std::vector<HeldSlot> slots;
  slots.reserve(wanted);
  auto slot = ring.acquire(t.chunk_bytes);
  while (slot) {
    slots.push_back(*HeldSlot::of(ring, *copy.device, slot));
    if (slots.size() == wanted) break;
    slot = ring.try_acquire(t.chunk_bytes);
  }
  if (slots.empty()) return false;
  Convoy convoy(copy, stream, slots, ends, t);
  convoy.start();
  Crew::instance().run(convoy, convoy.threads() - 1);
  convoy.rethrow();
  return true;
}

}  // namespace

void run_staged(const StagedCopy& copy, const Stream& stream) {
  const TransferThresholds t = thresholds_of(*copy.device);
  try {
    if (!copy.walk->has_long_runs() || !run_convoy(copy, stream, t)) {
      run_chunks(copy, stream, t);
    }
  } catch (...) {
    copy.device->synchronize(stream.state().native);
    throw;
  }
}

}  // namespace quarry::memory
