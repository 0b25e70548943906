// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"
#include "fake_driver/streams/capture.hpp"

/// Page-locked, registered and managed memory.
namespace quarry::fake::entry {
namespace {

CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// Whether the process has memory there.
bool is_mapped(CUdeviceptr address, std::size_t bytes) {
  constexpr CUdeviceptr page = 4096;
  const CUdeviceptr first = address / page * page;
  return msync(reinterpret_cast<void*>(first), address + bytes - first, MS_ASYNC) == 0;
}

std::optional<Found> find_page_locked(const void* memory) {
  const auto found = state().memory.look(address_of(memory));
  const bool is_it = found && (found->block.kind == BlockKind::page_locked ||
                               found->block.kind == BlockKind::registered);
  return is_it ? found : std::nullopt;
}

bool is_valid(const CUmemLocation& where) {
  const bool is_host = where.type == CU_MEM_LOCATION_TYPE_HOST ||
                       where.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                       where.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  return is_host || (where.type == CU_MEM_LOCATION_TYPE_DEVICE && where.id >= 0 &&
                     where.id < state().memory.devices());
}

bool is_managed(CUdeviceptr address, std::size_t bytes) {
  const auto found = state().memory.look(address, bytes);
  return bytes > 0 && found && found->block.kind == BlockKind::managed;
}

/// Fails, when it runs, if the managed memory has gone.
CUresult enqueue_on_managed(CUdeviceptr address, std::function<void()> work, CUstream stream) {
  const auto found = state().memory.look(address);
  const std::uint64_t id = found ? found->block.id : 0;
  Operation operation;
  operation.work = [=, work = std::move(work)] {
    const auto now = state().memory.look(address);
    if (now && now->block.id == id) {
      work();
      return CUDA_SUCCESS;
    }
    add_fault("queued work on managed memory that has been freed");
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  return enqueue(stream, std::move(operation));
}

}  // namespace

CUresult mem_host_alloc(void** out, std::size_t bytes, unsigned flags) {
  if (const CUresult result = enter_unsafe()) return result;
  constexpr unsigned known =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (flags & ~known) return CUDA_ERROR_INVALID_VALUE;
  return state().memory.allocate_host(bytes, flags, out);
}

CUresult mem_free_host(void* memory) {
  if (const CUresult result = enter_unsafe()) return result;
  if (behaviour().free_waits) state().scheduler.finish_all();
  return state().memory.free_host(memory);
}

/// With one address space, page-locked and registered memory is always mapped.
CUresult mem_host_get_device_pointer(CUdeviceptr* out, void* memory, unsigned flags) {
  if (const CUresult result = enter()) return result;
  if (flags != 0 || !find_page_locked(memory)) return CUDA_ERROR_INVALID_VALUE;
  *out = address_of(memory);
  return CUDA_SUCCESS;
}

CUresult mem_host_get_flags(unsigned* flags, void* memory) {
  if (const CUresult result = enter()) return result;
  const auto found = find_page_locked(memory);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->block.flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

CUresult mem_host_register(void* memory, std::size_t bytes, unsigned flags) {
  if (const CUresult result = enter()) return result;
  constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                             CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (!memory || bytes == 0 || (flags & ~known) || !is_mapped(address_of(memory), bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return state().memory.register_host(memory, bytes, flags);
}

CUresult mem_host_unregister(void* memory) {
  if (const CUresult result = enter()) return result;
  return state().memory.unregister_host(memory);
}

CUresult mem_alloc_managed(CUdeviceptr* out, std::size_t bytes, unsigned flags) {
  if (const CUresult result = enter()) return result;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  return state().memory.allocate_managed(bytes, flags, out);
}

CUresult stream_attach(CUstream stream, CUdeviceptr address, std::size_t bytes, unsigned flags) {
  if (const CUresult result = enter()) return result;
  const bool is_known = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
                        (flags == CU_MEM_ATTACH_SINGLE && stream && stream != CU_STREAM_LEGACY);
  const auto found = state().memory.look(address);
  const bool is_whole = found && found->block.kind == BlockKind::managed &&
                        found->start == address && (bytes == 0 || bytes == found->block.bytes);
  if (!is_known || !is_whole) return CUDA_ERROR_INVALID_VALUE;
  return enqueue_on_managed(
      address, [=] { state().memory.attach(address, flags); }, stream);
}

CUresult mem_prefetch(CUdeviceptr address, std::size_t bytes, CUmemLocation to, unsigned flags,
                      CUstream stream) {
  if (const CUresult result = enter()) return result;
  if (flags != 0 || !is_valid(to) || !is_managed(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  {
    const Guard lock(state().mutex);
    ++state().statistics.prefetches;
  }
  return enqueue_on_managed(
      address, [] {}, stream);
}

CUresult mem_advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                    CUmemLocation about) {
  if (const CUresult result = enter()) return result;
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool needs_location = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                              advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                              advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
  if ((needs_location && !is_valid(about)) || !is_managed(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Guard lock(state().mutex);
  ++state().statistics.advices;
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake::entry
