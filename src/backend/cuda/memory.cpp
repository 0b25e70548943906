// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"
#include "backend/cuda/driver/relaxed_capture.hpp"

/// Memory of every kind: of the device, of its pool, page-locked and managed.
namespace quarry::backend::cuda {
namespace {

/// False if memory has run out; any other failure throws.
bool is_made(CUresult result, const Where& where = Where::current()) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
  check(result, where);
  return true;
}

std::size_t at_least_one(std::size_t size) { return std::max<std::size_t>(size, 1); }

unsigned flag(bool is_set, unsigned bit) { return is_set ? bit : 0; }

unsigned allocation_flags(const HostMemoryFlags& flags) {
  return flag(flags.portable, CU_MEMHOSTALLOC_PORTABLE) |
         flag(flags.mapped, CU_MEMHOSTALLOC_DEVICEMAP) |
         flag(flags.write_combined, CU_MEMHOSTALLOC_WRITECOMBINED);
}

unsigned registration_flags(const HostMemoryFlags& flags, bool has_read_only) {
  return flag(flags.portable, CU_MEMHOSTREGISTER_PORTABLE) |
         flag(flags.mapped, CU_MEMHOSTREGISTER_DEVICEMAP) |
         flag(flags.read_only && has_read_only, CU_MEMHOSTREGISTER_READ_ONLY);
}

std::string range_text(const void* memory, std::size_t bytes) {
  return fmt::format("host memory [{}, {})", memory,
                     fmt::ptr(static_cast<const char*>(memory) + bytes));
}

unsigned attach_flag(Attach attach) {
  switch (attach) {
    case Attach::global:
      return CU_MEM_ATTACH_GLOBAL;
    case Attach::host:
      return CU_MEM_ATTACH_HOST;
    case Attach::single:
      return CU_MEM_ATTACH_SINGLE;
  }
  throw LogicError("no such way to attach managed memory");
}

CUmem_advise native_advice(Advice advice) {
  switch (advice) {
    case Advice::set_read_mostly:
      return CU_MEM_ADVISE_SET_READ_MOSTLY;
    case Advice::unset_read_mostly:
      return CU_MEM_ADVISE_UNSET_READ_MOSTLY;
    case Advice::set_preferred_location:
      return CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    case Advice::unset_preferred_location:
      return CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    case Advice::set_accessed_by:
      return CU_MEM_ADVISE_SET_ACCESSED_BY;
    case Advice::unset_accessed_by:
      return CU_MEM_ADVISE_UNSET_ACCESSED_BY;
  }
  throw LogicError("no such advice about managed memory");
}

CUmemLocation location(const Device& device) {
  CUmemLocation place{};
  place.type = device.info().is_cpu ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  place.id = device.info().is_cpu ? 0 : device.info().id;
  return place;
}

void require_migration(bool is_there, const char* what) {
  require<LogicError>(is_there, [&] {
    return fmt::format(
        "this NVIDIA driver has no {} with memory locations, which came with CUDA "
        "12.2: a newer driver is needed",
        what);
  });
}

/// What cuPointerGetAttributes says; all zero for an address that the driver does not know.
struct Attributes {
  CUmemorytype type{};
  int device = -1;
  CUdeviceptr device_pointer = 0;
  unsigned is_managed = 0;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  CUdeviceptr host_pointer = 0;
};

Attributes attributes_of(const void* at) {
  Attributes a;
  std::array names{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
  std::array<void*, names.size()> values{&a.type,  &a.device, &a.device_pointer, &a.is_managed,
                                         &a.start, &a.bytes,  &a.host_pointer};
  check(driver().PointerGetAttributes(static_cast<unsigned>(names.size()), names.data(),
                                      values.data(), address(at)));
  return a;
}

PointerKind kind_of(const Attributes& a) {
  if (a.is_managed) return PointerKind::managed;
  if (a.type == CU_MEMORYTYPE_DEVICE) return PointerKind::device;
  return a.type == CU_MEMORYTYPE_HOST ? PointerKind::page_locked : PointerKind::pageable;
}

}  // namespace

void* CudaDevice::do_allocate(std::size_t bytes) {
  const auto current = context_.bind();
  const RelaxedCapture relaxed;
  CUdeviceptr memory = 0;
  return is_made(driver().MemAlloc(&memory, at_least_one(bytes))) ? pointer(memory) : nullptr;
}

void CudaDevice::do_free(void* memory, std::size_t) noexcept {
  if (!memory) return;
  const RelaxedCapture relaxed;
  if (const auto current = context_.try_bind()) note(driver().MemFree(address(memory)));
}

Device::Pitched CudaDevice::do_allocate_pitched(std::size_t width, std::size_t height,
                                                unsigned access) {
  const auto current = context_.bind();
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  const CUresult result =
      driver().MemAllocPitch(&memory, &pitch, at_least_one(width), at_least_one(height), access);
  return is_made(result) ? Pitched{pointer(memory), pitch} : Pitched{};
}

void* CudaDevice::do_allocate_pooled(std::size_t bytes, Stream stream) {
  const auto current = context_.bind();
  CUmemoryPool pool = nullptr;
  if (!is_made(pool_.get(&pool))) return nullptr;
  CUdeviceptr memory = 0;
  const CUresult result =
      driver().MemAllocFromPoolAsync(&memory, at_least_one(bytes), pool, native(stream));
  return is_made(result) ? pointer(memory) : nullptr;
}

void CudaDevice::do_free_pooled(void* memory, std::size_t, Stream stream) noexcept {
  if (!memory) return;
  if (const auto current = context_.try_bind())
    note(driver().MemFreeAsync(address(memory), native(stream)));
}

DriverPoolInfo CudaDevice::driver_pool() {
  const auto current = context_.bind();
  return pool_.info();
}

void CudaDevice::trim_driver_pool(std::size_t bytes_to_keep) {
  if (!pool_.is_made()) return;
  const auto current = context_.bind();
  pool_.trim(bytes_to_keep);
}

void* CudaDevice::do_allocate_host(std::size_t bytes, const HostMemoryFlags& flags) {
  const auto current = context_.bind();
  void* memory = nullptr;
  const CUresult result =
      driver().MemHostAlloc(&memory, at_least_one(bytes), allocation_flags(flags));
  return is_made(result) ? memory : nullptr;
}

void CudaDevice::do_free_host(void* memory) noexcept {
  if (!memory) return;
  if (const auto current = context_.try_bind()) note(driver().MemFreeHost(memory));
}

unsigned CudaDevice::host_flags(void* memory) {
  const auto current = context_.bind();
  unsigned flags = 0;
  check(driver().MemHostGetFlags(&flags, memory));
  return flags;
}

void CudaDevice::do_register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags) {
  const auto current = context_.bind();
  const bool has_read_only = attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED) != 0;
  const CUresult result =
      driver().MemHostRegister(memory, bytes, registration_flags(flags, has_read_only));
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    throw LogicError(fmt::format("{} is page-locked already, or overlaps memory that is",
                                 range_text(memory, bytes)));
  }
  if (result == CUDA_ERROR_OPERATING_SYSTEM || result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw MemoryError(
        fmt::format("page-locking {}: {}", range_text(memory, bytes), error_text(result)),
        {.requested = bytes});
  }
  require<LogicError>(result != CUDA_ERROR_INVALID_VALUE, [&] {
    return fmt::format("{} is no memory to page-lock: {}", range_text(memory, bytes),
                       error_text(result));
  });
  check(result);
}

