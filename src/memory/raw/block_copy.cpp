// SPDX-License-Identifier: BSD-3-Clause
#include "memory/raw/block_copy.hpp"

#include <quarry/base/overlap.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "backend/annotation.hpp"
#include "memory/address_check.hpp"
#include "memory/raw/array_state.hpp"
#include "memory/raw/raw_address.hpp"
#include "memory/write_log.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace memory {
namespace {

using detail::ArraySide, detail::CopySide, detail::DeviceSide, detail::HostSide,
    detail::UnifiedSide;

const DevicePtr* device_memory(const CopySide& side) {
  if (const auto* device = std::get_if<DeviceSide>(&side)) return &device->memory;
  const auto* unified = std::get_if<UnifiedSide>(&side);
  return unified ? std::get_if<DevicePtr>(&unified->memory) : nullptr;
}
std::span<std::byte> host_memory(const CopySide& side) {
  if (const auto* host = std::get_if<HostSide>(&side)) return host->memory;
  return std::get<std::span<std::byte>>(std::get<UnifiedSide>(side).memory);
}

/// Keeps a CUDA array alive until the copy is queued.
void find_array(BoxSide& side) {
  const auto* found = std::get_if<ArraySide>(&side.memory);
  if (!found) return;
  side.array = found->memory.lock();
  require<LogicError>(side.array != nullptr,
                      [&] { return side.name + " is a CUDA array that has been freed"; });
  side.device = side.array->buffer.device();
}

void require_elements(const BoxSide& side, const char* what, std::size_t bytes) {
  const std::size_t size = side.array->descriptor.element_bytes();
  require<LogicError>(bytes % size == 0, [&] {
    return fmt::format("{}: {} of {} bytes, but the elements of the CUDA array have {}", side.name,
                       what, bytes, size);
  });
}

void require_in_array(const BoxSide& side, const char* what, std::size_t first, std::size_t count,
                      std::size_t extent) {
  require<LogicError>(first <= extent && count <= extent - first, [&] {
    return fmt::format("{} is a CUDA array of {}: {} {} from {} on leave its {}", side.name,
                       to_string(side.array->descriptor), count, what, first, extent);
  });
}

/// A CUDA array defines its own rows and planes.
void complete_array(BoxSide& side, const Box& box) {
  Place& p = side.place;
  const ArrayDescriptor& d = side.array->descriptor;
  p.pitch = d.row_bytes();
  p.height = d.rows();
  require_elements(side, "an offset", p.x);
  require_elements(side, "a width", box.width);
  require_in_array(side, "bytes", p.x, box.width, p.pitch);
  require_in_array(side, "rows", p.y, box.height, p.height);
  require_in_array(side, "planes", p.z, box.depth, d.planes());
}

/// The rows and planes as the driver requires them: of a single one the size is arbitrary.
void complete(BoxSide& side, const Box& box) {
  Place& p = side.place;
  require<LogicError>(p.lod == 0, [&] {
    return fmt::format("{} has level of detail {}; memory has 0 alone", side.name, p.lod);
  });
  if (side.array) return complete_array(side, box);
  const std::size_t row_end = size_sum(p.x, box.width), plane_end = size_sum(p.y, box.height);
  if (p.pitch == 0) p.pitch = box.width;
  if (p.height == 0) p.height = box.height;
  if (box.depth == 1 && p.z == 0) p.height = std::max(p.height, plane_end);
  if (plane_end == 1 && box.depth == 1 && p.z == 0) p.pitch = std::max(p.pitch, row_end);
  require<LogicError>(row_end <= p.pitch, [&] {
    return fmt::format("{} has a pitch of {} bytes, rows of the box end at byte {} ({} + {})",
                       side.name, p.pitch, row_end, p.x, box.width);
  });
  require<LogicError>(plane_end <= p.height, [&] {
    return fmt::format("{} has planes of {} rows, the box ends at row {} ({} + {})", side.name,
                       p.height, plane_end, p.y, box.height);
  });
}

/// Bytes from the start of the block to the end of the box.
std::size_t extent(const Place& p, const Box& box) {
  const std::size_t planes = size_sum(p.z, box.depth) - 1, rows = size_sum(p.y, box.height) - 1;
  const std::size_t full = size_product(size_sum(size_product(planes, p.height), rows), p.pitch);
  return size_sum(full, size_sum(p.x, box.width));
}

void require_unified(const BoxSide& side, std::span<const std::byte> memory, const Device& device) {
  if (device.is_cpu()) return;
  require<LogicError>(pointer_info(memory.data(), device).kind != PointerKind::pageable, [&] {
    return fmt::format("{} was given as unified memory, but {} is {}", side.name,
                       fmt::ptr(memory.data()), to_string(PointerKind::pageable));
  });
}

void require_array(const BoxSide& side, const Device& device) {
  const Device of_array = side.array->buffer.device();
  require<LogicError>(of_array.is_cpu() == device.is_cpu(), [&] {
    return fmt::format("{} is a CUDA array of {}, the copy is for {}", side.name,
                       to_string(of_array), to_string(device));
  });
}

void require_memory(const BoxSide& side, const Box& box, const Device& device) {
  const std::size_t bytes = extent(side.place, box);
  if (const DevicePtr* p = device_memory(side.memory)) {
    return memory::require_device_memory(side.name.c_str(), *p, bytes, device);
  }
  const auto host = host_memory(side.memory);
  require<LogicError>(bytes <= host.size(), [&] {
    return fmt::format("{} is {} bytes of the host, the box ends at byte {}", side.name,
                       host.size(), bytes);
  });
  if (std::holds_alternative<UnifiedSide>(side.memory)) return require_unified(side, host, device);
  memory::require_host_memory(side.name.c_str(), host.first(bytes), device);
}

void used_on(const BoxSide& side, const Stream& stream) {
  if (side.array) return side.array->buffer.used_on(stream);
  if (const DevicePtr* p = device_memory(side.memory)) {
    return memory::used_on(*p, stream, side.device);
  }
  memory::used_on(host_memory(side.memory), stream);
}

void* address_of(const BoxSide& side) {
  if (side.array) return side.array->buffer.data();
  const DevicePtr* const p = device_memory(side.memory);
  return p ? p->get() : host_memory(side.memory).data();
}

std::optional<Device> device_of(const BoxSide& side) {
  if (side.device) return side.device;
  const DevicePtr* const p = device_memory(side.memory);
  const auto buffer = p ? p->buffer() : nullptr;
  return buffer ? std::optional(buffer->device()) : std::nullopt;
}

/// That of the destination or of the source, whichever is known, else the current one.
Device device_of(const BoxSide& to, const BoxSide& from) {
  for (const BoxSide* side : {&to, &from}) {
    if (const auto device = device_of(*side)) return *device;
  }
  return {};
}

backend::BlockSide side_of(const BoxSide& side) {
  backend::BlockSide s{.kind = static_cast<backend::SideKind>(side.memory.index() - 1),
                       .address = address_of(side),
                       .x_in_bytes = side.place.x,
                       .y = side.place.y,
                       .z = side.place.z,
                       .pitch = side.place.pitch,
                       .height = side.place.height};
  const bool is_on_host = !side.array && !device_memory(side.memory);
  if (const auto device = device_of(side); device && !is_on_host) s.device = &device->backend();
  return s;
}

void require_same_elements(const BoxSide& to, const BoxSide& from) {
  if (!to.array || !from.array) return;
  const ArrayDescriptor &a = to.array->descriptor, &b = from.array->descriptor;
  require<LogicError>(a.element_bytes() == b.element_bytes(), [&] {
    return fmt::format("{} is a CUDA array of {}, the source of {}: their elements differ in size",
                       to.name, to_string(a), to_string(b));
  });
}

/// Where the rows of a box lie: elements of `width` bytes. For one row or plane the stride is 0,
/// whatever that of the block.
struct Rows {
  const std::byte* first;
  Layout layout;
};

Rows rows_of(const BoxSide& side, const Box& box) {
  const Place& p = side.place;
  const std::size_t pitch = p.y + box.height > 1 || p.z + box.depth > 1 ? p.pitch : 0;
  const std::size_t plane = p.z + box.depth > 1 ? size_product(pitch, p.height) : 0;
  const std::size_t before = p.x + p.y * pitch + p.z * plane;
  return {static_cast<const std::byte*>(address_of(side)) + before,
          {{box.depth, box.height}, {box.depth > 1 ? plane : 0, box.height > 1 ? pitch : 0}}};
}

/// The sides may be one box.
void require_apart(const BoxSide& to, const BoxSide& from, const Box& box) {
  if (to.array != from.array) return;
  const Rows a = rows_of(to, box), b = rows_of(from, box);
  if (a.first == b.first && a.layout.strides == b.layout.strides) return;
  require<AliasError>(
      overlap(a.first, a.layout, box.width, b.first, b.layout, box.width) != Overlap::overlapping,
      [&] {
        return fmt::format("{} and the source share some of the bytes of a box of {} x {} x {}",
                           to.name, box.width, box.height, box.depth);
      });
}

/// For the checked mode: where the box lies in memory that arrays may have.
void note_write(const BoxSide& to, const Box& box) {
  if (to.array) return;
  const Rows rows = rows_of(to, box);
  memory::note_write(rows.first, rows.layout, box.width);
}

}  // namespace

