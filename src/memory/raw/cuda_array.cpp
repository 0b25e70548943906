// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/texture_options.hpp>
#include <quarry/memory/cuda_array.hpp>

#include <fmt/format.h>

#include "base/forked.hpp"
#include "memory/raw/array_state.hpp"
#include "memory/raw/raw_address.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/report.hpp"
#include "memory/resource/stream_order.hpp"
#include "runtime/callback.hpp"

namespace quarry {
namespace {

/// Why the descriptor is invalid; nullptr if it is valid.
const char* fault_of(const ArrayDescriptor& d) {
  if (!is_texture_type(d.dtype))
    return "elements of integers of 8, 16 or 32 bits, float16 or float32";
  if (d.num_channels != 1 && d.num_channels != 2 && d.num_channels != 4)
    return "1, 2 or 4 channels";
  if (d.width == 0) return "a width";
  if (d.depth > 0 && d.height == 0 && !d.layered) return "a height where there is a depth";
  if (d.layered && d.depth == 0) return "its number of layers as depth";
  if (d.cubemap && (d.width != d.height || d.depth == 0 || d.depth % 6 != 0))
    return "six square faces, or a multiple of that if it is layered";
  if (d.cubemap && !d.layered && d.depth != 6) return "six faces, if it is not layered";
  if (d.texture_gather && (d.height == 0 || d.depth != 0)) return "two dimensions for gathering";
  return nullptr;
}

void require_sound(const ArrayDescriptor& d) {
  const char* const wanted = fault_of(d);
  require<LogicError>(wanted == nullptr, [&] {
    return fmt::format("a CUDA array of {}: it must have {}", to_string(d), wanted);
  });
  const std::size_t row = memory::size_product(d.width, d.element_bytes());
  memory::size_product(memory::size_product(row, d.rows()), d.planes());
}

void* create(const ArrayDescriptor& d, const Device& device) {
  require_sound(d);
  backend::Device& backend = device.backend();
  void* const array =
      memory::with_relief(backend, d.bytes(), [&] { return backend.create_array(d); });
  if (!array) {
    throw MemoryError(fmt::format("a CUDA array of {} on {}", to_string(d), to_string(device)),
                      memory::with_device({.requested = d.bytes()}, backend));
  }
  return array;
}

}  // namespace

detail::ArrayState::ArrayState(const ArrayDescriptor& what, const Device& device)
    : descriptor(what),
      buffer(create(what, device), what.bytes(), default_stream(device), nullptr,
             MemorySpace::device) {}

detail::ArrayState::~ArrayState() {
  if (is_forked()) return;
  memory::wait_quietly(buffer.stream(), buffer.other_streams());
  buffer.device().backend().destroy_array(buffer.data());
}

CudaArray::CudaArray(const ArrayDescriptor& descriptor, const Device& device)
    : state_(new detail::ArrayState(descriptor, device), detail::DeleteOutsideCallbacks()) {}

const std::shared_ptr<detail::ArrayState>& CudaArray::state() const {
  require<LogicError>(state_ != nullptr, "the CUDA array has been freed");
  return state_;
}
const ArrayDescriptor& CudaArray::descriptor() const { return state()->descriptor; }
Device CudaArray::device() const { return state()->buffer.device(); }
void* CudaArray::handle() const { return state()->buffer.data(); }

}  // namespace quarry
