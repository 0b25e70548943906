// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/calculator.hpp"

#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

namespace quarry::fake {
namespace {

cudaOccDeviceProp properties_of(const OccupancyOf& gpu) {
  cudaOccDeviceProp device;
  device.computeMajor = gpu.major, device.computeMinor = gpu.minor;
  device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = gpu.threads_per_mp;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32, device.numSms = 100;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(gpu.shared_per_mp);
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(gpu.shared_per_block);
  device.reservedSharedMemPerBlock = gpu.major >= 8 ? 1024 : 0;
  return device;
}

}  // namespace

std::optional<CalculatedOccupancy> calculated_occupancy(const OccupancyOf& gpu, int threads,
                                                        int registers, std::size_t fixed,
                                                        std::size_t dynamic) {
  const cudaOccDeviceProp device = properties_of(gpu);
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = registers;
  kernel.sharedSizeBytes = fixed;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = dynamic;
  const cudaOccDeviceState state;
  cudaOccResult result = {};
  const cudaOccError error =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, dynamic);
  if (error != CUDA_OCC_SUCCESS) return std::nullopt;
  CalculatedOccupancy calculated{result.activeBlocksPerMultiprocessor};
  const auto add = [&](unsigned bit, const char* name) {
    if (result.limitingFactors & bit) calculated.limited_by.append(name).append(" ");
  };
  add(OCC_LIMIT_BLOCKS, "device");
  add(OCC_LIMIT_WARPS, "warps");
  add(OCC_LIMIT_REGISTERS, "regs");
  add(OCC_LIMIT_SHARED_MEMORY, "smem");
  return calculated;
}

}  // namespace quarry::fake

#else

namespace quarry::fake {

std::optional<CalculatedOccupancy> calculated_occupancy(const OccupancyOf&, int, int, std::size_t,
                                                        std::size_t) {
  return std::nullopt;
}

}  // namespace quarry::fake

#endif
