// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/overlap.hpp>
#include <quarry/kernels/map.hpp>
#include <quarry/memory/transfer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "backend/annotation.hpp"
#include "memory/graph_memory.hpp"
#include "memory/host/host_array.hpp"
#include "memory/resource/stream_order.hpp"
#include "memory/staged/thresholds.hpp"
#include "memory/transfer/converted_copy.hpp"
#include "memory/transfer/cpu_transfer.hpp"
#include "memory/transfer/host_copy.hpp"
#include "memory/transfer/host_transfer.hpp"
#include "memory/transfer/scalar_download.hpp"
#include "memory/transfer/strided_copy.hpp"
#include "memory/write_log.hpp"
#include "runtime/left_work.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

using memory::convert_within;
using memory::copy_within;
using memory::HostCopy;
using memory::KnownMemory;
using memory::same_block;
using memory::synchronize;
using memory::temporary_like;
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

std::size_t bytes_of(const Layout& layout, DType type) {
  return static_cast<std::size_t>(byte_count(layout.shape, type.itemsize()));
}

/// "upload float32 (4096, 4096)"
auto text_of(const char* action, const DeviceRef& array) {
  return [=, &array] {
    return fmt::format("{} {} {}", action, to_string(array.dtype), to_string(array.layout.shape));
  };
}

void copy_bytes(const Stream& stream, backend::Direction direction, void* to, const void* from,
                std::size_t bytes, bool blocking) {
  stream.state().device->copy({direction, to, from, bytes}, stream.state().native, blocking);
}

/// A small dense copy that waits is left to the driver as it is. With page-locked memory the
/// driver's call that waits is slower than its other one and a wait. Returns false for others.
bool copy_at_once(const HostCopy& copy, const KnownMemory& known, const Stream& stream) {
  if (!copy.waits || !copy.is_block() || known.is_split) return false;
  const std::size_t bytes = copy.bytes();
  if (bytes >= memory::driver_bytes()) return false;
  void *to = copy.device.data, *from = copy.host.data;
  if (!copy.is_up()) std::swap(to, from);
  const bool waits_itself = !known.page_locked;
  copy_bytes(stream, copy.direction, to, from, bytes, waits_itself);
  if (!waits_itself) synchronize(stream);
  return true;
}

/// The same array dense in C order: itself, or a copy in new device memory.
DeviceRef dense_on_device(const DeviceRef& array, std::shared_ptr<Buffer>& holder,
                          const Stream& stream) {
  if (is_c_contiguous(array.layout, array.dtype.itemsize())) return array;
  const Layout dense{array.layout.shape, c_strides(array.layout.shape, array.dtype.itemsize())};
  return temporary_like(dense, array.dtype, stream, holder);
}

void upload_converted(const HostCopy& copy, const KnownMemory& known, const Stream& stream,
                      const kernels::program& program) {
  std::shared_ptr<Buffer> holder;
  const DeviceRef there = temporary_like(copy.host.layout, copy.host.dtype, stream, holder);
  memory::carry({host_to_device, copy.host, there, copy.waits}, known, stream);
  convert_within(copy.device, there, program, stream);
  if (copy.waits) synchronize(stream);
}

void download_converted(const HostCopy& copy, const KnownMemory& known, const Stream& stream,
                        const kernels::program& program) {
  std::shared_ptr<Buffer> holder;
  const DeviceRef there = temporary_like(copy.host.layout, copy.host.dtype, stream, holder);
  convert_within(there, copy.device, program, stream);
  memory::carry({device_to_host, copy.host, there, copy.waits}, known, stream);
}

/// A bool's byte on a device may be neither 0 nor 1: memory of other libraries and processes. No
/// such byte is copied to the host, where it would be an invalid bool.
const kernels::program& truth_program() {
  using Program = kernels::map_of<kernels::in<bool, 0>, bool, 0, bool>;
  return kernels::program_for<Program>::value;
}
/// Up to this many bytes it is cheaper to normalise them on the host.
constexpr std::int64_t few_bools = 4096;

