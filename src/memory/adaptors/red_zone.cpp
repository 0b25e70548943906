// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/red_zone.hpp>

#include <fmt/format.h>

#include <bit>
#include <deque>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>

#include "base/forked.hpp"
#include "memory/adaptors/guarded_block.hpp"
#include "memory/resource/stream_order.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {

using memory::GuardedBlock;

std::string to_string(MemoryFaultKind kind) {
  switch (kind) {
    case MemoryFaultKind::overwritten_before:
      return "overwritten before its start";
    case MemoryFaultKind::overwritten_after:
      return "overwritten after its end";
    case MemoryFaultKind::used_after_free:
      return "written to after it was freed";
    case MemoryFaultKind::double_free:
      return "freed twice";
    case MemoryFaultKind::foreign_pointer:
      return "freed, but not a block of this resource";
    case MemoryFaultKind::wrong_size:
      break;
  }
  return "freed with another size or alignment";
}

std::string to_string(const MemoryFault& f) {
  const std::string what = to_string(f.kind);
  if (f.number == 0) return fmt::format("{}: {}", f.block, what);
  std::string text =
      fmt::format("block #{} of {} bytes at {}: {}", f.number, f.bytes, f.block, what);
  switch (f.kind) {
    case MemoryFaultKind::overwritten_before:
    case MemoryFaultKind::overwritten_after:
    case MemoryFaultKind::used_after_free:
      return text + fmt::format("; the first such byte is at offset {}", f.offset);
    default:
      return text;
  }
}

