// SPDX-License-Identifier: BSD-3-Clause
#include "memory/landing.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <bit>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cpu/threads.hpp"
#include "memory/pool_state.hpp"
#include "memory/transfer_thresholds.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

constexpr std::size_t lanes = 3;
constexpr std::size_t small_bytes = std::size_t{64} << 10;
constexpr std::size_t most_chunks = 128;  // a driver's queue takes about a thousand entries
constexpr std::int64_t share_bytes = std::int64_t{256} << 10;

/// Slots and the streams that fill them. A pier belongs to the stream that used it last until its
/// work there is done: downloads of other streams never wait behind it.
class Pier {
 public:
  Pier(backend::Device& device, std::size_t slot_bytes) : device_(device), bytes_(slot_bytes) {}
  ~Pier() {
    for (void* const memory : slots_) device_.free_host(memory);
    if (done_) device_.destroy_event(done_);
  }
  Pier(const Pier&) = delete;
  Pier& operator=(const Pier&) = delete;

  /// Whether there are slots and streams for `count` chunks.
  bool prepare(std::size_t count) {
    if (!done_) done_ = device_.create_event({.timing = false});
    const std::size_t wanted = std::min(count, lanes);
    while (slots_.size() < wanted) {
      void* const memory = device_.allocate_host(bytes_, {.portable = true});
      if (!memory) break;
      slots_.push_back(static_cast<std::byte*>(memory));
    }
    while (count > 1 && streams_.size() < slots_.size()) {
      streams_.push_back(quarry::stream({.non_blocking = true, .device = Device(device_)}));
    }
    return !slots_.empty();
  }

  bool is_usable(const Stream& stream, std::size_t bytes) const {
    return bytes_ == bytes && (last_.lock() == stream.shared() || device_.query(done_));
  }
  void finish(const Stream& stream) {
    device_.record(done_, stream.state().native);
    last_ = stream.shared();
  }
  bool is_done() const noexcept {
    try {
      return device_.query(done_);
    } catch (const Error&) {
      return true;  // a lost device: nothing is on its way
    }
  }

  std::size_t slot_bytes() const { return bytes_; }
  const std::vector<std::byte*>& slots() const { return slots_; }
  std::span<const Stream> streams() const { return {streams_.data(), streams_.size()}; }

 private:
  backend::Device& device_;
  const std::size_t bytes_;
  std::vector<std::byte*> slots_;
  std::vector<Stream> streams_;
  backend::Event done_ = nullptr;
  std::weak_ptr<detail::StreamState> last_;
};

struct Piers {
  std::mutex mutex;
  std::map<backend::Device*, std::list<std::unique_ptr<Pier>>> idle;
  static Piers& instance() {
    static auto* const piers = new Piers;  // outlives the work that is queued at exit
    return *piers;
  }
};

std::unique_ptr<Pier> take_pier(backend::Device& device, const Stream& stream,
                                std::size_t slot_bytes) {
  [[maybe_unused]] static const bool registered = (add_trim(trim_landings), true);
  Piers& piers = Piers::instance();
  const std::lock_guard lock(piers.mutex);
  auto& idle = piers.idle[&device];
  for (auto it = idle.begin(); it != idle.end(); ++it) {
    if (!(*it)->is_usable(stream, slot_bytes)) continue;
    auto found = std::move(*it);
    idle.erase(it);
    return found;
  }
  return std::make_unique<Pier>(device, slot_bytes);
}

void give_back(backend::Device& device, std::unique_ptr<Pier> pier) {
  Piers& piers = Piers::instance();
  const std::lock_guard lock(piers.mutex);
  piers.idle[&device].push_front(std::move(pier));
}

std::size_t slot_bytes_for(std::size_t bytes, std::size_t chunk) {
  if (bytes <= small_bytes) return std::min(small_bytes, chunk);
  return std::max(chunk, std::bit_ceil(bytes / most_chunks));
}

/// What the functions that empty slots share.
struct Cargo {
  Walk walk;
  std::byte* on_host;

  void land(std::size_t first, std::size_t last, const std::byte* slot) const {
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      const auto at = static_cast<std::size_t>(begin);
      scatter(walk, on_host, first + at, first + static_cast<std::size_t>(end), slot + at);
    };
    backend::cpu_backend::parallel(static_cast<std::int64_t>(last - first), share_bytes, part);
  }
};

/// One chunk: into the slot, and from there to the host.
void queue_chunk(const StagedCopy& copy, const std::shared_ptr<const Cargo>& cargo,
                 std::size_t first, std::size_t last, std::byte* slot, const Stream& stream) {
  copy.device->copy(
      {backend::Direction::device_to_host, slot, copy.on_device + first, last - first},
      stream.state().native, false);
  stream.add_callback([=](const Stream&) { cargo->land(first, last, slot); });
}

void queue_all(const StagedCopy& copy, const Pier& pier, const Stream& stream) {
  const std::size_t bytes = copy.walk->bytes(), chunk = pier.slot_bytes();
  const auto cargo = std::make_shared<const Cargo>(Cargo{*copy.walk, copy.on_host});
  if (bytes <= chunk) return queue_chunk(copy, cargo, 0, bytes, pier.slots()[0], stream);
  const auto streams = pier.streams();
  for (const Stream& s : streams) join(s, {&stream, 1});
  for (std::size_t first = 0, lane = 0; first < bytes; first += chunk, ++lane) {
    const std::size_t k = lane % streams.size();
    queue_chunk(copy, cargo, first, std::min(bytes, first + chunk), pier.slots()[k], streams[k]);
  }
}

/// The pier is free again when `stream` is there. One of which that cannot be known is given up.
void finish(backend::Device& device, std::unique_ptr<Pier> pier, const Stream& stream) {
  try {
    join(stream, pier->streams());
    pier->finish(stream);
  } catch (...) {
    static_cast<void>(pier.release());
    throw;
  }
  give_back(device, std::move(pier));
}

}  // namespace

bool land_later(const StagedCopy& copy, const Stream& stream) {
  backend::Device& device = *copy.device;
  const std::size_t bytes = copy.walk->bytes();
  const std::size_t slot = slot_bytes_for(bytes, thresholds_of(device).chunk_bytes);
  auto pier = take_pier(device, stream, slot);
  if (!pier->prepare((bytes + slot - 1) / slot)) return false;
  try {
    queue_all(copy, *pier, stream);
  } catch (...) {
    finish(device, std::move(pier), stream);
    throw;
  }
  finish(device, std::move(pier), stream);
  return true;
}

void trim_landings(backend::Device& device) {
  Piers& piers = Piers::instance();
  std::list<std::unique_ptr<Pier>> dead;
  const std::lock_guard lock(piers.mutex);
  auto& idle = piers.idle[&device];
  for (auto it = idle.begin(); it != idle.end();) {
    const auto next = std::next(it);
    if ((*it)->is_done()) dead.splice(dead.end(), idle, it);
    it = next;
  }
}

}  // namespace quarry::memory
