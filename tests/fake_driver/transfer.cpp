// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <memory>

#include "entry.hpp"
#include "state.hpp"

namespace quarry::fake::entry {
namespace {

/// `rows` rows of `bytes` bytes; one side, or both, on the device.
struct Rectangle {
  CUdeviceptr to, from;
  bool is_to_device, is_from_device;
  std::size_t bytes, rows = 1, to_pitch = 0, from_pitch = 0;

  std::size_t total() const { return bytes * rows; }
  std::size_t span(std::size_t pitch) const { return (rows - 1) * pitch + bytes; }
};

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// Where one side is kept now: the memory of a device block, or the host's own.
std::byte* side(CUdeviceptr at, bool is_device, std::size_t span) {
  return is_device ? state().memory.find(at, span, -1) : reinterpret_cast<std::byte*>(at);
}

CUresult move_rows(std::byte* to, const std::byte* from, const Rectangle& r) {
  for (std::size_t row = 0; row < r.rows; ++row) {
    std::memmove(to + row * r.to_pitch, from + row * r.from_pitch, r.bytes);
  }
  return CUDA_SUCCESS;
}

CUresult run_copy(const Rectangle& r) {
  std::byte* const to = side(r.to, r.is_to_device, r.span(r.to_pitch));
  const std::byte* const from = side(r.from, r.is_from_device, r.span(r.from_pitch));
  if (!to || !from) {
    add_fault("a queued copy touches device memory that has been freed");
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  return move_rows(to, from, r);
}

/// A copy whose source is kept in `bytes`, dense.
CUresult run_snapshot(Rectangle r, const std::vector<std::byte>& bytes) {
  r.from = address(bytes.data());
  r.is_from_device = false;
  r.from_pitch = r.bytes;
  return run_copy(r);
}

bool is_valid(const Rectangle& r) {
  const auto is_there = [](CUdeviceptr at, bool is_device, std::size_t span) {
    return is_device ? state().memory.find(at, span, -1) != nullptr : at != 0;
  };
  return (r.rows == 1 || (r.to_pitch >= r.bytes && r.from_pitch >= r.bytes)) &&
         is_there(r.to, r.is_to_device, r.span(r.to_pitch)) &&
         is_there(r.from, r.is_from_device, r.span(r.from_pitch));
}

bool is_pageable(CUdeviceptr at, bool is_device, std::size_t span) {
  return !is_device && !state().memory.is_pinned(reinterpret_cast<void*>(at), span);
}

void count(const Rectangle& r) {
  const Guard lock(state().mutex);
  Statistics& total = state().statistics;
  ++total.copies;
  auto& bytes = !r.is_from_device ? total.bytes_to_device
                : !r.is_to_device ? total.bytes_to_host
                                  : total.bytes_on_device;
  bytes += static_cast<std::int64_t>(r.total());
}

/// As CUDA: bytes of pageable memory are taken at the call, and a copy to pageable memory returns
/// when it has been done.
CUresult copy(const Rectangle& r, CUstream stream, bool waits) {
  if (const CUresult result = enter()) return result;
  if (r.total() == 0) return CUDA_SUCCESS;
  if (!is_valid(r)) {
    add_fault("a copy of " + std::to_string(r.total()) + " bytes leaves the memory that is there");
    return CUDA_ERROR_INVALID_VALUE;
  }
  count(r);
  Operation operation;
  operation.cost_ms = 0.001 + static_cast<double>(r.total()) * 1e-7;
  operation.mark = std::make_shared<Mark>();
  const std::shared_ptr<Mark> done = operation.mark;
  if (is_pageable(r.from, r.is_from_device, r.span(r.from_pitch))) {
    auto bytes = std::make_shared<std::vector<std::byte>>(r.total());
    Rectangle dense = r;
    dense.to_pitch = r.bytes;
    move_rows(bytes->data(), reinterpret_cast<const std::byte*>(r.from), dense);
    operation.work = [=] { return run_snapshot(r, *bytes); };
  } else {
    operation.work = [=] { return run_copy(r); };
  }
  if (const CUresult result = enqueue(stream, std::move(operation))) return result;
  if (!waits && !is_pageable(r.to, r.is_to_device, r.span(r.to_pitch))) return CUDA_SUCCESS;
  state().scheduler.finish(*done);
  return state().scheduler.sticky(current_device());
}

Rectangle row(CUdeviceptr to, bool is_to_device, CUdeviceptr from, bool is_from_device,
              std::size_t bytes) {
  return {to, from, is_to_device, is_from_device, bytes};
}

struct Fill {
  CUdeviceptr to;
  std::size_t item, width, height, pitch;
  unsigned value;
  std::size_t span() const { return (height - 1) * pitch + width * item; }
};

CUresult run_fill(const Fill& f) {
  std::byte* const to = state().memory.find(f.to, f.span(), -1);
  if (!to) {
    add_fault("a queued fill touches device memory that has been freed");
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  for (std::size_t row = 0; row < f.height; ++row) {
    for (std::size_t i = 0; i < f.width; ++i) {
      std::memcpy(to + row * f.pitch + i * f.item, &f.value, f.item);
    }
  }
  return CUDA_SUCCESS;
}

CUresult fill(const Fill& f, CUstream stream) {
  if (const CUresult result = enter()) return result;
  if (f.width == 0 || f.height == 0) return CUDA_SUCCESS;
  const bool is_pitch_right =
      f.height == 1 || (f.pitch >= f.width * f.item && f.pitch % f.item == 0);
  if (f.to % f.item != 0 || !is_pitch_right || !state().memory.is_device(f.to, f.span())) {
    add_fault("a fill leaves the memory that is there or is not aligned");
    return CUDA_ERROR_INVALID_VALUE;
  }
  {
    const Guard lock(state().mutex);
    ++state().statistics.fills;
  }
  Operation operation;
  operation.work = [=] { return run_fill(f); };
  return enqueue(stream, std::move(operation));
}

}  // namespace

CUresult to_device(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy(row(to, true, address(from), false, bytes), nullptr, true);
}
CUresult to_host(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy(row(address(to), false, from, true, bytes), nullptr, true);
}
CUresult on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(row(to, true, from, true, bytes), nullptr, false);
}
CUresult to_device_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy(row(to, true, address(from), false, bytes), stream, false);
}
CUresult to_host_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(row(address(to), false, from, true, bytes), stream, false);
}
CUresult on_device_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(row(to, true, from, true, bytes), stream, false);
}

