// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>

#include "backend/cuda/check.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/driver.hpp"

namespace quarry::backend::cuda {
namespace {

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

bool is_legacy(CUstream stream) { return !stream || stream == CU_STREAM_LEGACY; }

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

/// One call that is ordered in the legacy stream and returns when the host memory may be reused.
bool copy_synchronously(const Copy& c) {
  if (c.direction == Direction::device_to_device) return false;
  if (c.direction == Direction::host_to_device) {
    check(driver().MemcpyHtoD(address(c.to), c.from, c.bytes));
  } else {
    check(driver().MemcpyDtoH(c.to, address(c.from), c.bytes));
  }
  return true;
}

CUDA_MEMCPY2D rectangle(const Copy& c) {
  CUDA_MEMCPY2D r{};
  const bool from_host = c.direction == Direction::host_to_device;
  const bool to_host = c.direction == Direction::device_to_host;
  r.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  r.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  r.srcHost = from_host ? c.from : nullptr;
  r.srcDevice = from_host ? 0 : address(c.from);
  r.dstHost = to_host ? c.to : nullptr;
  r.dstDevice = to_host ? 0 : address(c.to);
  r.srcPitch = c.from_pitch;
  r.dstPitch = c.to_pitch;
  r.WidthInBytes = c.bytes;
  r.Height = c.rows;
  return r;
}

/// The driver's rectangles have pitches of 31 bits, not smaller than a row.
bool is_rectangle(const Copy& c) {
  constexpr std::size_t limit = 2147483647;
  const auto fits = [&](std::size_t pitch) { return pitch >= c.bytes && pitch <= limit; };
  return fits(c.to_pitch) && fits(c.from_pitch);
}

void copy_rows(const Copy& c, CUstream stream) {
  for (std::size_t row = 0; row < c.rows; ++row) {
    Copy one = c;
    one.to = static_cast<char*>(c.to) + row * c.to_pitch;
    one.from = static_cast<const char*>(c.from) + row * c.from_pitch;
    copy_row(one, stream);
  }
}

void copy_rectangle(const Copy& c, CUstream stream) {
  if (!is_rectangle(c)) return copy_rows(c, stream);
  const CUDA_MEMCPY2D r = rectangle(c);
  check(driver().Memcpy2DAsync(&r, stream));
}

/// A copy without gaps on either side is one row.
Copy joined(Copy c) {
  if (c.rows > 1 && c.to_pitch == c.bytes && c.from_pitch == c.bytes) {
    c.bytes *= c.rows;
    c.rows = 1;
  }
  return c;
}

}  // namespace

void CudaDevice::copy(const Copy& copy, Stream stream, bool blocking) {
  if (copy.bytes == 0 || copy.rows == 0) return;
  context_.bind();
  const auto native = static_cast<CUstream>(stream);
  const Copy c = joined(copy);
  if (blocking && c.rows == 1 && is_legacy(native) && copy_synchronously(c)) return;
  c.rows == 1 ? copy_row(c, native) : copy_rectangle(c, native);
  if (blocking) check(driver().StreamSynchronize(native));
}

}  // namespace quarry::backend::cuda
