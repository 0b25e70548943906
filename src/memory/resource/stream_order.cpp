// SPDX-License-Identifier: BSD-3-Clause
#include "memory/resource/stream_order.hpp"

#include <quarry/memory/resource.hpp>

#include <exception>

#include "runtime/stream_state.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry {
namespace memory {

void synchronize(const Stream& stream) {
  stream.state().device->synchronize(stream.state().native);
}

void join(const Stream& stream, const Stream& other) {
  const detail::StreamState &here = stream.state(), &there = other.state();
  const bool same_kind = here.device->info().is_cpu == there.device->info().is_cpu;
  if (!same_kind || !here.is_of_this_thread() || !there.is_of_this_thread()) return wait_for(other);
  const detail::ScopedEvent event(*there.device);
  event.record(there.native);
  here.device->wait(here.native, event.native());
}

void wait_for(const Stream& stream) {
  const detail::StreamState& state = stream.state();
  if (!state.is_of_this_thread()) return state.device->drain();
  const detail::ScopedEvent event(*state.device);
  event.record(state.native);
  event.wait();
}

void wait_quietly(const Stream& stream, std::span<const Stream> others) noexcept {
  detail::UnfinishedWork(stream, others).wait();
}

}  // namespace memory

void detail::join_streams(const Stream& stream, std::span<const Stream> others) noexcept {
  for (const Stream& other : others) {
    if (other == stream) continue;
    try {
      memory::join(stream, other);
    } catch (const std::exception&) {
      other.state().device->drain();
    }
  }
}

}  // namespace quarry
