// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/managed.hpp>
#include <quarry/array/mapped.hpp>

#include <fmt/format.h>

namespace quarry::detail {
namespace {

std::size_t bytes_for(const Layout& layout, std::size_t itemsize) {
  const ByteBounds bounds = byte_bounds(layout, itemsize);
  return static_cast<std::size_t>(bounds.past - bounds.lowest);
}

}  // namespace

HostVisibleMemory mapped_memory(const Layout& layout, std::size_t itemsize,
                                const MappedOptions& options) {
  const Stream home = stream_of({.stream = options.stream, .device = options.device});
  return mapped_memory(bytes_for(layout, itemsize), home,
                       {.portable = options.portable, .write_combined = options.wc});
}

HostVisibleMemory managed_memory(const Layout& layout, std::size_t itemsize,
                                 const ManagedOptions& options) {
  const Stream home = stream_of({.stream = options.stream, .device = options.device});
  return managed_memory(bytes_for(layout, itemsize), home, options.attach_global);
}

std::int64_t element_offset(const Layout& layout, std::span<const std::int64_t> position) {
  require<IndexError>(position.size() == layout.rank(), [&] {
    return fmt::format("{} indices for an element of an array of shape {}", position.size(),
                       to_string(layout.shape));
  });
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < position.size(); ++d) {
    const std::int64_t extent = layout.shape[d];
    const std::int64_t i = position[d] < 0 ? position[d] + extent : position[d];
    require<IndexError>(i >= 0 && i < extent, [&] {
      return fmt::format("index {} is outside axis {} of extent {}", position[d], d, extent);
    });
    offset += i * layout.strides[d];
  }
  return offset;
}

std::span<std::byte> bytes_of(const DeviceNDArrayBase& array) {
  const ByteBounds bounds = byte_bounds(array.layout(), array.dtype().itemsize());
  return {array.device_pointer() + bounds.lowest,
          static_cast<std::size_t>(bounds.past - bounds.lowest)};
}

void require_host_memory(const DeviceNDArrayBase& array) {
  require<LogicError>(array.device().is_cpu(), [&] {
    return "the array is on " + to_string(array.device()) + ", not in host memory";
  });
}

void require_view(const ReshapedLayout& plan, const Layout& from, const Shape& to) {
  require<ShapeError>(!plan.copied, [&] {
    return fmt::format("an array of shape {} and strides {} has no view of shape {}; copy() has",
                       to_string(from.shape), to_string(from.strides), to_string(to));
  });
}

void require_c_contiguous(const DeviceNDArrayBase& array) {
  require<LogicError>(array.is_c_contiguous(), [&] {
    return fmt::format("the elements of an array of shape {} and strides {} do not lie in C order",
                       to_string(array.shape()), to_string(array.strides()));
  });
}

}  // namespace quarry::detail
