// SPDX-License-Identifier: BSD-3-Clause
#include "memory/landing.hpp"
#include "memory/caches.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "memory/crew.hpp"
#include "memory/transfer_thresholds.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

constexpr std::size_t most_lanes = 4;
constexpr std::size_t one_piece_bytes = std::size_t{64} << 10;
constexpr std::size_t full_pieces = 64;  // of a copy: a driver's queue takes some hundred entries

/// Slots and the streams that fill them. A pier belongs to the stream that used it last until its
/// work there is done: downloads of other streams never wait behind it.
class Pier {
 public:
  Pier(backend::Device& device, std::size_t slot_bytes) : device_(device), bytes_(slot_bytes) {
    slots_.reserve(most_lanes);
    lanes_.reserve(most_lanes);
    done_ = device.create_event({.timing = false});  // last: nobody destroys half a pier
  }
  /// Nothing is on its way.
  ~Pier() {
    for (void* const memory : slots_) device_.free_host(memory);
    for (const Lane& lane : lanes_) device_.destroy_event(lane.end);
    device_.destroy_event(done_);
  }
  Pier(const Pier&) = delete;
  Pier& operator=(const Pier&) = delete;

  /// A stream that fills a slot, and the event of its end.
  struct Lane {
    Stream stream;
    backend::Event end;
  };

  /// Whether there are slots and lanes for `count` chunks.
  bool prepare(std::size_t count) {
    const std::size_t wanted = std::min(count, most_lanes);
    while (slots_.size() < wanted) {
      void* const memory = device_.allocate_host(bytes_, {.portable = true});
      if (!memory) break;
      slots_.push_back(static_cast<std::byte*>(memory));
    }
    while (count > 1 && lanes_.size() < slots_.size()) {
      const Stream s = quarry::stream({.non_blocking = true, .device = Device(device_)});
      lanes_.push_back({s, device_.create_event({.timing = false})});
    }
    return !slots_.empty();
  }

  bool is_usable(const Stream& stream, std::size_t bytes) const {
    return bytes_ == bytes && (last_.lock() == stream.shared() || device_.query(done_));
  }
  /// The lanes go on when `stream` is there.
  void start(const Stream& stream) {
    device_.record(done_, stream.state().native);
    for (const Lane& lane : lanes_) device_.wait(lane.stream.state().native, done_);
  }
  /// `stream` goes on when the lanes are there.
  void finish(const Stream& stream) {
    for (const Lane& lane : lanes_) {
      device_.record(lane.end, lane.stream.state().native);
      device_.wait(stream.state().native, lane.end);
    }
    device_.record(done_, stream.state().native);
    last_ = stream.shared();
  }
  bool is_of(const backend::Device& device) const { return &device_ == &device; }
  bool is_done() const noexcept {
    try {
      return device_.query(done_);
    } catch (const Error&) {
      return true;  // a lost device: nothing is on its way
    }
  }

  const std::vector<std::byte*>& slots() const { return slots_; }
  const std::vector<Lane>& lanes() const { return lanes_; }

 private:
  backend::Device& device_;
  const std::size_t bytes_;
  backend::Event done_ = nullptr;
  std::vector<std::byte*> slots_;
  std::vector<Lane> lanes_;
  std::weak_ptr<detail::StreamState> last_;
};

struct Piers {
  std::mutex mutex;
  std::map<backend::Device*, std::list<Pier>> idle;
  std::list<Pier> lost;  ///< of which nobody knows when they are done
  static Piers& instance() {
    static auto* const piers = new Piers;  // outlives the work that is queued at exit
    return *piers;
  }
};

/// A pier while a copy is queued: it goes back when the scope ends, also when it ends early.
class HeldPier {
 public:
  HeldPier(backend::Device& device, const Stream& stream, std::size_t slot_bytes) {
    [[maybe_unused]] static const bool registered = (add_trim(trim_landings), true);
    Piers& piers = Piers::instance();
    const std::lock_guard lock(piers.mutex);
    home_ = &piers.idle[&device];
    const auto found = std::find_if(home_->begin(), home_->end(), [&](const Pier& pier) {
      return pier.is_usable(stream, slot_bytes);
    });
    if (found == home_->end()) {
      pier_.emplace_back(device, slot_bytes);
    } else {
      pier_.splice(pier_.begin(), *home_, found);
    }
  }
  ~HeldPier() {
    const std::lock_guard lock(Piers::instance().mutex);
    home_->splice(home_->begin(), pier_);
  }
  HeldPier(const HeldPier&) = delete;
  HeldPier& operator=(const HeldPier&) = delete;

  Pier& operator*() { return pier_.front(); }
  Pier* operator->() { return &pier_.front(); }
  /// The pier is free again when `stream` is there. One of which that cannot be known is given up.
  void finish(const Stream& stream) {
    try {
      pier_.front().finish(stream);
    } catch (...) {
      home_ = &Piers::instance().lost;
      throw;
    }
  }

 private:
  std::list<Pier> pier_;  ///< one
  std::list<Pier>* home_;
};

