// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/overlap.hpp>
#include <quarry/memory/transfer.hpp>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "runtime/launch.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

void require_like(const Shape& to, DType to_type, const Shape& from, DType from_type) {
  require<ShapeError>(to == from, [&] {
    return fmt::format("cannot copy shape {} into shape {}", to_string(from), to_string(to));
  });
  require<DTypeError>(to_type == from_type, [&] {
    return fmt::format("cannot copy {} into {}; convert with astype first", to_string(from_type),
                       to_string(to_type));
  });
}

/// Copy programs, by the size of the word that they move.
template <class Word>
const kernels::program& copy_program() {
  return kernels::program_for<kernels::map_of<kernels::in<Word, 0>, Word, 0, Word>>::value;
}
template <class Word>
const kernels::program& fill_program() {
  return kernels::program_for<kernels::map_of<kernels::val<Word, 0>, Word, 1>>::value;
}
using Word16 = kernels::record<16, 16>;

const kernels::program& copy_program_of(std::size_t word) {
  switch (word) {
    case 1:
      return copy_program<kernels::u8>();
    case 2:
      return copy_program<kernels::u16>();
    case 4:
      return copy_program<kernels::u32>();
    case 8:
      return copy_program<kernels::u64>();
    default:
      return copy_program<Word16>();
  }
}
const kernels::program& fill_program_of(std::size_t word) {
  switch (word) {
    case 1:
      return fill_program<kernels::u8>();
    case 2:
      return fill_program<kernels::u16>();
    case 4:
      return fill_program<kernels::u32>();
    case 8:
      return fill_program<kernels::u64>();
    default:
      return fill_program<Word16>();
  }
}

/// The largest power of two up to 16 that divides every one of `values`.
std::size_t common_word(std::initializer_list<std::int64_t> values, std::span<const Dims> more) {
  std::uint64_t bits = 16;
  for (const std::int64_t v : values) bits |= static_cast<std::uint64_t>(v);
  for (const Dims& dims : more) {
    for (const std::int64_t v : dims) bits |= static_cast<std::uint64_t>(v);
  }
  return std::size_t{1} << std::countr_zero(bits);
}

std::int64_t address(const std::byte* p) { return std::bit_cast<std::int64_t>(p); }

/// An array as words: bytes become the innermost axis, neighbours merge, and the innermost run is
/// cut into the largest words that every stride and both addresses allow.
struct WordCopy {
  Shape shape;
  std::array<Strides, 2> strides;
  std::size_t word;
};

WordCopy plan_words(const std::byte* to, const std::byte* from, const Shape& shape,
                    const Strides& to_strides, const Strides& from_strides, std::size_t itemsize) {
  WordCopy plan{shape, {to_strides, from_strides}, 1};
  const std::array pointers{&plan.strides[0], &plan.strides[1]};
  sort_axes(plan.shape, pointers);
  collapse(plan.shape, pointers);
  // a record or wide element: bytes as one more axis, merged where the elements lie side by side
  const auto bytes = static_cast<std::int64_t>(itemsize);
  const bool side_by_side =
      !plan.shape.empty() && plan.strides[0].back() == bytes && plan.strides[1].back() == bytes;
  if (side_by_side) {
    plan.shape.back() = checked_mul(plan.shape.back(), bytes);
    plan.strides[0].back() = plan.strides[1].back() = 1;
  } else {
    plan.shape.push_back(bytes);
    plan.strides[0].push_back(1);
    plan.strides[1].push_back(1);
  }
  std::array<Dims, 2> outer = plan.strides;
  for (Dims& dims : outer) dims.pop_back();
  plan.word = common_word({plan.shape.back(), address(to), address(from)}, outer);
  const auto word = static_cast<std::int64_t>(plan.word);
  plan.shape.back() /= word;
  plan.strides[0].back() = plan.strides[1].back() = word;
  return plan;
}

void copy_strided(std::byte* to, const Layout& to_layout, const std::byte* from,
                  const Strides& from_strides, std::size_t itemsize, const Stream& stream) {
  const WordCopy plan =
      plan_words(to, from, to_layout.shape, to_layout.strides, from_strides, itemsize);
  const Layout out{plan.shape, plan.strides[0]}, in{plan.shape, plan.strides[1]};
  const runtime::Operand operands[] = {{to, &out}, {from, &in}};
  runtime::launch_map(copy_program_of(plan.word), operands, nullptr, stream);
}