struct RedZone::State {
  State(Resource up, const RedZoneOptions& o)
      : upstream(std::move(up)), options(o), by_host(memory::is_touched_by_host(upstream)) {}
  ~State() {
    if (is_forked()) return;
    while (release_oldest(0)) {
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  GuardedBlock plan(const Stream& stream, std::size_t bytes, std::size_t alignment) const;
  void* from_upstream(const Stream& stream, std::size_t bytes, std::size_t alignment);
  std::optional<GuardedBlock> take(void* memory, std::size_t bytes, std::size_t alignment) noexcept;
  void inspect(GuardedBlock& block, std::span<const Stream> others) noexcept;
  void put_away(const GuardedBlock& block) noexcept;
  bool release_oldest(std::size_t most) noexcept;
  void tell(const MemoryFault& fault) noexcept;
  void record(const MemoryFault& fault);

  const Resource upstream;
  const RedZoneOptions options;
  const bool by_host;
  std::mutex mutex;
  std::uint64_t count = 0;
  std::map<void*, GuardedBlock> live;
  std::deque<GuardedBlock> quarantine;
  std::size_t quarantined = 0;
  std::vector<MemoryFault> faults;
};

// --- faults --------------------------------------------------------------------------------------

void RedZone::State::record(const MemoryFault& fault) {
  const std::lock_guard lock(mutex);
  faults.push_back(fault);
}

void RedZone::State::tell(const MemoryFault& fault) noexcept try {
  record(fault);
  if (options.handler) return options.handler(fault);
  std::cerr << fmt::format("quarry: {} on {}: {}\n", upstream.name(), to_string(upstream.device()),
                           to_string(fault));
} catch (...) {  // cannot be reported
}

// --- allocation ----------------------------------------------------------------------------------

GuardedBlock RedZone::State::plan(const Stream& stream, std::size_t bytes,
                                  std::size_t alignment) const {
  require<LogicError>(std::has_single_bit(alignment), [&] {
    return fmt::format("an alignment of {} bytes is not a power of two", alignment);
  });
  constexpr std::size_t most = std::numeric_limits<std::int64_t>::max();
  const auto fits = [&](std::size_t before) {
    return before <= most && bytes <= most - before && options.zone <= most - before - bytes;
  };
  const std::size_t before = options.zone <= most - alignment
                                 ? (options.zone + alignment - 1) / alignment * alignment
                                 : options.zone;
  require<SizeOverflow>(fits(before), [&] {
    return fmt::format("an allocation of {} bytes between zones of {}", bytes, options.zone);
  });
  return {nullptr, nullptr, before, bytes, options.zone, alignment, 0, stream};
}

void* RedZone::State::from_upstream(const Stream& stream, std::size_t bytes,
                                    std::size_t alignment) {
  try {
    return upstream.allocate(stream, bytes, alignment);
  } catch (const MemoryError&) {
    if (!release_oldest(0)) throw;
  }
  while (release_oldest(0)) {
  }
  return upstream.allocate(stream, bytes, alignment);
}

RedZone::RedZone(Resource upstream, const RedZoneOptions& options)
    : Adaptor(std::move(upstream)), state_(std::make_shared<State>(Adaptor::upstream(), options)) {}

void* RedZone::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) const {
  if (bytes == 0) return nullptr;
  GuardedBlock block = state_->plan(stream, bytes, alignment);
  block.base = state_->from_upstream(stream, block.whole(), alignment);
  block.body = static_cast<std::byte*>(block.base) + block.before;
  try {
    memory::arm(block, state_->by_host);
    const std::lock_guard lock(state_->mutex);
    block.number = ++state_->count;
    state_->live.emplace(block.body, block);
  } catch (...) {
    upstream().deallocate(stream, block.base, block.whole(), alignment);
    throw;
  }
  return block.body;
}

// --- deallocation --------------------------------------------------------------------------------

/// The block that begins at `memory`; reports an invalid free.
std::optional<GuardedBlock> RedZone::State::take(void* memory, std::size_t bytes,
                                                 std::size_t alignment) noexcept {
  std::unique_lock lock(mutex);
  if (auto node = live.extract(memory)) {
    lock.unlock();
    const GuardedBlock& b = node.mapped();
    if (b.bytes != bytes || b.alignment != alignment) {
      tell({MemoryFaultKind::wrong_size, memory, b.bytes, b.number});
    }
    return b;
  }
  MemoryFault fault{MemoryFaultKind::foreign_pointer, memory, bytes};
  for (const GuardedBlock& b : quarantine) {
    if (b.body == memory) fault = {MemoryFaultKind::double_free, memory, b.bytes, b.number};
  }
  lock.unlock();
  tell(fault);
  return std::nullopt;
}

/// Looks at the zones once the streams are done with the block, and poisons it.
void RedZone::State::inspect(GuardedBlock& block, std::span<const Stream> others) noexcept try {
  detail::join_streams(block.stream, others);
  memory::wait_for(block.stream);
  block.stream = default_stream(upstream.device());  // the other one may end before the quarantine
  const auto fault = memory::find_overwritten_zone(block, by_host);
  if (fault && !block.is_reported) tell(*fault);
  memory::poison_body(block, by_host);
} catch (const std::exception&) {
  block.is_reported = true;  // the device is lost: nothing more can be checked
}

void RedZone::State::put_away(const GuardedBlock& block) noexcept {
  try {
    const std::lock_guard lock(mutex);
    quarantine.push_back(block);
    quarantined += block.whole();
  } catch (const std::exception&) {
    return upstream.deallocate(block.stream, block.base, block.whole(), block.alignment);
  }
  while (release_oldest(options.quarantine)) {
  }
}

/// Checks and frees the block that has been in quarantine longest, if more than `most` bytes are
/// there. Returns whether it has.
bool RedZone::State::release_oldest(std::size_t most) noexcept {
  std::unique_lock lock(mutex);
  if (quarantine.empty() || quarantined <= most) return false;
  const GuardedBlock block = std::move(quarantine.front());
  quarantine.pop_front();
  quarantined -= block.whole();
  lock.unlock();
  try {
    const auto fault = block.is_reported ? std::nullopt : memory::find_late_write(block, by_host);
    if (fault) tell(*fault);
  } catch (const std::exception&) {  // the device is lost
  }
  upstream.deallocate(block.stream, block.base, block.whole(), block.alignment);
  return true;
}

void RedZone::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                         std::size_t bytes, std::size_t alignment) const noexcept {
  if (!memory) return;
  auto block = state_->take(memory, bytes, alignment);
  if (!block) return;
  block->stream = stream;
  state_->inspect(*block, others);
  state_->put_away(*block);
}

void RedZone::trim() const {
  while (state_->release_oldest(0)) {
  }
  upstream().trim();
}

// --- questions -----------------------------------------------------------------------------------

void RedZone::check() const {
  device().synchronize();
  std::vector<MemoryFault> found;
  const auto look = [&](GuardedBlock& block, auto& find) {
    if (block.is_reported) return;
    GuardedBlock seen = block;
    seen.stream = default_stream(device());
    if (const auto fault = find(seen, state_->by_host)) {
      found.push_back(*fault);
      block.is_reported = true;
    }
  };
  {
    const std::lock_guard lock(state_->mutex);
    for (auto& [memory, block] : state_->live) look(block, memory::find_overwritten_zone);
    for (GuardedBlock& block : state_->quarantine) look(block, memory::find_late_write);
    state_->faults.insert(state_->faults.end(), found.begin(), found.end());
  }
  std::string text;
  for (const MemoryFault& fault : found) {
    if (state_->options.handler) state_->options.handler(fault);
    if (!text.empty()) text += '\n';
    text += to_string(fault);
  }
  require<LogicError>(found.empty() || state_->options.handler, text);
}

std::vector<MemoryFault> RedZone::faults() const {
  const std::lock_guard lock(state_->mutex);
  return state_->faults;
}

std::size_t RedZone::quarantined_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->quarantined;
}

}  // namespace quarry