std::size_t slot_bytes_for(std::size_t bytes, std::size_t chunk) {
  if (bytes <= one_piece_bytes) return std::min(one_piece_bytes, chunk);
  return std::max(std::min(chunk, std::bit_ceil(bytes / most_lanes)),
                  std::bit_ceil(bytes / full_pieces));
}

/// What the functions that empty slots share.
class Cargo {
 public:
  Cargo(const StagedCopy& copy, const TransferThresholds& t)
      : walk_(*copy.walk), on_host_(copy.on_host), block_(t.block_bytes), threads_(t.threads) {}

  void land(std::size_t first, std::size_t last, const std::byte* slot);
  /// The host memory is not touched any more: the copy has failed.
  void cancel() {
    const std::unique_lock lock(mutex_);
    is_cancelled_ = true;
  }

 private:
  class Chunk;

  const Walk walk_;
  std::byte* const on_host_;
  const std::size_t block_, threads_;
  std::shared_mutex mutex_;
  bool is_cancelled_ = false;
};

/// A chunk of a slot, whose blocks the crew puts in place.
class Cargo::Chunk final : public Job {
 public:
  Chunk(const Cargo& cargo, std::size_t first, std::size_t last, const std::byte* slot)
      : cargo_(cargo), first_(first), last_(last), slot_(slot), next_(first) {}

  std::size_t blocks() const { return (last_ - first_ + cargo_.block_ - 1) / cargo_.block_; }
  bool has_work() const noexcept override { return next_.load(std::memory_order_relaxed) < last_; }
  void work(std::size_t budget) noexcept override {
    const bool limited = budget > 0;
    try {
      while (!limited || budget-- > 0) {
        const std::size_t at = next_.fetch_add(cargo_.block_);
        if (at >= last_) return next_.store(last_);
        scatter(cargo_.walk_, cargo_.on_host_, at, std::min(at + cargo_.block_, last_),
                slot_ + (at - first_));
      }
    } catch (...) {
      next_.store(last_);
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const Cargo& cargo_;
  const std::size_t first_, last_;
  const std::byte* const slot_;
  std::atomic<std::size_t> next_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

void Cargo::land(std::size_t first, std::size_t last, const std::byte* slot) {
  const std::shared_lock lock(mutex_);
  if (is_cancelled_) return;
  Chunk chunk(*this, first, last, slot);
  Crew::instance().run(chunk, std::min(threads_, chunk.blocks()) - 1);
  chunk.rethrow();
}

/// A copy whose pieces land one after another; what goes wrong there is told by `home`.
struct Download {
  const StagedCopy& copy;
  const std::shared_ptr<Cargo>& cargo;
  const Stream& home;

  /// One chunk: into the slot, and from there to the host.
  void queue(std::size_t first, std::size_t last, std::byte* slot, const Stream& lane) const {
    copy.device->copy(
        {backend::Direction::device_to_host, slot, copy.on_device + first, last - first},
        lane.state().native, false);
    lane.add_callback([cargo = cargo, home = home, first, last, slot](const Stream&) {
      try {
        cargo->land(first, last, slot);
      } catch (...) {
        home.state().keep(std::current_exception());
      }
    });
  }

  void queue_all(const std::vector<std::size_t>& ends, Pier& pier) const {
    if (ends.size() == 1) return queue(0, ends[0], pier.slots()[0], home);
    pier.start(home);
    std::size_t first = 0;
    for (std::size_t k = 0; k < ends.size(); first = ends[k++]) {
      const std::size_t lane = k % pier.lanes().size();
      queue(first, ends[k], pier.slots()[lane], pier.lanes()[lane].stream);
    }
  }
};

}  // namespace

bool land_later(const StagedCopy& copy, const Stream& stream) {
  backend::Device& device = *copy.device;
  const TransferThresholds t = thresholds_of(device);
  // twice a chunk, since every call of the driver's function costs tens of microseconds
  const std::size_t bytes = copy.walk->bytes(), slot = slot_bytes_for(bytes, 2 * t.chunk_bytes);
  const auto ends = chunk_ends(bytes, bytes <= slot ? slot : slot / most_lanes, slot);
  const auto cargo = std::make_shared<Cargo>(copy, t);
  HeldPier pier(device, stream, slot);
  if (!pier->prepare(ends.size())) return false;
  try {
    Download{copy, cargo, stream}.queue_all(ends, *pier);
  } catch (...) {
    cargo->cancel();
    pier.finish(stream);
    throw;
  }
  try {
    pier.finish(stream);
  } catch (...) {
    cargo->cancel();
    throw;
  }
  return true;
}

void trim_landings(backend::Device& device) {
  Piers& piers = Piers::instance();
  std::list<Pier> lost;
  {
    const std::lock_guard lock(piers.mutex);
    piers.idle[&device].remove_if([](const Pier& pier) { return pier.is_done(); });
    for (auto at = piers.lost.begin(); at != piers.lost.end();) {
      const auto next = std::next(at);
      if (at->is_of(device)) lost.splice(lost.end(), piers.lost, at);
      at = next;
    }
  }
  if (lost.empty()) return;
  try {
    device.synchronize();  // then they are done
  } catch (...) {
    const std::lock_guard lock(piers.mutex);
    piers.lost.splice(piers.lost.end(), lost);
    throw;
  }
}

}  // namespace quarry::memory
