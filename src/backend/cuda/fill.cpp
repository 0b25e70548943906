// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <cstring>

#include <quarry/base/error.hpp>
#include <quarry/kernels/map.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"

/// Fills: the driver's memset where the pattern repeats within 4 bytes, else a map of a scalar.
namespace quarry::backend::cuda {
namespace {

using Lanes = std::array<unsigned, 4>;

/// Below it the driver's slow strided memset is faster than compiling a kernel.
constexpr std::int64_t shortest_map = 2048;

/// The shortest period of the pattern: 1, 2, 4 bytes or its size.
std::size_t period(const unsigned char* pattern, std::size_t size) {
  for (std::size_t p = 1; p < size && p <= 4; p *= 2) {
    if (std::memcmp(pattern, pattern + p, size - p) == 0) return p;
  }
  return size;
}

void set(CUdeviceptr to, const Lanes& lanes, std::size_t period, std::size_t bytes,
         CUstream stream) {
  switch (period) {
    case 1:
      return check(driver().MemsetD8Async(to, static_cast<unsigned char>(lanes[0]), bytes, stream));
    case 2:
      return check(
          driver().MemsetD16Async(to, static_cast<unsigned short>(lanes[0]), bytes / 2, stream));
    default:
      return check(driver().MemsetD32Async(to, lanes[0], bytes / 4, stream));
  }
}

/// Each 4-byte lane of the elements by itself.
void set_lanes(CUdeviceptr to, const Lanes& lanes, std::size_t size, std::size_t count,
               CUstream stream) {
  for (std::size_t lane = 0; lane < size / 4; ++lane) {
    check(driver().MemsetD2D32Async(to + 4 * lane, size, lanes[lane], 1, count, stream));
  }
}

void set_rows(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t size,
              std::size_t width, std::size_t height, CUstream stream) {
  switch (size) {
    case 1:
      return check(driver().MemsetD2D8Async(to, pitch, static_cast<unsigned char>(value), width,
                                            height, stream));
    case 2:
      return check(driver().MemsetD2D16Async(to, pitch, static_cast<unsigned short>(value), width,
                                             height, stream));
    default:
      return check(driver().MemsetD2D32Async(to, pitch, value, width, height, stream));
  }
}

template <class T>
const kernels::program& fill_program =
    kernels::program_for<kernels::map_of<kernels::val<T, 0>, T, 1>>::value;

KernelCall fill_call(void* to, const Lanes& pattern, std::size_t size, std::int64_t count) {
  KernelCall call(size == 8 ? fill_program<kernels::u64> : fill_program<kernels::complex<double>>);
  call.shape = {count};
  call.kept_rank = 1;
  call.kept = count;
  call.span = count * static_cast<std::int64_t>(size);
  call.operands[0] = {static_cast<std::byte*>(to), {size}};
  std::memcpy(call.scalars.data(), pattern.data(), sizeof pattern);
  return call;
}

}  // namespace

void CudaDevice::fill(void* to, const void* pattern, std::size_t size, std::int64_t count,
                      Stream stream) {
  if (count <= 0) return;
  const auto current = context_.bind();
  Lanes lanes{};
  require<LogicError>(size <= sizeof lanes, "a fill pattern has at most 16 bytes");
  std::memcpy(lanes.data(), pattern, size);
  const std::size_t step = period(static_cast<const unsigned char*>(pattern), size);
  const auto n = static_cast<std::size_t>(count);
  const auto at = address(to);
  if (step <= 4) return set(at, lanes, step, n * size, native(stream));
  if (count >= shortest_map) {
    return launch(fill_call(to, lanes, size, count), no_workspace(), stream);
  }
  set_lanes(at, lanes, size, n, native(stream));
}

void CudaDevice::fill_rows(void* to, std::size_t pitch, const void* pattern, std::size_t size,
                           std::size_t width, std::size_t height, Stream stream) {
  require<LogicError>(size == 1 || size == 2 || size == 4, [&] {
    return fmt::format("rows are filled with patterns of 1, 2 or 4 bytes, not {}", size);
  });
  if (width == 0 || height == 0) return;
  const auto current = context_.bind();
  unsigned value = 0;
  std::memcpy(&value, pattern, size);
  if (height == 1) pitch = width * size;  // the driver checks it even for one row
  set_rows(address(to), pitch, value, size, width, height, native(stream));
}

}  // namespace quarry::backend::cuda
