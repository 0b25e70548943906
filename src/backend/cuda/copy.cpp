// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <vector>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"

namespace quarry::backend::cuda {
namespace {

/// Pieces in one call of the driver.
constexpr std::size_t largest_batch = 4096;

void copy_row(const Copy& c, CUstream stream) {
  switch (c.direction) {
    case Direction::host_to_device:
      return check(driver().MemcpyHtoDAsync(address(c.to), c.from, c.bytes, stream));
    case Direction::device_to_host:
      return check(driver().MemcpyDtoHAsync(c.to, address(c.from), c.bytes, stream));
    case Direction::device_to_device:
      return check(driver().MemcpyDtoDAsync(address(c.to), address(c.from), c.bytes, stream));
  }
}

/// The driver's description of the rows of `c`, its slices aside.
template <class Description>
Description rows_of(const Copy& c) {
  Description d{};
  const bool from_host = c.direction == Direction::host_to_device;
  const bool to_host = c.direction == Direction::device_to_host;
  d.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  d.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  d.srcHost = from_host ? c.from : nullptr;
  d.srcDevice = from_host ? 0 : address(c.from);
  d.dstHost = to_host ? c.to : nullptr;
  d.dstDevice = to_host ? 0 : address(c.to);
  d.srcPitch = c.from_pitch;
  d.dstPitch = c.to_pitch;
  d.WidthInBytes = c.bytes;
  d.Height = c.rows;
  return d;
}

CUDA_MEMCPY3D box_of(const Copy& c) {
  auto d = rows_of<CUDA_MEMCPY3D>(c);
  d.srcHeight = c.from_slice / c.from_pitch;
  d.dstHeight = c.to_slice / c.to_pitch;
  d.Depth = c.slices;
  return d;
}

/// The driver's 2-D copies need pitches of 31 bits, not smaller than a row.
bool is_rectangle(const Copy& c) {
  constexpr std::size_t limit = 2147483647;
  const auto fits = [&](std::size_t pitch) { return pitch >= c.bytes && pitch <= limit; };
  return fits(c.to_pitch) && fits(c.from_pitch);
}

/// Its 3-D copies need slices of whole rows, at least as many as are copied.
bool is_box(const Copy& c) {
  constexpr std::size_t limit = 2147483647;
  const auto fits = [&](std::size_t slice, std::size_t pitch) {
    return slice % pitch == 0 && slice / pitch >= c.rows && slice / pitch <= limit;
  };
  return is_rectangle(c) && fits(c.to_slice, c.to_pitch) && fits(c.from_slice, c.from_pitch);
}

Copy moved(Copy c, std::size_t to, std::size_t from) {
  c.to = static_cast<char*>(c.to) + to;
  c.from = static_cast<const char*>(c.from) + from;
  return c;
}

void copy_rectangle(const Copy& c, CUstream stream) {
  if (is_rectangle(c)) {
    const auto description = rows_of<CUDA_MEMCPY2D>(c);
    return check(driver().Memcpy2DAsync(&description, stream));
  }
  for (std::size_t row = 0; row < c.rows; ++row) {
    copy_row(moved(c, row * c.to_pitch, row * c.from_pitch), stream);
  }
}

void copy_box(const Copy& c, CUstream stream) {
  if (is_box(c)) {
    const CUDA_MEMCPY3D description = box_of(c);
    return check(driver().Memcpy3DAsync(&description, stream));
  }
  for (std::size_t slice = 0; slice < c.slices; ++slice) {
    copy_rectangle(moved(c, slice * c.to_slice, slice * c.from_slice), stream);
  }
}

void enqueue(const Copy& c, CUstream stream) {
  if (c.slices > 1) return copy_box(c, stream);
  c.rows > 1 ? copy_rectangle(c, stream) : copy_row(c, stream);
}

/// One call that is ordered in the legacy stream and returns when the host memory may be reused:
/// from pageable memory the driver may only have read the bytes by then.
bool copy_synchronously(const Copy& c) {
  if (c.direction == Direction::device_to_device || c.rows > 1 || c.slices > 1) return false;
  if (c.direction == Direction::host_to_device) {
    check(driver().MemcpyHtoD(address(c.to), c.from, c.bytes));
  } else {
    check(driver().MemcpyDtoH(c.to, address(c.from), c.bytes));
  }
  return true;
}

/// Rows without gaps on either side are one row, slices without gaps are more rows.
Copy joined(Copy c) {
  if (c.rows > 1 && c.to_pitch == c.bytes && c.from_pitch == c.bytes) {
    c.bytes *= c.rows;
    c.rows = 1;
  }
  if (c.slices == 1) return c;
  const bool is_one_row = c.rows == 1;
  const std::size_t to_rows = c.rows * c.to_pitch, from_rows = c.rows * c.from_pitch;
  if (!is_one_row && (c.to_slice != to_rows || c.from_slice != from_rows)) return c;
  if (is_one_row) {
    c.to_pitch = c.to_slice;
    c.from_pitch = c.from_slice;
  }
  c.rows *= c.slices;
  c.slices = 1;
  return is_one_row ? joined(c) : c;
}

void enqueue_batch(std::span<const Piece> pieces, CUstream stream) {
  std::vector<CUdeviceptr> to, from;
  std::vector<std::size_t> bytes;
  for (const Piece& piece : pieces) {
    if (piece.bytes == 0) continue;
    to.push_back(address(piece.to));
    from.push_back(address(piece.from));
    bytes.push_back(piece.bytes);
  }
  if (bytes.empty()) return;
  CUmemcpyAttributes in_stream_order{};
  in_stream_order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  check(driver().MemcpyBatchAsync(to.data(), from.data(), bytes.data(), bytes.size(),
                                  &in_stream_order, &first, 1, stream));
}

}  // namespace

void CudaDevice::copy(const Copy& copy, Stream stream, bool blocking) {
  if (copy.bytes == 0 || copy.rows == 0 || copy.slices == 0) return;
  const auto current = context_.bind();
  const Copy c = joined(copy);
  if (blocking && is_legacy(native(stream)) && copy_synchronously(c)) {
    if (c.direction == Direction::host_to_device) note_upload();
    return;
  }
  enqueue(c, native(stream));
  if (blocking) check(driver().StreamSynchronize(native(stream)));
}

bool CudaDevice::has_batched_copies(Stream stream) const {
  return driver().MemcpyBatchAsync && !is_legacy(native(stream));
}

void CudaDevice::copy_batch(Direction direction, std::span<const Piece> pieces, Stream stream) {
  const auto current = context_.bind();
  if (has_batched_copies(stream)) {
    for (std::size_t at = 0; at < pieces.size(); at += largest_batch) {
      enqueue_batch(pieces.subspan(at, std::min(largest_batch, pieces.size() - at)),
                    native(stream));
    }
    return;
  }
  for (const Piece& piece : pieces) {
    if (piece.bytes > 0) copy_row({direction, piece.to, piece.from, piece.bytes}, native(stream));
  }
}

}  // namespace quarry::backend::cuda
