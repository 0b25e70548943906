// SPDX-License-Identifier: BSD-3-Clause
#include "memory/host/pinned_ranges.hpp"

#include <quarry/base/error.hpp>
#include <quarry/runtime/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace quarry::memory {
namespace {

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

PinnedRanges& of_gpus() {
  static auto& cuda = *new PinnedRanges;
  return cuda;
}

}  // namespace

PinnedRanges& PinnedRanges::of(const backend::Device& device) {
  static auto& cpu = *new PinnedRanges;
  return device.info().is_cpu ? cpu : of_gpus();
}

std::vector<PinnedRanges::Piece> PinnedRanges::plan(std::uintptr_t begin,
                                                    std::uintptr_t end) const {
  std::vector<Piece> pieces;
  auto next = segments_.upper_bound(begin);
  if (next != segments_.begin() && std::prev(next)->second.end > begin) --next;
  while (begin < end) {
    if (next != segments_.end() && next->first <= begin) {
      pieces.push_back({next->first, next->second.end, false});
      ++next;
    } else {
      pieces.push_back({begin, next == segments_.end() ? end : std::min(end, next->first), true});
    }
    begin = pieces.back().end;
  }
  return pieces;
}

void PinnedRanges::require_same_kind(const Piece& piece, const backend::Device& device,
                                     const backend::HostMemoryFlags& flags) const {
  const Segment& there = segments_.at(piece.begin);
  require<LogicError>(there.device == &device || there.flags.portable, [&] {
    return fmt::format(
        "the host memory at {} is page-locked for {} and not portable, so it cannot "
        "be for {}",
        pointer(piece.begin), to_string(Device(*there.device)),
        to_string(Device(const_cast<backend::Device&>(device))));
  });
  require<LogicError>(flags.read_only || !there.flags.read_only, [&] {
    return fmt::format("the host memory at {} is page-locked for reading only",
                       pointer(piece.begin));
  });
}

void PinnedRanges::add(const Piece& piece, backend::Device& device,
                       const backend::HostMemoryFlags& flags) {
  {
    const std::lock_guard guard(mutex_);
    segments_.emplace(piece.begin, Segment{piece.end, &device, flags, 1});
    ++count_;
  }
  try {
    device.register_host(pointer(piece.begin), piece.end - piece.begin, flags);
  } catch (...) {
    forget(piece.begin);
    throw;
  }
}

void PinnedRanges::forget(std::uintptr_t begin) {
  const std::lock_guard guard(mutex_);
  segments_.erase(begin);
  --count_;
}

PinnedRanges::Segments PinnedRanges::lock(const void* data, std::size_t bytes,
                                          backend::Device& device,
                                          const backend::HostMemoryFlags& flags) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::lock_guard guard(changing_);
  const auto pieces = plan(address, address + bytes);
  for (const Piece& piece : pieces) {
    if (!piece.is_new) require_same_kind(piece, device, flags);
  }
  Segments held;
  held.reserve(pieces.size());
  try {
    for (const Piece& piece : pieces) {
      if (piece.is_new) {
        add(piece, device, flags);
      } else {
        ++segments_.at(piece.begin).count;
      }
      held.push_back(piece.begin);
    }
  } catch (...) {
    try {
      drop(held);
    } catch (...) {  // the first error is the one to know of
    }
    throw;
  }
  return held;
}

void PinnedRanges::drop(const Segments& segments) {
  std::exception_ptr first;
  for (const std::uintptr_t begin : segments) {
    Segment& segment = segments_.at(begin);
    if (--segment.count > 0) continue;
    try {
      segment.device->unregister_host(pointer(begin));
    } catch (...) {
      if (!first) first = std::current_exception();
    }
    forget(begin);
  }
  if (first) std::rethrow_exception(first);
}

void PinnedRanges::unlock(const Segments& segments) {
  const std::lock_guard guard(changing_);
  drop(segments);
}

bool PinnedRanges::splits(const void* data, std::size_t bytes) const {
  if (count_.load(std::memory_order_relaxed) == 0) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes;
  const std::shared_lock guard(mutex_);
  const auto next = segments_.upper_bound(begin);
  if (next != segments_.begin()) {
    const std::uintptr_t last = std::prev(next)->second.end;
    if (last > begin) return last < end;
  }
  return next != segments_.end() && next->first < end;
}

bool is_split(const void* data, std::size_t bytes) { return of_gpus().splits(data, bytes); }

}  // namespace quarry::memory
