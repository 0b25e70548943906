// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/unfinished_work.hpp"

#include <exception>

#include "runtime/stream_state.hpp"

namespace quarry::detail {
namespace {

/// Work in a default stream of the CPU is done when the call that queues it returns. An event there
/// would wait for other streams.
bool runs_at_once(const Stream& stream) {
  return stream.is_default() && stream.state().device->info().is_cpu;
}

bool has_happened(const ScopedEvent& event) noexcept {
  try {
    return event.query();
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

UnfinishedWork::UnfinishedWork(const Stream& stream, std::span<const Stream> others) noexcept {
  add(stream);
  for (const Stream& other : others) add(other);
}

void UnfinishedWork::add(const Stream& stream) noexcept {
  if (runs_at_once(stream)) return;
  const StreamState& state = stream.state();
  backend::Device& device = *state.device;
  try {
    if (state.is_of_this_thread()) {
      if (device.is_done(state.native)) return;
      ScopedEvent end(device);
      end.record(state.native);
      ends_.push_back(std::move(end));
      return;
    }
  } catch (const std::exception&) {
  }
  device.drain();
}

bool UnfinishedWork::is_done() noexcept {
  while (!ends_.empty() && has_happened(ends_.back())) ends_.pop_back();
  return ends_.empty();
}

void UnfinishedWork::wait() noexcept {
  for (const ScopedEvent& end : ends_) {
    try {
      end.wait();
    } catch (const std::exception&) {
      end.device().drain();
    }
  }
  ends_.clear();
}

}  // namespace quarry::detail
