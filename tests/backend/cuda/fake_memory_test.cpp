// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <set>

#include "backend/cuda/fake_table.hpp"

/// The kinds of memory of the fake driver.
namespace quarry::fake {
namespace {

using FakeMemory = FakeDriver;

struct Attributes {
  unsigned type = 9, is_managed = 9, is_shareable = 9;
  int device = 9;
  CUdeviceptr start = 9, on_device = 9;
  std::size_t bytes = 9;
};

Attributes attributes_of(CUdeviceptr address) {
  Attributes a;
  std::array names{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                   CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, 7> data{&a.type,  &a.is_managed, &a.is_shareable, &a.device,
                            &a.start, &a.on_device,  &a.bytes};
  EXPECT_EQ(cu().PointerGetAttributes(7, names.data(), data.data(), address), CUDA_SUCCESS);
  return a;
}

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

TEST_F(FakeMemory, AddressesTellWhatTheyAre) {
  Attributes a = attributes_of(memory_ + 10);
  EXPECT_EQ(a.type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(a.device, device);
  EXPECT_EQ(a.start, memory_);
  EXPECT_EQ(a.bytes, bytes);
  EXPECT_EQ(a.is_shareable, 1U);
  int local = 0;
  a = attributes_of(address(&local));
  EXPECT_EQ(a.type, 0U);
  EXPECT_EQ(a.device, -2);
  EXPECT_EQ(a.on_device, 0U);
  EXPECT_EQ(a.start, 9U);
  CUdeviceptr managed = 0;
  ASSERT_EQ(cu().MemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  a = attributes_of(managed + 50);
  EXPECT_EQ(a.is_managed, 1U);
  EXPECT_EQ(a.on_device, managed + 50);
  EXPECT_EQ(cu().MemFree(managed), CUDA_SUCCESS);
}

TEST_F(FakeMemory, PitchedRowsBeginAligned) {
  CUdeviceptr rows = 0;
  std::size_t pitch = 0;
  EXPECT_EQ(cu().MemAllocPitch(&rows, &pitch, 100, 5, 3), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cu().MemAllocPitch(&rows, &pitch, 100, 5, 4), CUDA_SUCCESS);
  EXPECT_EQ(pitch % 512, 0U);
  EXPECT_EQ(cu().MemsetD2D8Async(rows, pitch, 7, 100, 5, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemsetD2D16Async(rows, pitch, 0x0809, 50, 1, nullptr), CUDA_SUCCESS);
  unsigned char value = 0;
  EXPECT_EQ(cu().MemcpyDtoH(&value, rows + 4 * pitch + 99, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(cu().MemcpyDtoH(&value, rows, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 9);
  CUdeviceptr start = 0;
  std::size_t size = 0;
  EXPECT_EQ(cu().MemGetAddressRange(&start, &size, rows + pitch), CUDA_SUCCESS);
  EXPECT_EQ(start, rows);
  EXPECT_EQ(size, 5 * pitch);
  EXPECT_EQ(cu().MemFree(rows), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemGetAddressRange(&start, &size, rows), CUDA_ERROR_NOT_FOUND);
}

TEST_F(FakeMemory, ManagedMemoryIsTheHostsAndTheDevices) {
  CUdeviceptr managed = 0;
  EXPECT_EQ(cu().MemAllocManaged(&managed, 64, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cu().MemAllocManaged(&managed, 64, CU_MEM_ATTACH_HOST), CUDA_SUCCESS);
  auto* const host = reinterpret_cast<unsigned char*>(managed);
  const CUstream s = stream();
  EXPECT_EQ(cu().MemsetD8Async(managed, 3, 64, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(host[63], 3);
  EXPECT_EQ(cu().StreamAttachMemAsync(s, managed, 0, CU_MEM_ATTACH_SINGLE), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamAttachMemAsync(nullptr, managed, 0, CU_MEM_ATTACH_SINGLE),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().StreamAttachMemAsync(s, managed, 32, CU_MEM_ATTACH_HOST),
            CUDA_ERROR_INVALID_VALUE);
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, device};
  const CUmemLocation nowhere{CU_MEM_LOCATION_TYPE_DEVICE, 99};
  EXPECT_EQ(cu().MemPrefetchAsync(managed, 64, here, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemPrefetchAsync(managed, 65, here, 0, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemPrefetchAsync(memory_, 64, here, 0, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemPrefetchAsync(managed, 64, nowhere, 0, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemAdvise(managed, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, nowhere), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemAdvise(managed, 64, CU_MEM_ADVISE_SET_ACCESSED_BY, nowhere),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(live().managed_blocks, 1U);
  EXPECT_EQ(cu().MemFree(managed), CUDA_SUCCESS);
  EXPECT_EQ(live().managed_blocks, 0U);
}

TEST_F(FakeMemory, FlagsOfPageLockedMemoryAreKept) {
  void* host = nullptr;
  EXPECT_EQ(cu().MemHostAlloc(&host, 10, 64), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cu().MemHostAlloc(&host, 10, CU_MEMHOSTALLOC_WRITECOMBINED), CUDA_SUCCESS);
  unsigned flags = 0;
  EXPECT_EQ(cu().MemHostGetFlags(&flags, host), CUDA_SUCCESS);
  EXPECT_TRUE(flags & CU_MEMHOSTALLOC_WRITECOMBINED);
  EXPECT_FALSE(flags & CU_MEMHOSTALLOC_PORTABLE);
  EXPECT_EQ(cu().MemHostGetFlags(&flags, &flags), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr seen = 0;
  EXPECT_EQ(cu().MemHostGetDevicePointer(&seen, static_cast<char*>(host) + 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(seen, address(host) + 5);
  EXPECT_EQ(cu().MemFreeHost(host), CUDA_SUCCESS);
}

TEST_F(FakeMemory, RegistrationsMayShareAPageButNoByte) {
  std::vector<char> host(5 * 4096);
  char* const inside = host.data() + 100;
  EXPECT_EQ(cu().MemHostRegister(inside, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemHostRegister(nullptr, 8, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemHostRegister(reinterpret_cast<void*>(16), 8, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemHostRegister(reinterpret_cast<void*>(memory_), 8, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cu().MemHostRegister(inside, 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemHostRegister(inside + 50, 8, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cu().MemHostRegister(inside + 4096, 8, 0), CUDA_SUCCESS);
  EXPECT_EQ(live().registrations, 2U);
  CUdeviceptr seen = 0;
  EXPECT_EQ(cu().MemHostGetDevicePointer(&seen, inside + 10, 0), CUDA_SUCCESS);
  EXPECT_EQ(seen, address(inside + 10));
  EXPECT_EQ(cu().MemHostUnregister(inside + 4096), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemHostUnregister(inside + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().MemHostUnregister(inside), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemHostUnregister(inside), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(take_faults().size(), 2U);
}

TEST_F(FakeMemory, UnregisteringUnderAQueuedCopyIsMisuse) {
  std::vector<char> host(4096, 5);
  ASSERT_EQ(cu().MemHostRegister(host.data(), host.size(), 0), CUDA_SUCCESS);
  const CUstream s = stream();
  EXPECT_EQ(cu().MemcpyHtoDAsync(memory_, host.data(), 16, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemHostUnregister(host.data()), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(take_faults().size(), 1U);
  recover();
}

TEST_F(FakeMemory, FreeingPageLockedMemoryUnderAQueuedCopyIsMisuseUnlessItWaits) {
  for (const bool waits : {true, false}) {
    const CUstream s = stream();
    set_behaviour({.eagerness = 0, .free_waits = waits});
    void* host = nullptr;
    ASSERT_EQ(cu().MemHostAlloc(&host, 16, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemcpyDtoHAsync(host, memory_, 16, s), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemFreeHost(host), CUDA_SUCCESS);
    void* again = nullptr;  // may well be the same address
    ASSERT_EQ(cu().MemHostAlloc(&again, 16, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu().StreamSynchronize(s), waits ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(take_faults().size(), waits ? 0U : 1U);
    recover();
    EXPECT_EQ(cu().MemFreeHost(again), CUDA_SUCCESS);
  }
}

TEST_F(FakeMemory, PageLockedMemoryCanRunOut) {
  const Live before = live();
  const std::size_t all = set_host_memory(before.host_bytes + 1000);
  void *a = nullptr, *b = nullptr;
  EXPECT_EQ(cu().MemHostAlloc(&a, 600, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemHostAlloc(&b, 600, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu().MemFreeHost(a), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemHostAlloc(&b, 600, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemFreeHost(b), CUDA_SUCCESS);
  set_host_memory(all);
}

TEST_F(FakeMemory, PeersNeedAccessOnce) {
  CUcontext other = nullptr;
  ASSERT_EQ(cu().DevicePrimaryCtxRetain(&other, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxEnablePeerAccess(other, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().CtxEnablePeerAccess(context_, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cu().CtxEnablePeerAccess(other, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cu().CtxDisablePeerAccess(other), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

}  // namespace
}  // namespace quarry::fake
