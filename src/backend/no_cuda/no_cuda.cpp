// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>

#include "backend/backend.hpp"
#include "backend/contexts.hpp"
#include "backend/link.hpp"

/// The CUDA side of backend.hpp in a library built without the CUDA toolkit.
namespace quarry::backend {

const CudaStatus& cuda_status() {
  static const CudaStatus status{.available = false,
                                 .why = "Quarry was built without the CUDA toolkit",
                                 .error = {},
                                 .nvrtc_why = "Quarry was built without the CUDA toolkit"};
  return status;
}

const std::vector<std::unique_ptr<Device>>& cuda_devices() {
  static const std::vector<std::unique_ptr<Device>> none;
  return none;
}

Device* cuda_device_at(const std::string&) { return nullptr; }

int cuda_built_against() { return 0; }

KernelCacheStatistics kernel_cache_statistics() { return {}; }

KernelCacheInfo kernel_cache_info() { return {}; }

std::vector<std::string> kernel_names() { return {}; }

CompiledCode compile_source(const SourceText&, const SourceCache&) {
  throw BackendUnavailable(cuda_status().nvrtc_why);
}

DeviceFunction device_function(const kernels::user_function&) {
  throw BackendUnavailable(cuda_status().nvrtc_why);
}

void forget_source(const SourceText&, const SourceCache&) {}

bool includes_only_embedded(const std::string&) { return false; }

LinkedCode link(const std::vector<LinkInput>&, const std::vector<std::string>&) {
  throw BackendUnavailable(cuda_status().nvrtc_why);
}

std::pair<int, int> linker_version() { throw BackendUnavailable(cuda_status().nvrtc_why); }

std::string architecture_of(std::pair<int, int>) {
  throw BackendUnavailable(cuda_status().nvrtc_why);
}

}  // namespace quarry::backend