/// Whether both layouts are the same dense block, so that one copy of bytes does it.
bool same_block(const Layout& a, const Layout& b, std::size_t itemsize) {
  Shape shape = a.shape;
  Strides x = a.strides, y = b.strides;
  const std::array pointers{&x, &y};
  sort_axes(shape, pointers);
  collapse(shape, pointers);
  if (shape.empty()) return true;
  const auto step = static_cast<std::int64_t>(itemsize);
  return shape.size() == 1 && x[0] == step && y[0] == step;
}

std::size_t bytes_of(const Layout& layout, DType type) {
  return static_cast<std::size_t>(byte_count(layout.shape, type.itemsize()));
}

/// Host memory packed in C order, for layouts that cannot be copied as they are.
struct Packed {
  explicit Packed(const Layout& like, DType type)
      : layout{like.shape, c_strides(like.shape, type.itemsize())},
        memory(std::make_unique_for_overwrite<std::byte[]>(bytes_of(like, type))) {}
  Layout layout;
  std::unique_ptr<std::byte[]> memory;
};

/// The same array dense in C order: itself, or device memory of its own.
DeviceRef dense_on_device(const DeviceRef& array, std::shared_ptr<Buffer>& holder,
                          const Stream& stream) {
  if (is_c_contiguous(array.layout, array.dtype.itemsize())) return array;
  holder = Buffer::allocate(bytes_of(array.layout, array.dtype), stream);
  return {holder->data(),
          array.dtype,
          {array.layout.shape, c_strides(array.layout.shape, array.dtype.itemsize())},
          holder.get()};
}

void copy_bytes(const Stream& stream, backend::Direction direction, void* to, const void* from,
                std::size_t bytes, bool blocking) {
  stream.state().device->copy({direction, to, from, bytes}, stream.state().native, blocking);
}

const Stream& host_stream() {
  static const Stream stream = default_stream(Device::cpu());
  return stream;
}

void upload_on_cpu(const DeviceRef& to, const HostRef& from, const Stream& stream) {
  copy_strided(to.data, to.layout, from.data, from.layout.strides, to.dtype.itemsize(), stream);
  stream.synchronize();
}

}  // namespace

void upload(const DeviceRef& to, const HostRef& from, const Stream& stream, bool blocking) {
  require_like(to.layout.shape, to.dtype, from.layout.shape, from.dtype);
  if (element_count(to.layout.shape) == 0) return;
  const std::size_t itemsize = to.dtype.itemsize(), bytes = bytes_of(to.layout, to.dtype);
  require_no_aliases(to.layout, itemsize);
  to.buffer->used_on(stream);
  using enum backend::Direction;
  if (same_block(to.layout, from.layout, itemsize)) {
    return copy_bytes(stream, host_to_device, to.data, from.data, bytes, blocking);
  }
  if (stream.device().is_cpu()) return upload_on_cpu(to, from, stream);
  const Packed packed(from.layout, from.dtype);
  copy_strided(packed.memory.get(), packed.layout, from.data, from.layout.strides, itemsize,
               host_stream());
  std::shared_ptr<Buffer> holder;
  const DeviceRef dense = dense_on_device(to, holder, stream);
  copy_bytes(stream, host_to_device, dense.data, packed.memory.get(), bytes, blocking && !holder);
  if (!holder) return;
  copy_strided(to.data, to.layout, dense.data, dense.layout.strides, itemsize, stream);
  if (blocking) stream.synchronize();
}

void download(const HostRef& to, const DeviceRef& from, const Stream& stream, bool blocking) {
  require_like(to.layout.shape, to.dtype, from.layout.shape, from.dtype);
  if (element_count(to.layout.shape) == 0) return;
  const std::size_t itemsize = to.dtype.itemsize(), bytes = bytes_of(to.layout, to.dtype);
  require_no_aliases(to.layout, itemsize);
  from.buffer->used_on(stream);
  using enum backend::Direction;
  if (same_block(to.layout, from.layout, itemsize)) {
    return copy_bytes(stream, device_to_host, to.data, from.data, bytes, blocking);
  }
  if (stream.device().is_cpu()) {
    copy_strided(to.data, to.layout, from.data, from.layout.strides, itemsize, stream);
    return stream.synchronize();
  }
  std::shared_ptr<Buffer> holder;
  const DeviceRef dense = dense_on_device(from, holder, stream);
  if (holder) {
    copy_strided(dense.data, dense.layout, from.data, from.layout.strides, itemsize, stream);
  }
  if (is_c_contiguous(to.layout, itemsize)) {
    return copy_bytes(stream, device_to_host, to.data, dense.data, bytes, blocking);
  }
  const Packed packed(to.layout, to.dtype);
  copy_bytes(stream, device_to_host, packed.memory.get(), dense.data, bytes, true);
  copy_strided(to.data, to.layout, packed.memory.get(), packed.layout.strides, itemsize,
               host_stream());
}