void copy_box(BoxSide to, BoxSide from, const Box& box, const Stream* stream, bool unaligned) {
  for (BoxSide* side : {&to, &from}) {
    require<LogicError>(side->memory.index() != 0, [&] { return side->name + " was not set"; });
    find_array(*side);
  }
  if (box.width == 0 || box.height == 0 || box.depth == 0) return;
  const Stream in = stream ? *stream : default_stream(device_of(to, from));
  for (BoxSide* side : {&to, &from}) {
    complete(*side, box);
    if (side->array) {
      require_array(*side, in.device());
    } else {
      require_memory(*side, box, side->device.value_or(in.device()));
    }
  }
  require_same_elements(to, from);
  require_apart(to, from, box);
  used_on(to, in);
  used_on(from, in);
  note_write(to, box);
  const backend::OperationRange range([&] {
    return fmt::format("copy block {} x {} x {} bytes", box.depth, box.height, box.width);
  });
  in.device().backend().copy_block({.to = side_of(to),
                                    .from = side_of(from),
                                    .width_in_bytes = box.width,
                                    .height = box.height,
                                    .depth = box.depth,
                                    .unaligned = unaligned},
                                   in.state().native, !stream);
}

}  // namespace memory

namespace {

using detail::CopySide;

void run_2d(const Memcpy2D& c, const CopySide& dst, const CopySide& src, const Stream* stream,
            bool unaligned) {
  memory::copy_box(
      {"Memcpy2D: the destination", dst, {c.dst_x_in_bytes, c.dst_y, 0, 0, c.dst_pitch, 0}},
      {"Memcpy2D: the source", src, {c.src_x_in_bytes, c.src_y, 0, 0, c.src_pitch, 0}},
      {c.width_in_bytes, c.height, 1}, stream, unaligned);
}

}  // namespace

void Memcpy2D::operator()(bool aligned) const { run_2d(*this, dst_, src_, nullptr, !aligned); }
void Memcpy2D::operator()(const Stream& stream) const { run_2d(*this, dst_, src_, &stream, false); }

void Memcpy3D::run(const Stream* stream, const std::optional<Device>& src_device,
                   const std::optional<Device>& dst_device) const {
  const memory::Place to{dst_x_in_bytes, dst_y, dst_z, dst_lod, dst_pitch, dst_height};
  const memory::Place from{src_x_in_bytes, src_y, src_z, src_lod, src_pitch, src_height};
  memory::copy_box({"Memcpy3D: the destination", dst_, to, dst_device},
                   {"Memcpy3D: the source", src_, from, src_device},
                   {width_in_bytes, height, depth}, stream, false);
}
void Memcpy3D::operator()() const { run(nullptr, std::nullopt, std::nullopt); }
void Memcpy3D::operator()(const Stream& stream) const { run(&stream, std::nullopt, std::nullopt); }

void Memcpy3DPeer::operator()() const { run(nullptr, src_device_, dst_device_); }
void Memcpy3DPeer::operator()(const Stream& stream) const {
  run(&stream, src_device_, dst_device_);
}

}  // namespace quarry
