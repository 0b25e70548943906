// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/staging_lease.hpp"

#include "runtime/stream_lifetime.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {

std::byte* StagingLease::place(std::size_t bytes) {
  constexpr std::size_t line = 64;
  const std::size_t at = buffer_.next + bytes <= buffer_.bytes ? buffer_.next : 0;
  buffer_.next = (at + bytes + line - 1) / line * line;
  return buffer_.memory + at;
}

void StagingLease::copy(const backend::Copy& copy, const Stream& stream) {
  const backend::Stream native = stream.state().native;
  buffer_.is_idle = false;
  device_->copy(copy, native, false);
  is_loose_ = true;
  try {
    device_->record(buffer_.event, native);
  } catch (...) {
    device_->synchronize(native);  // throws on a lost device: then the buffer is abandoned
    is_loose_ = false;
    throw;
  }
  is_loose_ = false;
}

void StagingLease::make_copy_streams(std::size_t count) {
  std::vector<CopyStream>& all = buffer_.copy_streams;
  all.reserve(count);
  while (all.size() < count) {
    Stream made = detail::created_stream(*device_, backend::StreamOrder::behind_events);
    all.push_back({std::move(made), detail::ScopedEvent(*device_)});
  }
}

void StagingLease::start(const Stream& user, std::size_t streams) {
  is_loose_ = true;
  buffer_.is_idle = false;
  if (streams == 0) return;
  device_->record(buffer_.event, user.state().native);
  for (std::size_t k = 0; k < streams; ++k) {
    device_->wait(buffer_.copy_streams[k].stream.state().native, buffer_.event);
  }
}

void StagingLease::finish(const Stream& user, std::size_t streams) {
  const backend::Stream native = user.state().native;
  for (std::size_t k = 0; k < streams; ++k) {
    const CopyStream& copy_stream = buffer_.copy_streams[k];
    copy_stream.end.record(copy_stream.stream.state().native);
    device_->wait(native, copy_stream.end.native());
  }
  device_->record(buffer_.event, native);
  is_loose_ = false;
}

}  // namespace quarry::memory
