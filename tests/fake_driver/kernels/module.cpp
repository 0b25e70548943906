// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <tuple>

#include "fake_driver/entry.hpp"
#include "fake_driver/kernels/host_kernel.hpp"
#include "fake_driver/kernels/image.hpp"
#include "fake_driver/kernels/module.hpp"
#include "fake_driver/state.hpp"
#include "fake_driver/streams/capture.hpp"

namespace quarry::fake {
namespace {

/// Writes to the caller's error log, when there is one among the options.
void write_log(const std::string& text, unsigned count, const CUjit_option* options,
               void** values) {
  char* log = nullptr;
  std::size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      size = reinterpret_cast<std::size_t>(values[i]) & 0xffffffffu;
    }
  }
  if (log && size > 0) std::snprintf(log, size, "%s", text.c_str());
}

/// As the driver: results go over the values that were given.
void write_results(unsigned count, const CUjit_option* options, void** values) {
  const float milliseconds = 0.25f;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_WALL_TIME) std::memcpy(&values[i], &milliseconds, sizeof(float));
    if (options[i] == CU_JIT_THREADS_PER_BLOCK) {
      const auto wanted = static_cast<unsigned>(reinterpret_cast<std::size_t>(values[i]));
      const unsigned threads = (wanted + 31) / 32 * 32;
      std::memcpy(&values[i], &threads, sizeof threads);
    }
  }
}

/// What does not go together.
bool are_options_legal(unsigned count, const CUjit_option* options, void* const* values) {
  const auto has = [&](CUjit_option wanted) {
    return std::find(options, options + count, wanted) != options + count;
  };
  for (unsigned i = 0; i < count; ++i) {
    const bool is_level = options[i] == CU_JIT_OPTIMIZATION_LEVEL;
    if (is_level && reinterpret_cast<std::size_t>(values[i]) > 4) return false;
  }
  return !(has(CU_JIT_TARGET) && has(CU_JIT_THREADS_PER_BLOCK));
}

}  // namespace

Function* find_function(CUfunction handle) {
  for (const auto& [module_handle, module] : state().modules) {
    for (auto& [name, known] : module->functions) {
      if (&known == reinterpret_cast<const Function*>(handle)) return &known;
    }
  }
  return nullptr;
}

namespace entry {

CUresult module_load(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                     void** values) {
  if (const CUresult result = enter_unsafe()) return result;
  if (!are_options_legal(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Image> parsed = parse_image(static_cast<const char*>(image));
  if (!parsed) {
    write_log("the image was not made by the fake compiler", count, options, values);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  const int device = current_device();
  const Guard lock(state().mutex);
  const auto [major, minor] =
      state().machine.devices[static_cast<std::size_t>(device)].compute_capability;
  if (!parsed->runs_on(10 * major + minor)) {
    write_log("the image is for another architecture", count, options, values);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  auto module = std::make_unique<Module>(Module{device, {}});
  for (const auto& [name, expression] : parsed->functions) {
    module->functions.emplace(name, Function{device, expression});
  }
  for (const auto& [name, bytes] : parsed->variables) {
    CUdeviceptr address = 0;
    if (const CUresult result = state().memory.allocate(device, bytes, &address)) return result;
    std::memset(state().memory.find(address, bytes, device), 0, bytes);
    module->variables.emplace(name, std::pair(address, bytes));
  }
  write_results(count, options, values);
  ++state().statistics.modules;
  *out = reinterpret_cast<CUmodule>(module.get());
  state().modules.emplace(*out, std::move(module));
  return CUDA_SUCCESS;
}

CUresult module_unload(CUmodule module) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const auto found = state().modules.find(module);
  if (found == state().modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [name, function] : found->second->functions) {
    if (*function.queued > 0) add_fault(name + ": its module is unloaded before it has run");
  }
  for (const auto& [name, variable] : found->second->variables) {
    state().memory.free(variable.first);
  }
  state().modules.erase(found);
  return CUDA_SUCCESS;
}

CUresult module_get_function(CUfunction* function, CUmodule module, const char* name) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const auto found = state().modules.find(module);
  if (found == state().modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto entry = found->second->functions.find(name);
  if (entry == found->second->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&entry->second);
  return CUDA_SUCCESS;
}

CUresult module_get_global(CUdeviceptr* address, std::size_t* bytes, CUmodule module,
                           const char* name) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const auto found = state().modules.find(module);
  if (found == state().modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto variable = found->second->variables.find(name);
  if (variable == found->second->variables.end()) return CUDA_ERROR_NOT_FOUND;
  std::tie(*address, *bytes) = variable->second;
  return CUDA_SUCCESS;
}

CUresult function_attribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const Function* const function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  const auto set = function->attributes.find(attribute);
  *value = set != function->attributes.end()                              ? set->second
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                      ? 32
           : attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK         ? 1024
           : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? int{static_shared}
                                                                          : 0;
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  Function* const function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  const bool is_shared = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  const bool is_carveout = attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  const int least = is_carveout ? -1 : 0, most = is_shared ? int{most_shared} : 100;
  if (value < least || ((is_shared || is_carveout) && value > most)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->attributes[attribute] = value;
  return CUDA_SUCCESS;
}

CUresult set_cache_config(CUfunction handle, CUfunc_cache) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  return find_function(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult parameter_info(CUfunction handle, std::size_t index, std::size_t* offset,
                        std::size_t* size) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const Function* const function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  const std::optional<HostKernel> kernel = find_host_kernel(function->expression);
  if (!kernel || index >= kernel->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *size = kernel->parameters[index];
  *offset = 0;
  for (std::size_t k = 0; k < index; ++k) {
    *offset += kernel->parameters[k];
    *offset = (*offset + kernel->parameters[k + 1] - 1) / kernel->parameters[k + 1] *
              kernel->parameters[k + 1];
  }
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace quarry::fake
