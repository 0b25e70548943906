// SPDX-License-Identifier: BSD-3-Clause
// FOR HELPER G: read src/memory/READ_ME_HELPER_G_measurements.txt (GPU measurements), then remove this line
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

#include "memory/crew.hpp"
#include "memory/staging_ring.hpp"
#include "memory/transfer_thresholds.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

using enum backend::Direction;

/// A slot while a thread holds it: returned to the ring when the scope ends.
class Held {
 public:
  Held(Ring& ring, backend::Device& device, const Slot& slot)
      : ring_(&ring), device_(&device), slot_(slot) {}
  Held(Held&& other) noexcept
      : ring_(other.ring_), device_(other.device_), slot_(std::exchange(other.slot_, {})) {}
  Held& operator=(Held&&) = delete;
  ~Held() {
    if (!slot_.memory) return;
    is_loose_ ? ring_->abandon(slot_) : ring_->release(slot_);
  }

  std::byte* memory() const { return slot_.memory; }
  void copy(const backend::Copy& copy, backend::Stream stream) {
    device_->copy(copy, stream, false);
    is_loose_ = true;  // until its end is known
    try {
      device_->record(slot_.event, stream);
    } catch (...) {
      device_->synchronize(stream);  // throws on a lost device: then the slot is given up
      is_loose_ = false;
      throw;
    }
    is_loose_ = false;
  }
  void wait() const { device_->wait(slot_.event); }

 private:
  Ring* ring_;
  backend::Device* device_;
  Slot slot_;
  bool is_loose_ = false;
};

class StagedJob final : public Job {
 public:
  StagedJob(const StagedCopy& copy, std::span<const Stream> streams, std::size_t chunk)
      : copy_(copy),
        ring_(Ring::of(*copy.device)),
        streams_(streams),
        bytes_(copy.walk->bytes()),
        chunk_(chunk),
        count_((bytes_ + chunk - 1) / chunk) {}

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
    backend::Stream stream;
    std::size_t bytes() const { return last - first; }
  };
  struct Landing {
    Chunk chunk;
    Held slot;
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
    chunk = {first, std::min(bytes_, first + chunk_), streams_[i % streams_.size()].state().native};
    return true;
  }

  std::optional<Held> held(std::optional<Slot> slot) {
    if (!slot) return std::nullopt;
    return Held(ring_, *copy_.device, *slot);
  }

  void up(std::size_t budget) {
    const bool limited = budget > 0;
    for (Chunk c; take(budget, limited, c);) {
      auto slot = held(ring_.acquire(chunk_));
      if (!slot) {
        up_without_slot(c);
        continue;
      }
      gather(*copy_.walk, copy_.on_host, c.first, c.last, slot->memory());
      slot->copy({host_to_device, copy_.on_device + c.first, slot->memory(), c.bytes()}, c.stream);
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
      slot->copy({device_to_host, slot->memory(), copy_.on_device + c.first, c.bytes()}, c.stream);
      landing.push_back({c, std::move(*slot)});
      if (landing.size() == depth) land(landing);
    }
    while (!landing.empty()) land(landing);
  }

  /// Waits only with empty hands: else all slots could be held by threads that wait for one more.
  std::optional<Held> slot_beside(std::deque<Landing>& landing) {
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
                       c.stream, true);
  }
  void down_without_slot(const Chunk& c) {
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(c.bytes());
    copy_.device->copy({device_to_host, memory.get(), copy_.on_device + c.first, c.bytes()},
                       c.stream, true);
    scatter(*copy_.walk, copy_.on_host, c.first, c.last, memory.get());
  }

  const StagedCopy copy_;
  Ring& ring_;
  const std::span<const Stream> streams_;
  const std::size_t bytes_, chunk_, count_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void run_staged(const StagedCopy& copy, std::span<const Stream> streams) {
  const TransferThresholds t = thresholds_of(*copy.device);
  StagedJob job(copy, streams, chunk_bytes(copy.walk->bytes(), t));
  Crew::instance().run(job, std::min(t.threads, job.count()) - 1);
  try {
    job.rethrow();
  } catch (...) {
    for (const Stream& s : streams) s.state().device->synchronize(s.state().native);
    throw;
  }
}

void join(const Stream& stream, std::span<const Stream> streams) {
  for (const Stream& other : streams) {
    backend::Device& device = *other.state().device;
    const backend::Event event = device.create_event({.timing = false});
    try {
      device.record(event, other.state().native);
      stream.state().device->wait(stream.state().native, event);
    } catch (...) {
      device.destroy_event(event);
      throw;
    }
    device.destroy_event(event);
  }
}

}  // namespace quarry::memory
