// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/status.hpp"

#include <fmt/format.h>

#include <quarry/base/error.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/jit/kernel_cache.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "base/forked.hpp"

namespace quarry::backend {
namespace cuda {
namespace {

const char* meaning(CUresult result) {
  switch (result) {
    case CUDA_ERROR_NOT_INITIALIZED:
      return "the NVIDIA driver could not be initialised";
    case CUDA_ERROR_STUB_LIBRARY:
      return "only the toolkit's stub of libcuda.so was found, no driver";
    case CUDA_ERROR_NO_DEVICE:
      return "the NVIDIA driver sees no GPU";
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return "the system's GPUs are not ready yet (is the fabric manager running?)";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "the versions of the NVIDIA driver and of libcuda.so do not match";
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return "the forward-compatibility libcuda.so does not support this GPU";
    default:
      return "the NVIDIA driver failed to start";
  }
}

std::string code_text(const DriverTable& table, CUresult result) {
  const char* name = nullptr;
  table.GetErrorName(result, &name);
  return fmt::format("{} ({})", name ? name : "CUDA error", static_cast<int>(result));
}

DriverStatus failed(const DriverTable& table, CUresult result) {
  DriverStatus status;
  status.why = meaning(result);
  status.error = code_text(table, result);
  return status;
}

DriverStatus probe_installed() {
  try {
    return probe(driver());
  } catch (const Error& e) {
    DriverStatus status;
    status.why = e.what();
    return status;
  }
}

}  // namespace

DriverStatus probe(const DriverTable& table) {
  DriverStatus status;
  CUresult result = table.Init(0);
  if (result == CUDA_SUCCESS) result = table.DeviceGetCount(&status.devices);
  if (result != CUDA_SUCCESS) status = failed(table, result);
  table.DriverGetVersion(&status.version);
  if (result == CUDA_SUCCESS && status.devices == 0) status.why = meaning(CUDA_ERROR_NO_DEVICE);
  status.available = status.why.empty();
  return status;
}

const DriverStatus& driver_status() {
  static const auto& status = *[] {
    watch_forks();  // a process that is forked after cuInit cannot use CUDA
    return new const DriverStatus(probe_installed());
  }();
  return status;
}

}  // namespace cuda

namespace {

std::pair<int, int> split_version(int version) { return {version / 1000, version % 1000 / 10}; }

CudaStatus make_status() {
  const cuda::DriverStatus& driver = cuda::driver_status();
  CudaStatus status{.available = driver.available,
                    .why = driver.why,
                    .error = driver.error,
                    .driver_version = split_version(driver.version),
                    .nvrtc_version = {},
                    .nvrtc_why = {}};
  try {
    status.nvrtc_version = cuda::nvrtc_version();
  } catch (const Error& e) {
    status.nvrtc_why = e.what();
  }
  return status;
}

std::vector<std::unique_ptr<Device>> make_devices() {
  std::vector<std::unique_ptr<Device>> devices;
  for (int id = 0; id < cuda::driver_status().devices; ++id) {
    try {
      devices.push_back(std::make_unique<cuda::CudaDevice>(id));
    } catch (const Error&) {
      break;  // after a failed query later ordinals would no longer be positions in the list
    }
  }
  return devices;
}

}  // namespace

const CudaStatus& cuda_status() {
  static const auto& status = *new const CudaStatus(make_status());
  return status;
}

const std::vector<std::unique_ptr<Device>>& cuda_devices() {
  // never destroyed: buffers with static storage may be freed after everything else
  static const auto& devices = *new const std::vector<std::unique_ptr<Device>>(make_devices());
  return devices;
}

}  // namespace quarry::backend