void make_bools(const HostRef& host) {
  const std::int64_t count = element_count(host.layout.shape);
  Dims position = Dims::filled(host.layout.rank(), 0);
  for (std::int64_t n = 0; n < count; ++n) {
    std::byte* at = host.data;
    for (std::size_t d = 0; d < position.size(); ++d) at += position[d] * host.layout.strides[d];
    *at = static_cast<std::byte>(*at != std::byte{});
    for (std::size_t d = position.size(); d-- > 0;) {
      if (++position[d] < host.layout.shape[d]) break;
      position[d] = 0;
    }
  }
}

/// By the CPU device or between the host and a GPU.
void carry_elements(const HostCopy& copy, const Stream& stream, const kernels::program* convert) {
  if (stream.device().is_cpu()) return memory::carry_on_cpu(copy, stream, convert);
  const KnownMemory known = memory::known_memory(copy.host);
  detail::require_kept_if_captured(stream.state(), known.page_locked);
  if (!convert) {
    const bool is_done = memory::download_scalar(copy, stream) || copy_at_once(copy, known, stream);
    if (!is_done) memory::carry(copy, known, stream);
  } else if (copy.is_up()) {
    upload_converted(copy, known, stream, *convert);
  } else {
    download_converted(copy, known, stream, *convert);
  }
}

void download_bools(const HostCopy& copy, const Stream& stream) {
  const bool few = copy.waits && element_count(copy.host.layout.shape) <= few_bools;
  carry_elements(copy, stream, few ? nullptr : &truth_program());
  if (few) make_bools(copy.host);
}

/// Whether the host memory holds bytes of the array itself, which the host can see.
bool is_own_memory(const HostRef& host, const DeviceRef& array) {
  return array.buffer->host_data() &&
         overlap(host.data, host.layout, host.dtype.itemsize(), array.data, array.layout,
                 array.dtype.itemsize()) != Overlap::disjoint;
}

/// Host memory for the elements of `like`, in C order.
class HostTemporary {
 public:
  explicit HostTemporary(const HostRef& like)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(bytes_of(like.layout, like.dtype))),
        ref_{memory_.get(),
             like.dtype,
             {like.layout.shape, c_strides(like.layout.shape, like.dtype.itemsize())}} {}
  const HostRef& ref() const { return ref_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  HostRef ref_;
};

void copy_on_host(const HostRef& to, const HostRef& from) {
  memory::copy_strided(to.data, to.layout, {from.data, &from.layout}, to.dtype.itemsize(),
                       default_stream(Device::cpu()));
}

void require_not_waited_for(const Stream& stream, bool waits) {
  require<LogicError>(!waits || !stream.state().is_captured(),
                      "a copy between host and device that is waited for cannot be captured into "
                      "a graph; one with a stream can, of page-locked memory");
}

}  // namespace

void upload(const DeviceRef& to, const HostRef& from, const Stream& stream, bool blocking,
            const kernels::program* convert) {
  require_like(to.layout.shape, to.dtype, from.layout.shape, from.dtype, convert);
  if (element_count(to.layout.shape) == 0) return;
  const std::size_t itemsize = to.dtype.itemsize();
  require_no_aliases(to.layout, itemsize);
  memory::require_address(from);
  require_not_waited_for(stream, blocking);
  const backend::OperationRange range(text_of("upload", to), bytes_of(to.layout, to.dtype));
  if (is_own_memory(from, to)) {
    const HostTemporary copy(from);
    copy_on_host(copy.ref(), from);
    return upload(to, copy.ref(), stream, blocking, convert);
  }
  to.buffer->used_on(stream);
  memory::note_write(to.data, to.layout, itemsize);
  carry_elements({host_to_device, from, to, blocking}, stream, convert);
}

void download(const HostRef& to, const DeviceRef& from, const Stream& stream, bool blocking,
              const kernels::program* convert) {
  require_like(to.layout.shape, to.dtype, from.layout.shape, from.dtype, convert);
  if (element_count(to.layout.shape) == 0) return;
  require_no_aliases(to.layout, to.dtype.itemsize());
  memory::require_address(to);
  require_not_waited_for(stream, blocking);
  const backend::OperationRange range(text_of("download", from), bytes_of(from.layout, from.dtype));
  memory::note_write(to.data, to.layout, to.dtype.itemsize());
  if (is_own_memory(to, from)) {
    const HostTemporary copy(to);
    download(copy.ref(), from, stream, true, convert);
    return copy_on_host(to, copy.ref());
  }
  from.buffer->used_on(stream);
  std::optional<detail::WaitForWork> work;
  if (blocking) work.emplace(stream);
  const HostCopy copy(device_to_host, to, from, blocking);
  if (to.dtype == TypeId::bool_ && !convert)
    download_bools(copy, stream);
  else
    carry_elements(copy, stream, convert);
  if (work) work->rethrow();
}