namespace {

/// Between the CPU and a GPU one side is host memory; between GPUs bytes go through the driver.
void copy_across(const DeviceRef& to, const DeviceRef& from, const Stream& stream) {
  const Stream source = from.buffer->stream();
  if (from.buffer->device().is_cpu()) {
    source.synchronize();
    return upload(to, {from.data, from.dtype, from.layout}, stream, true);
  }
  if (to.buffer->device().is_cpu()) {
    stream.synchronize();
    return download({to.data, to.dtype, to.layout}, from, source, true);
  }
  std::shared_ptr<Buffer> holder, landing;
  const DeviceRef dense = dense_on_device(from, holder, source);
  if (holder) copy_elements(dense, from, source);
  source.synchronize();
  const DeviceRef there = dense_on_device(to, landing, stream);
  copy_bytes(stream, backend::Direction::device_to_device, there.data, dense.data,
             bytes_of(to.layout, to.dtype), true);
  if (landing) copy_elements(to, there, stream);
}

}  // namespace

void copy_elements(const DeviceRef& to, const DeviceRef& from, const Stream& stream) {
  const DeviceRef source{from.data, from.dtype, broadcast_to(from.layout, to.layout.shape),
                         from.buffer};
  require_like(to.layout.shape, to.dtype, source.layout.shape, from.dtype);
  if (element_count(to.layout.shape) == 0) return;
  const std::size_t itemsize = to.dtype.itemsize();
  require_no_aliases(to.layout, itemsize);
  if (!(to.buffer->device() == from.buffer->device())) return copy_across(to, source, stream);
  to.buffer->used_on(stream);
  from.buffer->used_on(stream);
  if (to.data == from.data && to.layout == source.layout) return;
  std::shared_ptr<Buffer> holder;
  DeviceRef safe = source;
  if (to.buffer == from.buffer && overlap(to.data, to.layout, itemsize, source.data, source.layout,
                                          itemsize) != Overlap::disjoint) {
    holder = Buffer::allocate(bytes_of(source.layout, source.dtype), stream);
    safe = {holder->data(),
            source.dtype,
            {source.layout.shape, c_strides(source.layout.shape, itemsize)},
            holder.get()};
    copy_strided(safe.data, safe.layout, source.data, source.layout.strides, itemsize, stream);
  }
  if (same_block(to.layout, safe.layout, itemsize)) {
    return copy_bytes(stream, backend::Direction::device_to_device, to.data, safe.data,
                      bytes_of(to.layout, to.dtype), false);
  }
  copy_strided(to.data, to.layout, safe.data, safe.layout.strides, itemsize, stream);
}

void fill_elements(const DeviceRef& to, const void* value, const Stream& stream) {
  const std::int64_t count = element_count(to.layout.shape);
  if (count == 0) return;
  const std::size_t itemsize = to.dtype.itemsize();
  require_no_aliases(to.layout, itemsize);
  to.buffer->used_on(stream);
  const bool word = std::has_single_bit(itemsize) && itemsize <= 16;
  const bool aligned = address(to.data) % static_cast<std::int64_t>(itemsize) == 0;
  if (word && aligned && same_block(to.layout, to.layout, itemsize)) {
    return stream.state().device->fill(to.data, value, itemsize, count, stream.state().native);
  }
  if (word && common_word({address(to.data), static_cast<std::int64_t>(itemsize)},
                          {&to.layout.strides, 1}) == itemsize) {
    runtime::Scalar scalar{};
    std::memcpy(scalar, value, itemsize);
    const runtime::Operand operand{to.data, &to.layout};
    return runtime::launch_map(fill_program_of(itemsize), {&operand, 1}, &scalar, stream);
  }
  const auto one = Buffer::allocate(itemsize, stream);  // a record: one element, broadcast
  copy_bytes(stream, backend::Direction::host_to_device, one->data(), value, itemsize, false);
  copy_elements(to, {one->data(), to.dtype, {}, one.get()}, stream);
}

}  // namespace quarry
