// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/overlap.hpp>
#include <quarry/memory/transfer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "memory/cpu_transfer.hpp"
#include "memory/host_registry.hpp"
#include "memory/host_transfer.hpp"
#include "memory/locked_ranges.hpp"
#include "memory/stream_order.hpp"
#include "memory/strided_copy.hpp"
#include "memory/transfer_thresholds.hpp"
#include "runtime/launch.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

using memory::copy_strided;
using memory::HostRegistry;
using memory::same_block;
using memory::synchronize;
using enum backend::Direction;

void require_like(const Shape& to, DType to_type, const Shape& from, DType from_type,
                  bool converts) {
  require<ShapeError>(to == from, [&] {
    return fmt::format("cannot copy shape {} into shape {}", to_string(from), to_string(to));
  });
  require<DTypeError>(converts || to_type == from_type, [&] {
    return fmt::format("cannot copy {} into {}; convert with astype first", to_string(from_type),
                       to_string(to_type));
  });
}

void require_address(const HostRef& host) {
  require<LogicError>(host.data != nullptr, [&] {
    return fmt::format("host memory of shape {} at a null address", to_string(host.layout.shape));
  });
}

std::size_t bytes_of(const Layout& layout, DType type) {
  return static_cast<std::size_t>(byte_count(layout.shape, type.itemsize()));
}

void copy_bytes(const Stream& stream, backend::Direction direction, void* to, const void* from,
                std::size_t bytes, bool blocking) {
  stream.state().device->copy({direction, to, from, bytes}, stream.state().native, blocking);
}

/// A small dense copy that waits is left to the device as it is. With page-locked memory the
/// driver's call that waits is slower than its other one and a wait. False: it is no such copy.
bool copy_at_once(backend::Direction direction, const DeviceRef& device, const HostRef& host,
                  const Stream& stream) {
  const std::size_t bytes = bytes_of(device.layout, device.dtype);
  if (bytes >= memory::driver_bytes() ||
      !same_block(device.layout, host.layout, device.dtype.itemsize()) ||
      memory::is_split(host.data, bytes)) {
    return false;
  }
  const bool up = direction == host_to_device;
  const bool waits_itself =
      stream.device().is_cpu() || !HostRegistry::instance().find(host.data, bytes);
  copy_bytes(stream, direction, up ? device.data : host.data, up ? host.data : device.data, bytes,
             waits_itself);
  if (!waits_itself) synchronize(stream);
  return true;
}

/// Device memory with the same shape, dense in the order of `like`'s strides.
DeviceRef temporary_like(const Layout& like, DType type, const Stream& stream,
                         std::shared_ptr<Buffer>& holder) {
  Axes axes;
  for (std::size_t d = 0; d < like.rank(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  Strides order = like.strides;
  sort_axes(axes, std::array{&order});
  Layout layout{like.shape, Strides::filled(like.rank(), 0)};
  auto step = static_cast<std::int64_t>(type.itemsize());
  for (std::size_t d = axes.size(); d-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[d]);
    layout.strides[axis] = step;
    step *= like.shape[axis];
  }
  holder = Buffer::allocate(bytes_of(like, type), stream);
  return {holder->data(), type, std::move(layout), holder.get()};
}

/// The same array dense in C order: itself, or device memory of its own.
DeviceRef dense_on_device(const DeviceRef& array, std::shared_ptr<Buffer>& holder,
                          const Stream& stream) {
  if (is_c_contiguous(array.layout, array.dtype.itemsize())) return array;
  const Layout dense{array.layout.shape, c_strides(array.layout.shape, array.dtype.itemsize())};
  return temporary_like(dense, array.dtype, stream, holder);
}

void copy_within(const DeviceRef& to, const DeviceRef& from, const Stream& stream) {
  copy_strided(to.data, to.layout, from.data, from.layout.strides, to.dtype.itemsize(), stream);
}

/// A GPU faults on a kernel's element that is not aligned.
bool is_aligned(const DeviceRef& array) {
  auto places = reinterpret_cast<std::uintptr_t>(array.data);
  for (std::size_t d = 0; d < array.layout.rank(); ++d) {
    if (array.layout.shape[d] > 1) places |= static_cast<std::uintptr_t>(array.layout.strides[d]);
  }
  return places % array.dtype.alignment() == 0;
}

/// `to` and `from` do not overlap.
void convert_within(const DeviceRef& to, const DeviceRef& from, const kernels::program& program,
                    const Stream& stream) {
  std::shared_ptr<Buffer> from_holder, to_holder;
  DeviceRef source = from, target = to;
  if (!is_aligned(from)) {
    source = temporary_like(from.layout, from.dtype, stream, from_holder);
    copy_within(source, from, stream);
  }
  if (!is_aligned(to)) target = temporary_like(to.layout, to.dtype, stream, to_holder);
  const runtime::Operand operands[] = {{target.data, &target.layout},
                                       {source.data, &source.layout}};
  runtime::launch_map(program, operands, nullptr, stream);
  if (to_holder) copy_within(to, target, stream);
}

void upload_converted(const DeviceRef& to, const HostRef& from, const Stream& stream, bool blocking,
                      const kernels::program& program) {
  std::shared_ptr<Buffer> holder;
  const DeviceRef there = temporary_like(from.layout, from.dtype, stream, holder);
  memory::carry_up(there, from, stream, blocking);
  convert_within(to, there, program, stream);
  if (blocking) synchronize(stream);
}

void download_converted(const HostRef& to, const DeviceRef& from, const Stream& stream,
                        bool blocking, const kernels::program& program) {
  std::shared_ptr<Buffer> holder;
  const DeviceRef there = temporary_like(to.layout, to.dtype, stream, holder);
  convert_within(there, from, program, stream);
  memory::carry_down(to, there, stream, blocking);
}

}  // namespace

