// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>

#include <quarry/base/error.hpp>

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

/// The shortest period of the pattern: 1, 2, 4 bytes or its size.
std::size_t period(const unsigned char* pattern, std::size_t size) {
  for (std::size_t p = 1; p < size && p <= 4; p *= 2) {
    if (std::memcmp(pattern, pattern + p, size - p) == 0) return p;
  }
  return size;
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

void CudaDevice::fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
                      Stream stream) {
  if (count <= 0) return;
  context_.bind();
  std::array<unsigned, 4> lanes{};
  require<LogicError>(size <= sizeof lanes, "a fill pattern has at most 16 bytes");
  std::memcpy(lanes.data(), pattern, size);
  const std::size_t n = static_cast<std::size_t>(count);
  const std::size_t step = period(static_cast<const unsigned char*>(pattern), size);
  const auto native = static_cast<CUstream>(stream);
  const CUdeviceptr at = address(to);
  if (step == 1) {
    return check(
        driver().MemsetD8Async(at, static_cast<unsigned char>(lanes[0]), n * size, native));
  }
  if (step == 2) {
    return check(
        driver().MemsetD16Async(at, static_cast<unsigned short>(lanes[0]), n * size / 2, native));
  }
  if (step == 4) return check(driver().MemsetD32Async(at, lanes[0], n * size / 4, native));
  for (std::size_t lane = 0; lane < size / 4; ++lane) {
    check(driver().MemsetD2D32Async(at + 4 * lane, size, lanes[lane], 1, n, native));
  }
}

}  // namespace quarry::backend::cuda
