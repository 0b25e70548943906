// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/foreign.hpp>
#include <quarry/memory/device_pointer.hpp>
#include <quarry/runtime/event.hpp>

#include <fmt/format.h>

#include <utility>

namespace quarry {

namespace {

Layout layout_of(const ForeignArray& foreign) {
  for (const std::int64_t extent : foreign.shape) {
    require<ShapeError>(extent >= 0, [&] {
      return "a foreign array of shape " + to_string(foreign.shape) + ": an extent is negative";
    });
  }
  const std::size_t itemsize = foreign.dtype.itemsize();
  byte_count(foreign.shape, itemsize);  // throws SizeOverflow
  Layout layout{foreign.shape,
                foreign.strides ? *foreign.strides : c_strides(foreign.shape, itemsize)};
  require<ShapeError>(layout.strides.size() == layout.shape.size(), [&] {
    return fmt::format("a foreign array with {} extents and {} strides", layout.shape.size(),
                       layout.strides.size());
  });
  return layout;
}

/// A GPU's kernels may have another address than the host for page-locked memory.
std::byte* kernel_address(const ForeignArray& foreign, std::byte* first) {
  if (foreign.device.is_cpu()) return first;
  const PointerInfo info = pointer_info(first, foreign.device);
  const bool is_page_locked = info.kind == PointerKind::page_locked;
  const bool is_managed = info.kind == PointerKind::managed;
  const bool as_declared = foreign.space == MemorySpace::mapped    ? is_page_locked
                           : foreign.space == MemorySpace::managed ? is_managed
                                                                   : !is_page_locked;
  require<LogicError>(as_declared && info.kind != PointerKind::pageable, [&] {
    return fmt::format("a foreign array in {} memory at {}, which is {}", to_string(foreign.space),
                       static_cast<const void*>(first), to_string(info.kind));
  });
  require<LogicError>(!is_page_locked || info.device_pointer != 0, [&] {
    return fmt::format("a foreign array at {}: {} cannot access this page-locked memory",
                       static_cast<const void*>(first), to_string(foreign.device));
  });
  return is_page_locked ? reinterpret_cast<std::byte*>(info.device_pointer) : first;
}

}  // namespace

UntypedNDArray adopt_array(const ForeignArray& foreign, std::shared_ptr<void> owner,
                           const Stream& home) {
  require<LogicError>(home.device() == foreign.device, [&] {
    return fmt::format("a foreign array on {} with a stream of {}", to_string(foreign.device),
                       to_string(home.device()));
  });
  Layout layout = layout_of(foreign);
  const ByteBounds bounds = byte_bounds(layout, foreign.dtype.itemsize());
  auto* const data = static_cast<std::byte*>(foreign.data);
  const bool is_empty = bounds.past == 0;
  if (is_empty) {
    auto nothing = Buffer::adopt(nullptr, 0, home, std::move(owner), foreign.space);
    return {foreign.dtype, std::move(layout), nullptr, std::move(nothing), foreign.is_read_only};
  }
  require<LogicError>(data != nullptr, [&] {
    return "a foreign array of shape " + to_string(foreign.shape) + " at a null address";
  });
  // As integers: what lies between may be beyond any object.
  const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
  const std::int64_t begin = checked_add(at, bounds.lowest);
  checked_add(at, bounds.past);  // throws SizeOverflow, too
  // past - lowest, of which the lowest of all integers has no negative
  const auto bytes =
      static_cast<std::size_t>(checked_add(checked_add(bounds.past, -(bounds.lowest + 1)), 1));
  require<LogicError>(begin > 0, "a foreign array whose strides lead below address 0");
  std::byte* const first = kernel_address(foreign, data + bounds.lowest);
  auto buffer = Buffer::adopt(first, bytes, home, std::move(owner), foreign.space);
  return {foreign.dtype, std::move(layout), first - bounds.lowest, std::move(buffer),
          foreign.is_read_only};
}

void hand_over(const DeviceNDArrayBase& array, const std::optional<Stream>& consumer) {
  Buffer& buffer = *array.buffer();
  std::vector<Stream> used = buffer.other_streams();
  used.push_back(buffer.stream());
  used.push_back(array.stream());
  for (const Stream& stream : used) {
    if (!consumer) {
      stream.synchronize();
    } else if (!(stream == *consumer)) {
      consumer->wait_event(stream.record());
    }
  }
  if (consumer) buffer.used_on(*consumer);
}

}  // namespace quarry