void upload(const DeviceRef& to, const HostRef& from, const Stream& stream, bool blocking,
            const kernels::program* convert) {
  require_like(to.layout.shape, to.dtype, from.layout.shape, from.dtype, convert);
  if (element_count(to.layout.shape) == 0) return;
  const std::size_t itemsize = to.dtype.itemsize();
  require_no_aliases(to.layout, itemsize);
  require_address(from);
  to.buffer->used_on(stream);
  if (blocking && !convert && copy_at_once(host_to_device, to, from, stream)) return;
  if (stream.device().is_cpu()) return memory::upload_on_cpu(to, from, stream, blocking, convert);
  if (convert) return upload_converted(to, from, stream, blocking, *convert);
  memory::carry_up(to, from, stream, blocking);
}

void download(const HostRef& to, const DeviceRef& from, const Stream& stream, bool blocking,
              const kernels::program* convert) {
  require_like(to.layout.shape, to.dtype, from.layout.shape, from.dtype, convert);
  if (element_count(to.layout.shape) == 0) return;
  const std::size_t itemsize = to.dtype.itemsize();
  require_no_aliases(to.layout, itemsize);
  require_address(to);
  from.buffer->used_on(stream);
  if (blocking && !convert && copy_at_once(device_to_host, from, to, stream)) return;
  if (stream.device().is_cpu()) return memory::download_on_cpu(to, from, stream, blocking, convert);
  if (convert) return download_converted(to, from, stream, blocking, *convert);
  memory::carry_down(to, from, stream, blocking);
}

namespace {

/// Between two GPUs: packed on the one, copied, unpacked on the other; neither stream goes on
/// before the other has what it needs.
void copy_to_peer(const DeviceRef& to, const DeviceRef& from, const Stream& stream) {
  const Stream source = from.buffer->stream();
  std::shared_ptr<Buffer> holder, landing;
  const DeviceRef dense = dense_on_device(from, holder, source);
  if (holder) copy_within(dense, from, source);
  const DeviceRef there = dense_on_device(to, landing, stream);
  memory::join(stream, source);
  stream.state().device->copy_from_peer(there.data, dense.data, *source.state().device,
                                        bytes_of(to.layout, to.dtype), stream.state().native,
                                        false);
  memory::join(source, stream);
  if (landing) copy_within(to, there, stream);
}

/// Between the CPU and a GPU one side is host memory.
void copy_across(const DeviceRef& to, const DeviceRef& from, const Stream& stream,
                 const kernels::program* convert) {
  const Stream source = from.buffer->stream();
  if (from.buffer->device().is_cpu()) {
    source.synchronize();
    return upload(to, {from.data, from.dtype, from.layout}, stream, true, convert);
  }
  if (to.buffer->device().is_cpu()) {
    stream.synchronize();
    return download({to.data, to.dtype, to.layout}, from, source, true, convert);
  }
  to.buffer->used_on(stream);
  if (!convert) return copy_to_peer(to, from, stream);
  std::shared_ptr<Buffer> holder;
  const DeviceRef converted = temporary_like(from.layout, to.dtype, source, holder);
  convert_within(converted, from, *convert, source);
  copy_to_peer(to, converted, stream);
}

/// Whether writing `to` could change an element of `from` that is still to be read.
bool conflicts(const DeviceRef& to, const DeviceRef& from) {
  return to.buffer == from.buffer &&
         overlap(to.data, to.layout, to.dtype.itemsize(), from.data, from.layout,
                 from.dtype.itemsize()) != Overlap::disjoint;
}

/// `from` has the shape of `to` and lies on its device.
void copy_on_device(const DeviceRef& to, const DeviceRef& from, const Stream& stream,
                    const kernels::program* convert) {
  std::shared_ptr<Buffer> holder;
  DeviceRef safe = from;
  if (conflicts(to, from)) {
    safe = temporary_like(to.layout, from.dtype, stream, holder);
    copy_within(safe, from, stream);
  }
  if (convert) return convert_within(to, safe, *convert, stream);
  if (same_block(to.layout, safe.layout, to.dtype.itemsize())) {
    return copy_bytes(stream, device_to_device, to.data, safe.data, bytes_of(to.layout, to.dtype),
                      false);
  }
  copy_within(to, safe, stream);
}

}  // namespace

void copy_elements(const DeviceRef& to, const DeviceRef& from, const Stream& stream,
                   const kernels::program* convert) {
  const DeviceRef source{from.data, from.dtype, broadcast_to(from.layout, to.layout.shape),
                         from.buffer};
  require_like(to.layout.shape, to.dtype, source.layout.shape, from.dtype, convert);
  if (element_count(to.layout.shape) == 0) return;
  require_no_aliases(to.layout, to.dtype.itemsize());
  if (!(to.buffer->device() == from.buffer->device())) {
    return copy_across(to, source, stream, convert);
  }
  to.buffer->used_on(stream);
  from.buffer->used_on(stream);
  if (!convert && to.data == from.data && to.layout == source.layout) return;
  copy_on_device(to, source, stream, convert);
}

}  // namespace quarry
