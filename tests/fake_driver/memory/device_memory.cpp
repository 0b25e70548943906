// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"
#include "fake_driver/streams/capture.hpp"

namespace quarry::fake::entry {

CUresult mem_get_info(std::size_t* free, std::size_t* total) {
  if (const CUresult result = enter()) return result;
  const Memory::Usage used = state().memory.usage(current_device());
  *free = used.capacity - std::min(used.bytes, used.capacity);
  *total = used.capacity;
  return CUDA_SUCCESS;
}

CUresult mem_alloc(CUdeviceptr* out, std::size_t bytes) {
  if (const CUresult result = enter_unsafe()) return result;
  return state().memory.allocate(current_device(), bytes, out);
}

CUresult mem_alloc_pitch(CUdeviceptr* out, std::size_t* pitch, std::size_t width,
                         std::size_t height, unsigned element) {
  if (const CUresult result = enter_unsafe()) return result;
  const bool is_word = element == 4 || element == 8 || element == 16;
  if (!is_word || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t row = Arena::round_up(width);
  if (row < width || row > ~std::size_t{0} / height) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = state().memory.allocate(current_device(), row * height, out);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult mem_free(CUdeviceptr at) {
  if (const CUresult result = enter_unsafe()) return result;
  if (at == 0) return CUDA_SUCCESS;
  const auto found = state().memory.look(at);
  if (found && behaviour().free_waits) {
    if (found->block.device >= 0) {
      state().scheduler.finish_device(found->block.device);
    } else {
      state().scheduler.finish_all();
    }
  }
  if (found) require_untextured(found->start, found->block.bytes);
  if (found && found->start == at && found->block.kind == BlockKind::pooled) {
    return state().pools.free(at, nullptr);
  }
  return state().memory.free(at);
}

CUresult mem_get_address_range(CUdeviceptr* start, std::size_t* bytes, CUdeviceptr address) {
  if (const CUresult result = enter()) return result;
  const auto found = state().memory.look(address);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (start) *start = found->start;
  if (bytes) *bytes = found->block.bytes;
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake::entry