namespace {

/// Between two GPUs: packed on the one, copied, unpacked on the other; each stream waits until its
/// memory is ready or no longer in use on the other.
void copy_to_peer(const DeviceRef& to, const DeviceRef& from, const Stream& stream) {
  const Stream source = from.buffer->stream();
  std::shared_ptr<Buffer> holder, temporary;
  const DeviceRef dense = dense_on_device(from, holder, source);
  if (holder) copy_within(dense, from, source);
  const DeviceRef there = dense_on_device(to, temporary, stream);
  memory::join(stream, source);
  stream.state().device->copy_from_peer(there.data, dense.data, *source.state().device,
                                        bytes_of(to.layout, to.dtype), stream.state().native,
                                        false);
  memory::join(source, stream);
  if (temporary) copy_within(to, there, stream);
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

/// Whether the driver's copy of a block is slow: it has no vectors where the addresses differ by
/// less than 8 bytes. Small blocks are not worth a kernel that may have to be compiled.
bool is_shifted(const DeviceRef& to, const DeviceRef& from) {
  constexpr std::size_t least = std::size_t{1} << 20;
  return !to.buffer->device().is_cpu() && (to.data - from.data) % 8 != 0 &&
         bytes_of(to.layout, to.dtype) >= least;
}

/// Whether writing `to` could change an element of `from` that is still to be read.
bool conflicts(const DeviceRef& to, const DeviceRef& from) {
  return to.buffer->shares_memory(*from.buffer) &&
         overlap(to.data, to.layout, to.dtype.itemsize(), from.data, from.layout,
                 from.dtype.itemsize()) != Overlap::disjoint;
}

/// The layout broadcast to `shape`. NumPy's assignment drops leading axes of extent 1.
Layout written_to(const Layout& layout, const Shape& shape) {
  if (layout.rank() <= shape.size()) return broadcast_to(layout, shape);
  const std::size_t extra = layout.rank() - shape.size();
  const bool units = std::all_of(layout.shape.begin(), layout.shape.begin() + extra,
                                 [](std::int64_t extent) { return extent == 1; });
  if (!units) return broadcast_to(layout, shape);  // throws
  return broadcast_to({Shape(layout.shape.begin() + extra, layout.shape.end()),
                       Strides(layout.strides.begin() + extra, layout.strides.end())},
                      shape);
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
  if (same_block(to.layout, safe.layout, to.dtype.itemsize()) && !is_shifted(to, safe)) {
    return copy_bytes(stream, device_to_device, to.data, safe.data, bytes_of(to.layout, to.dtype),
                      false);
  }
  copy_within(to, safe, stream);
}

}  // namespace

void copy_elements(const DeviceRef& to, const DeviceRef& from, const Stream& stream,
                   const kernels::program* convert) {
  const DeviceRef source{from.data, from.dtype, written_to(from.layout, to.layout.shape),
                         from.buffer};
  require_like(to.layout.shape, to.dtype, source.layout.shape, from.dtype, convert);
  if (element_count(to.layout.shape) == 0) return;
  require_no_aliases(to.layout, to.dtype.itemsize());
  const backend::OperationRange range(text_of("copy", to), bytes_of(to.layout, to.dtype));
  memory::note_write(to.data, to.layout, to.dtype.itemsize());
  if (!(to.buffer->device() == from.buffer->device())) {
    return copy_across(to, source, stream, convert);
  }
  to.buffer->used_on(stream);
  from.buffer->used_on(stream);
  if (!convert && to.data == from.data && to.layout == source.layout) return;
  copy_on_device(to, source, stream, convert);
}

}  // namespace quarry
