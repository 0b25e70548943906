// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/host_copy.hpp"

#include <quarry/memory/registered.hpp>

#include <array>
#include <utility>

#include "memory/host/host_registry.hpp"
#include "memory/host/pinned_ranges.hpp"

namespace quarry::memory {

HostCopy::HostCopy(backend::Direction way, const HostRef& on_host, const DeviceRef& on_device,
                   bool is_waited_for)
    : direction(way), host(on_host), device(on_device), waits(is_waited_for) {
  Shape& shape = host.layout.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t &h = host.layout.strides[d], &v = device.layout.strides[d];
    if (h >= 0) continue;
    host.data += (shape[d] - 1) * h;
    device.data += (shape[d] - 1) * v;
    h = -h, v = -v;
  }
  const std::array pointers{&host.layout.strides, &device.layout.strides};
  sort_axes(shape, pointers);
  collapse(shape, pointers);
  device.layout.shape = shape;
}

std::size_t HostCopy::bytes() const {
  return static_cast<std::size_t>(byte_count(host.layout.shape, host.dtype.itemsize()));
}

bool HostCopy::is_block() const {
  if (host.dtype != device.dtype || host.layout.rank() > 1) return false;
  const auto step = static_cast<std::int64_t>(host.dtype.itemsize());
  return host.layout.rank() == 0 ||
         (host.layout.strides[0] == step && device.layout.strides[0] == step);
}

KnownMemory known_memory(const HostRef& host) {
  const auto [data, bytes] = quarry::detail::span_of(host);
  if (auto buffer = HostRegistry::instance().find(data, bytes)) return {std::move(buffer), false};
  return {nullptr, is_split(data, bytes)};
}

}  // namespace quarry::memory
