// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/managed.hpp>

#include "backend/backend.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::detail {
void attach_managed(Buffer& buffer, Attach how, const Stream& stream) {
  if (buffer.bytes() == 0) return;
  buffer.used_on(stream);
  const StreamState& state = stream.state();
  state.device->attach_managed(state.native, buffer.data(), how);
}

void prefetch_managed(Buffer& buffer, std::span<std::byte> range, const Device& to,
                      const Stream& stream) {
  if (range.empty()) return;
  buffer.used_on(stream);
  const StreamState& state = stream.state();
  state.device->prefetch(range.data(), range.size(), to.backend(), state.native);
}

void advise_managed(const Buffer& buffer, std::span<std::byte> range, Advice advice,
                    const Device& about) {
  if (range.empty()) return;
  buffer.device().backend().advise(range.data(), range.size(), advice, about.backend());
}

}  // namespace quarry::detail
