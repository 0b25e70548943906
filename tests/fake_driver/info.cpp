// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

/// The numbers of an H200 and the names of the errors.
namespace quarry::fake::entry {
namespace {

struct ErrorText {
  CUresult code;
  const char *name, *text;
};

constexpr ErrorText errors[] = {
#define QUARRY_FAKE_ERROR(name, text) \
  { name, #name, text }
    QUARRY_FAKE_ERROR(CUDA_SUCCESS, "no error"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE,
                      "CUDA-capable device(s) is/are busy or unavailable"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
                      "no kernel image is available for execution on the device"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                      "too many resources requested for launch"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                      "system has unsupported display driver / cuda driver combination"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
                      "peer access is not supported between these two devices"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                      "part or all of the requested memory range is already mapped"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                      "pointer does not correspond to a registered memory region"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_OPERATING_SYSTEM,
                      "OS call failed or operation not supported on this OS"),
    QUARRY_FAKE_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef QUARRY_FAKE_ERROR
};

const ErrorText* find(CUresult code) {
  for (const ErrorText& error : errors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

int h200(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 233472;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1980000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 3201000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 6144;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 62914560;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 3;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

CUresult get_error_name(CUresult code, const char** text) {
  const ErrorText* const error = find(code);
  *text = error ? error->name : nullptr;
  return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult get_error_string(CUresult code, const char** text) {
  const ErrorText* const error = find(code);
  *text = error ? error->text : nullptr;
  return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const Guard lock(state().mutex);
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  const auto& devices = state().machine.devices;
  if (device < 0 || static_cast<std::size_t>(device) >= devices.size())
    return CUDA_ERROR_INVALID_DEVICE;
  if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const auto [major, minor] = devices[static_cast<std::size_t>(device)].compute_capability;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = major;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = minor;
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = first_bus + device;
      break;
    default:
      *value = h200(attribute);
  }
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake::entry
