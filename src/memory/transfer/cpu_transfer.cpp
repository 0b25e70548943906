// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/cpu_transfer.hpp"

#include <memory>
#include <utility>

#include "memory/graph_memory.hpp"
#include "memory/resource/stream_order.hpp"
#include "memory/transfer/converted_copy.hpp"
#include "memory/transfer/strided_copy.hpp"
#include "memory/transfer/transfer_plan.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

using enum backend::Direction;

void queue(const DeviceRef& to, const DeviceRef& from, const kernels::program* program,
           const Stream& stream) {
  if (program) return convert_within(to, from, *program, stream);
  copy_within(to, from, stream);
}

/// Host memory as the CPU device sees it.
DeviceRef seen(const HostRef& host) { return {host.data, host.dtype, host.layout, nullptr}; }

/// On the CPU host memory is treated as device memory, whose copies do not wait.
void copy_block(const HostCopy& copy, const Stream& stream, bool waits) {
  void *to = copy.device.data, *from = copy.host.data;
  if (!copy.is_up()) std::swap(to, from);
  stream.state().device->copy({waits ? copy.direction : device_to_device, to, from, copy.bytes()},
                              stream.state().native, waits);
}

/// The stream is busy: it gets a copy of the host's elements, freed after it has been read.
void upload_later(const HostCopy& copy, const Stream& stream, const kernels::program* program) {
  const PackedHost packed = packed_host(copy);
  const auto memory = std::make_shared<std::unique_ptr<std::byte[]>>(
      std::make_unique_for_overwrite<std::byte[]>(packed.bytes));
  pack(packed.walk, copy.host.data, 0, packed.bytes, memory->get());
  queue(copy.device, {memory->get(), copy.host.dtype, packed.layout, nullptr}, program, stream);
  try {
    stream.add_callback([memory](const Stream&) { memory->reset(); });
  } catch (...) {
    wait_quietly(stream);  // queued work still reads the copy
    throw;
  }
}

/// The library's own host memory may be dropped before the copy has run.
void name_user(const HostRef& host, const Stream& stream) {
  const auto buffer = known_memory(host).page_locked;
  detail::require_kept_if_captured(stream.state(), buffer);
  if (buffer) buffer->used_on(stream);
}

}  // namespace

void carry_on_cpu(const HostCopy& copy, const Stream& stream, const kernels::program* program) {
  const bool may_be_overwritten = copy.is_up() && !stream.state().is_captured();
  if (may_be_overwritten && !copy.waits && !stream.is_done()) {
    return upload_later(copy, stream, program);
  }
  const bool waits = copy.waits || may_be_overwritten;
  if (!waits) name_user(copy.host, stream);
  if (!program && copy.is_block()) return copy_block(copy, stream, waits);
  const DeviceRef host = seen(copy.host);
  queue(copy.is_up() ? copy.device : host, copy.is_up() ? host : copy.device, program, stream);
  if (waits) stream.synchronize();
}

}  // namespace quarry::memory