void CudaDevice::do_unregister_host(void* memory) {
  const auto current = context_.bind();
  const CUresult result = driver().MemHostUnregister(memory);
  require<LogicError>(result != CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, [&] {
    return fmt::format("no host memory that begins at {} is registered", memory);
  });
  check(result);
}

void* CudaDevice::device_pointer(void* host) {
  const auto current = context_.bind();
  CUdeviceptr memory = 0;
  check(driver().MemHostGetDevicePointer(&memory, host, 0));
  return pointer(memory);
}

/// The driver would grant more than the device has and migrate pages back and forth during use.
bool CudaDevice::holds_managed(std::size_t bytes) {
  const MemoryInfo info = memory_info();
  const std::size_t managed = ledger().inventory()[Owned::managed_memory].bytes;
  return bytes <= info.free && bytes <= info.total - std::min(info.total, managed);
}

void* CudaDevice::do_allocate_managed(std::size_t bytes, Attach attach) {
  const auto current = context_.bind();
  if (!holds_managed(bytes)) return nullptr;
  CUdeviceptr memory = 0;
  const CUresult result =
      driver().MemAllocManaged(&memory, at_least_one(bytes), attach_flag(attach));
  return is_made(result) ? pointer(memory) : nullptr;
}

void CudaDevice::attach_managed(Stream stream, void* memory, Attach attach) {
  const auto current = context_.bind();
  check(driver().StreamAttachMemAsync(native(stream), address(memory), 0, attach_flag(attach)));
}

void CudaDevice::prefetch(void* memory, std::size_t bytes, const Device& to, Stream stream) {
  require_migration(driver().MemPrefetchAsync, "cuMemPrefetchAsync");
  if (bytes == 0) return;
  const auto current = context_.bind();
  check(driver().MemPrefetchAsync(address(memory), bytes, location(to), 0, native(stream)));
}

void CudaDevice::advise(void* memory, std::size_t bytes, Advice advice, const Device& about) {
  require_migration(driver().MemAdvise, "cuMemAdvise");
  if (bytes == 0) return;
  const auto current = context_.bind();
  check(driver().MemAdvise(address(memory), bytes, native_advice(advice), location(about)));
}

PointerInfo CudaDevice::pointer_info(const void* address) {
  if (!address) return {};
  const auto current = context_.bind();
  const Attributes a = attributes_of(address);
  const PointerKind kind = kind_of(a);
  if (kind == PointerKind::pageable) return {};
  return {{.kind = kind,
           .device_pointer = a.device_pointer,
           .host_pointer = a.host_pointer,
           .base = a.start,
           .bytes = a.bytes},
          kind == PointerKind::page_locked ? -1 : a.device};
}

}  // namespace quarry::backend::cuda
