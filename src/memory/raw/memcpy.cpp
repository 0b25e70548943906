// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/memcpy.hpp>

#include <fmt/format.h>

#include "backend/annotation.hpp"
#include "memory/address_check.hpp"
#include "memory/raw/raw_address.hpp"
#include "memory/write_log.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {

std::span<std::byte> detail::dense_bytes(const HostRef& host) {
  const std::size_t itemsize = host.dtype.itemsize();
  require<LogicError>(
      is_c_contiguous(host.layout, itemsize) || is_f_contiguous(host.layout, itemsize), [&] {
        return fmt::format(
            "host elements of shape {} with strides of {} bytes, which are not one contiguous "
            "block",
            to_string(host.layout.shape), to_string(host.layout.strides));
      });
  return {host.data, static_cast<std::size_t>(byte_count(host.layout.shape, itemsize))};
}

namespace {

void queue_copy(const char* call, backend::Direction direction, void* to, const void* from,
                std::size_t bytes, const Stream& stream, bool blocking) {
  const auto text = [&] { return std::string(call) + ' ' + std::to_string(bytes) + " bytes"; };
  const backend::OperationRange range(text, bytes);
  const auto& state = stream.state();
  state.device->copy({.direction = direction, .to = to, .from = from, .bytes = bytes}, state.native,
                     blocking);
}

/// The stream to run in: that of an async form, or the default one.
Stream stream_of(const Stream* stream, std::initializer_list<const DevicePtr*> pointers) {
  return stream ? *stream : default_stream(memory::device_of(pointers));
}

void copy_on_device(const char* call, const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                    const Stream& stream) {
  memory::require_device_memory(call, to, bytes, stream.device());
  memory::require_device_memory(call, from, bytes, stream.device());
  if (bytes == 0) return;
  memory::require_apart(call, to.get(), from.get(), bytes);
  memory::note_write(to.get(), bytes);
  memory::used_on(to, stream);
  memory::used_on(from, stream);
  queue_copy(call, backend::Direction::device_to_device, to.get(), from.get(), bytes, stream,
             false);
}

void copy_from_peer(const char* call, const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                    const Stream& stream, const Device& source, bool blocking) {
  memory::require_device_memory(call, to, bytes, stream.device());
  memory::require_device_memory(call, from, bytes, source);
  if (bytes == 0) return;
  memory::require_apart(call, to.get(), from.get(), bytes);
  memory::note_write(to.get(), bytes);
  memory::used_on(to, stream);
  memory::used_on(from, stream, source);
  const auto text = [&] { return std::string(call) + ' ' + std::to_string(bytes) + " bytes"; };
  const backend::OperationRange range(text, bytes);
  stream.device().backend().copy_from_peer(to.get(), from.get(), source.backend(), bytes,
                                           stream.state().native, blocking);
}

}  // namespace

void detail::copy_htod(const DevicePtr& to, std::span<const std::byte> from, const Stream* stream) {
  const Stream in = stream_of(stream, {&to});
  memory::require_device_memory("memcpy_htod", to, from.size(), in.device());
  memory::require_host_memory("memcpy_htod", from, in.device());
  if (from.empty()) return;
  memory::require_apart("memcpy_htod", to.get(), from.data(), from.size());
  memory::note_write(to.get(), from.size());
  if (stream) {
    memory::used_on(to, in);
    memory::used_on(from, in);
  }
  queue_copy("memcpy_htod", backend::Direction::host_to_device, to.get(), from.data(), from.size(),
             in, !stream);
}

void detail::copy_dtoh(std::span<std::byte> to, const DevicePtr& from, const Stream* stream) {
  const Stream in = stream_of(stream, {&from});
  memory::require_device_memory("memcpy_dtoh", from, to.size(), in.device());
  memory::require_host_memory("memcpy_dtoh", to, in.device());
  if (to.empty()) return;
  memory::require_apart("memcpy_dtoh", to.data(), from.get(), to.size());
  memory::note_write(to.data(), to.size());
  if (stream) {
    memory::used_on(from, in);
    memory::used_on(to, in);
  }
  queue_copy("memcpy_dtoh", backend::Direction::device_to_host, to.data(), from.get(), to.size(),
             in, !stream);
}

void memcpy_dtod(const DevicePtr& to, const DevicePtr& from, std::size_t bytes) {
  copy_on_device("memcpy_dtod", to, from, bytes, stream_of(nullptr, {&to, &from}));
}
void memcpy_dtod_async(const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                       const Stream& stream) {
  copy_on_device("memcpy_dtod_async", to, from, bytes, stream);
}

void memcpy_peer(const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                 const std::optional<Device>& to_device, const std::optional<Device>& from_device) {
  const Device target = to_device ? *to_device : memory::device_of({&to});
  const Device source = from_device ? *from_device : memory::device_of({&from});
  copy_from_peer("memcpy_peer", to, from, bytes, default_stream(target), source, true);
}
void memcpy_peer_async(const DevicePtr& to, const DevicePtr& from, std::size_t bytes,
                       const Stream& stream, const std::optional<Device>& from_device) {
  const Device source = from_device ? *from_device : memory::device_of({&from});
  copy_from_peer("memcpy_peer_async", to, from, bytes, stream, source, false);
}

}  // namespace quarry
