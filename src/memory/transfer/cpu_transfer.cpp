// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/cpu_transfer.hpp"

#include <quarry/memory/registered.hpp>

#include <memory>

#include "memory/resource/stream_order.hpp"
#include "memory/staged/thresholds.hpp"
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

void copy_block(backend::Direction direction, void* to, const void* from, const Layout& layout,
                DType type, const Stream& stream, bool waits) {
  const auto bytes = static_cast<std::size_t>(byte_count(layout.shape, type.itemsize()));
  stream.state().device->copy({direction, to, from, bytes}, stream.state().native, waits);
}

/// The stream is busy: it gets a copy of the host's elements, which goes when it has been read.
void upload_later(const DeviceRef& to, const HostRef& from, const Stream& stream,
                  const kernels::program* program) {
  const std::size_t itemsize = from.dtype.itemsize();
  const TransferPlan plan = plan_transfer({.shape = from.layout.shape,
                                           .host = from.layout.strides,
                                           .device = to.layout.strides,
                                           .itemsize = itemsize,
                                           .page_locked = false,
                                           .waits = false,
                                           .batches = false},
                                          default_thresholds());
  const auto memory = std::make_shared<std::unique_ptr<std::byte[]>>(
      std::make_unique_for_overwrite<std::byte[]>(plan.bytes));
  pack(plan.host, from.data + plan.host_offset, 0, plan.bytes, memory->get());
  const Layout there{plan.packed.shape, plan.device};
  queue({to.data + plan.device_offset, to.dtype, there, nullptr},
        {memory->get(), from.dtype, plan.packed, nullptr}, program, stream);
  try {
    stream.add_callback([memory](const Stream&) { memory->reset(); });
  } catch (...) {
    wait_quietly(stream);  // what has been queued still reads the copy
    throw;
  }
}

/// The library's own host memory may be dropped before the copy has run.
void name_user(const HostRef& host, const Stream& stream) {
  const auto span = quarry::detail::span_of(host);
  if (const auto buffer = quarry::detail::find_host_buffer(span.data, span.bytes)) {
    buffer->used_on(stream);
  }
}

}  // namespace

void upload_on_cpu(const DeviceRef& to, const HostRef& from, const Stream& stream, bool waits,
                   const kernels::program* program) {
  if (!waits && !stream.is_done()) return upload_later(to, from, stream, program);
  const std::size_t itemsize = from.dtype.itemsize();
  if (!program && same_block(to.layout, from.layout, itemsize)) {
    return copy_block(host_to_device, to.data, from.data, to.layout, to.dtype, stream, true);
  }
  queue(to, seen(from), program, stream);
  stream.synchronize();
}

void download_on_cpu(const HostRef& to, const DeviceRef& from, const Stream& stream, bool waits,
                     const kernels::program* program) {
  if (!waits) name_user(to, stream);
  const std::size_t itemsize = from.dtype.itemsize();
  if (!program && same_block(to.layout, from.layout, itemsize)) {
    // the host's memory is as good as the device's, to which copies do not wait
    return copy_block(waits ? device_to_host : device_to_device, to.data, from.data, to.layout,
                      to.dtype, stream, waits);
  }
  queue(seen(to), from, program, stream);
  if (waits) stream.synchronize();
}

}  // namespace quarry::memory
