// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

/// What is known of an address.
namespace quarry::fake::entry {
namespace {

constexpr int no_device = -2;

template <class T>
CUresult put(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}

bool is_on_host(const Block& block) {
  return block.kind == BlockKind::page_locked || block.kind == BlockKind::registered;
}

CUcontext context_of(const Block& block) {
  if (block.device < 0) return reinterpret_cast<CUcontext>(current_context());
  const Guard lock(state().mutex);
  return reinterpret_cast<CUcontext>(
      state().contexts.at(static_cast<std::size_t>(block.device)).get());
}

/// Of pageable memory; ranges are left as they were.
CUresult put_nothing(CUpointer_attribute attribute, void* to, CUdeviceptr address) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(to, 0U);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(to, no_device);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(to, std::uint64_t{0});
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put(to, address);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult put_attribute(CUpointer_attribute attribute, void* to, CUdeviceptr address,
                       const Found& found) {
  const Block& block = found.block;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(to, context_of(block));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(to, is_on_host(block) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(to, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put(to, block.device < 0 ? address : CUdeviceptr{0});
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(to, block.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(to, block.kind == BlockKind::managed ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(to, block.device < 0 ? current_device() : block.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(to, block.kind == BlockKind::device ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(to, found.start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(to, std::uint64_t{block.bytes});
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(to, 1U);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(to, state().pools.of(found.start));
    default:
      return put_nothing(attribute, to, address);
  }
}

}  // namespace

CUresult pointer_get_attributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  if (const CUresult result = enter()) return result;
  if (!attributes || !data) return CUDA_ERROR_INVALID_VALUE;
  const auto found = state().memory.look(address);
  for (unsigned i = 0; i < count; ++i) {
    const CUresult result = found ? put_attribute(attributes[i], data[i], address, *found)
                                  : put_nothing(attributes[i], data[i], address);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake::entry
