// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/transfer.hpp>

#include <cstddef>
#include <memory>

#include "backend/backend.hpp"

namespace quarry::memory {

/// A copy between host memory and a device, described once for all paths: axes in the order of the
/// host's addresses, the largest stride first. None has extent 1 or runs backwards on the host, and
/// neighbours that merge on both sides are one axis.
struct HostCopy {
  /// `on_host` and `on_device` have the same shape, with elements.
  HostCopy(backend::Direction way, const HostRef& on_host, const DeviceRef& on_device,
           bool is_waited_for);

  backend::Direction direction;
  HostRef host;
  DeviceRef device;  ///< the same axes
  bool waits;        ///< the caller waits for the copy

  bool is_up() const { return direction == backend::Direction::host_to_device; }
  /// Of all elements, in the type of the host's.
  std::size_t bytes() const;
  /// Both sides are one dense block of the same type.
  bool is_block() const;
};

/// The library's own information on the host memory, from the first to the last element.
struct KnownMemory {
  std::shared_ptr<Buffer> page_locked;  ///< by the library, as a whole
  bool is_split = false;                ///< as memory::is_split
};
KnownMemory known_memory(const HostRef& host);

}  // namespace quarry::memory
