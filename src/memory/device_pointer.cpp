// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/device_pointer.hpp>

#include <fmt/format.h>

#include "backend/backend.hpp"

namespace quarry {

std::string to_string(const DevicePtr& p) { return fmt::format("{:#x}", p.address()); }

std::shared_ptr<Buffer> DevicePtr::buffer() const {
  auto buffer = buffer_.lock();
  require<LogicError>(buffer || !knows_, [&] {
    return fmt::format("the memory of the device pointer {} has been freed", to_string(*this));
  });
  return buffer;
}

std::string to_string(PointerKind kind) {
  switch (kind) {
    case PointerKind::pageable:
      return "pageable host memory";
    case PointerKind::page_locked:
      return "page-locked host memory";
    case PointerKind::device:
      return "device memory";
    case PointerKind::managed:
      return "managed memory";
  }
  return "unknown memory";
}

PointerInfo pointer_info(const void* address, const Device& device) {
  const backend::PointerInfo found = device.backend().pointer_info(address);
  const bool is_on_gpu = found.device >= 0 && !device.is_cpu();
  return {found, is_on_gpu ? std::optional(Device::cuda(found.device)) : std::nullopt};
}
PointerInfo pointer_info(const DevicePtr& p, const Device& device) {
  return pointer_info(p.get(), device);
}

}  // namespace quarry
