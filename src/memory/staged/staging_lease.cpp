// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/staging_lease.hpp"

#include "runtime/stream_state.hpp"

namespace quarry::memory {

void StagingLease::copy(const backend::Copy& copy, const Stream& stream) {
  const backend::Stream native = stream.state().native;
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

}  // namespace quarry::memory
