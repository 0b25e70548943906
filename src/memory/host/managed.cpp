// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/managed.hpp>

#include "backend/backend.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::detail {
namespace {

backend::Attach native(Attach how) {
  switch (how) {
    case Attach::global:
      return backend::Attach::global;
    case Attach::host:
      return backend::Attach::host;
    case Attach::single:
      break;
  }
  return backend::Attach::single;
}

backend::Advice native(Advice advice) {
  switch (advice) {
    case Advice::set_read_mostly:
      return backend::Advice::set_read_mostly;
    case Advice::unset_read_mostly:
      return backend::Advice::unset_read_mostly;
    case Advice::set_preferred_location:
      return backend::Advice::set_preferred_location;
    case Advice::unset_preferred_location:
      return backend::Advice::unset_preferred_location;
    case Advice::set_accessed_by:
      return backend::Advice::set_accessed_by;
    case Advice::unset_accessed_by:
      break;
  }
  return backend::Advice::unset_accessed_by;
}

}  // namespace

void attach_managed(Buffer& buffer, Attach how, const Stream& stream) {
  if (buffer.bytes() == 0) return;
  buffer.used_on(stream);
  const StreamState& state = stream.state();
  state.device->attach_managed(state.native, buffer.data(), native(how));
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
  buffer.device().backend().advise(range.data(), range.size(), native(advice), about.backend());
}

}  // namespace quarry::detail
