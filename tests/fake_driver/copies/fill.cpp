// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake::entry {
namespace {

struct Fill {
  CUdeviceptr to;
  std::size_t item, width, height, pitch;
  unsigned value;
  std::size_t span() const { return (height - 1) * pitch + width * item; }
};

CUresult run_fill(const Fill& f, std::uint64_t id) {
  const auto found = state().memory.look(f.to, f.span());
  std::byte* const to = state().memory.find(f.to, f.span(), -1);
  if (!to || !found || found->block.id != id) {
    add_fault("a queued fill touches memory that has been freed or is not there yet");
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  for (std::size_t row = 0; row < f.height; ++row) {
    for (std::size_t i = 0; i < f.width; ++i) {
      std::memcpy(to + row * f.pitch + i * f.item, &f.value, f.item);
    }
  }
  return CUDA_SUCCESS;
}

bool is_aligned(const Fill& f) {
  const bool is_pitch_right =
      f.height == 1 || (f.pitch >= f.width * f.item && f.pitch % f.item == 0);
  return f.to % f.item == 0 && is_pitch_right;
}

CUresult fill(const Fill& f, CUstream stream) {
  if (const CUresult result = enter()) return result;
  if (f.width == 0 || f.height == 0) return CUDA_SUCCESS;
  const auto found = state().memory.look(f.to, f.span());
  if (!is_aligned(f) || !found) {
    add_fault("a fill leaves the memory that is there or is not aligned");
    return CUDA_ERROR_INVALID_VALUE;
  }
  {
    const Guard lock(state().mutex);
    ++state().statistics.fills;
  }
  Operation operation;
  operation.work = [=, id = found->block.id] { return run_fill(f, id); };
  return enqueue(stream, std::move(operation));
}

}  // namespace

CUresult set_8_async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill({to, 1, count, 1, 0, value}, stream);
}
CUresult set_16_async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
  return fill({to, 2, count, 1, 0, value}, stream);
}
CUresult set_32_async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill({to, 4, count, 1, 0, value}, stream);
}
CUresult set_2d_8_async(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                        std::size_t height, CUstream stream) {
  return fill({to, 1, width, height, pitch, value}, stream);
}
CUresult set_2d_16_async(CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                         std::size_t height, CUstream stream) {
  return fill({to, 2, width, height, pitch, value}, stream);
}
CUresult set_2d_32_async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                         std::size_t height, CUstream stream) {
  return fill({to, 4, width, height, pitch, value}, stream);
}

}  // namespace quarry::fake::entry