CUresult copy_2d_async(const CUDA_MEMCPY2D* c, CUstream stream) {
  const auto is_host = [](CUmemorytype type) { return type == CU_MEMORYTYPE_HOST; };
  const auto is_known = [&](CUmemorytype type) {
    return is_host(type) || type == CU_MEMORYTYPE_DEVICE;
  };
  if (!is_known(c->srcMemoryType) || !is_known(c->dstMemoryType)) return CUDA_ERROR_INVALID_VALUE;
  const bool to_host = is_host(c->dstMemoryType), from_host = is_host(c->srcMemoryType);
  Rectangle r{.to = to_host ? address(c->dstHost) : c->dstDevice,
              .from = from_host ? address(c->srcHost) : c->srcDevice,
              .is_to_device = !to_host,
              .is_from_device = !from_host,
              .bytes = c->WidthInBytes,
              .rows = c->Height,
              .to_pitch = c->dstPitch,
              .from_pitch = c->srcPitch};
  r.to += c->dstY * r.to_pitch + c->dstXInBytes;
  r.from += c->srcY * r.from_pitch + c->srcXInBytes;
  return copy(r, stream, false);
}

CUresult set_8_async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill({to, 1, count, 1, 0, value}, stream);
}
CUresult set_16_async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
  return fill({to, 2, count, 1, 0, value}, stream);
}
CUresult set_32_async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill({to, 4, count, 1, 0, value}, stream);
}
CUresult set_2d_32_async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                         std::size_t height, CUstream stream) {
  return fill({to, 4, width, height, pitch, value}, stream);
}

CUresult mem_get_info(std::size_t* free, std::size_t* total) {
  if (const CUresult result = enter()) return result;
  const Memory::Usage used = state().memory.usage(current_device());
  *free = used.capacity - std::min(used.bytes, used.capacity);
  *total = used.capacity;
  return CUDA_SUCCESS;
}

CUresult mem_alloc(CUdeviceptr* out, std::size_t bytes) {
  if (const CUresult result = enter()) return result;
  return state().memory.allocate(current_device(), bytes, out);
}

CUresult mem_free(CUdeviceptr at) {
  if (const CUresult result = enter()) return result;
  if (at == 0) return CUDA_SUCCESS;
  const int device = state().memory.owner(at);
  if (device >= 0 && behaviour().free_waits) state().scheduler.finish_device(device);
  return state().memory.free(at);
}

CUresult mem_host_alloc(void** out, std::size_t bytes, unsigned) {
  if (const CUresult result = enter()) return result;
  return state().memory.allocate_host(bytes, out);
}

CUresult mem_free_host(void* memory) {
  if (const CUresult result = enter()) return result;
  if (behaviour().free_waits) state().scheduler.finish_all();
  return state().memory.free_host(memory);
}

}  // namespace quarry::fake::entry
