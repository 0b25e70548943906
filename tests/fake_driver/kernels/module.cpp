// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <tuple>

#include "backend/cuda/jit/kernel.hpp"
#include "fake_driver/entry.hpp"
#include "fake_driver/kernels/host_kernel.hpp"
#include "fake_driver/kernels/image.hpp"
#include "fake_driver/kernels/kernel.hpp"
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

/// The function of a loaded module with this handle, or nullptr.
Function* find_function(CUfunction handle) {
  for (const auto& [module_handle, module] : state().modules) {
    for (auto& [name, known] : module->functions) {
      if (&known == reinterpret_cast<const Function*>(handle)) return &known;
    }
  }
  return nullptr;
}

bool are_legal(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block) {
  const auto threads = std::uint64_t{block[0]} * block[1] * block[2];
  return std::ranges::find(grid, 0u) == grid.end() && grid[0] <= 0x7fffffff && grid[1] <= 65535 &&
         grid[2] <= 65535 && threads >= 1 && threads <= 1024 && block[2] <= 64;
}

constexpr unsigned static_shared = 48 << 10, most_shared = 227 << 10;

/// How much dynamic shared memory a launch may ask for.
unsigned allowed_shared(const Function& function) {
  const auto set = function.attributes.find(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return set == function.attributes.end() ? static_shared : static_cast<unsigned>(set->second);
}

/// A kernel from source.
CUresult launch_host_kernel(const Function& function, HostLaunch launch, CUstream stream,
                            void** parameters) {
  std::optional<HostKernel> kernel = find_host_kernel(function.expression);
  if (!kernel) return CUDA_ERROR_NOT_FOUND;
  if (!are_legal(launch.grid, launch.block) || launch.shared > allowed_shared(function)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const std::size_t bytes : kernel->parameters) {
    const auto* const from = static_cast<const std::byte*>(*parameters++);
    launch.arguments.emplace_back(from, from + bytes);
  }
  {
    const Guard lock(state().mutex);
    state().last_kernel = launch.kernel;
    ++state().statistics.launches;
  }
  Operation operation;
  operation.cost_ms = 0.002;
  ++*function.queued;
  operation.work = [kernel = *std::move(kernel), launch = std::move(launch),
                    queued = function.queued] {
    --*queued;
    return run_host_kernel(kernel, launch);
  };
  return enqueue(stream, std::move(operation));
}

/// What the driver itself refuses; the rest comes to light when the kernel runs.
CUresult check_configuration(const KernelName& name, std::int64_t x, std::int64_t y, std::int64_t z,
                             std::int64_t block) {
  if (x < 1 || y < 1 || z < 1 || y > 65535 || z > 65535 || x > 2147483647) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return block < 1 || block > name.kernel->most_threads ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

constexpr std::size_t parameter_bytes = 32764;

CUresult read_parameters(Launch& launch, void** parameters) {
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  launch.words.resize(static_cast<std::size_t>(launch.places().words()));
  if (8 * launch.words.size() > parameter_bytes) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(launch.words.data(), *parameters++, 8 * launch.words.size());
  for (const std::size_t bytes : launch.name.kernel->more) {
    if (bytes == 0) break;
    const std::size_t first = launch.more.size();
    launch.more.resize(first + (bytes + 7) / 8);
    std::memcpy(launch.more.data() + first, *parameters++, bytes);
  }
  return CUDA_SUCCESS;
}

std::uint64_t count_launch(const Launch& launch) {
  const Guard lock(state().mutex);
  state().last_kernel = launch.expression;
  state().last_block = launch.words;
  return static_cast<std::uint64_t>(++state().statistics.launches) * 0x9e3779b97f4a7c15u;
}

}  // namespace

namespace entry {

CUresult module_load(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                     void** values) {
  if (const CUresult result = enter_unsafe()) return result;
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

CUresult launch_kernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       CUstream stream, void** parameters, void** extra) {
  if (const CUresult result = enter()) return result;
  std::optional<Function> function;
  {
    const Guard lock(state().mutex);
    if (const Function* const known = find_function(handle)) function = *known;
  }
  if (!function || function->device != current_device()) return CUDA_ERROR_INVALID_HANDLE;
  const std::string& expression = function->expression;
  const std::optional<KernelName> name = parse_kernel(expression);
  if (!name && !extra) {
    return launch_host_kernel(*function,
                              {expression,
                               current_device(),
                               {grid_x, grid_y, grid_z},
                               {block_x, block_y, block_z},
                               shared},
                              stream, parameters);
  }
  const kernels::program* const program = name ? backend::cuda::find_program(expression) : nullptr;
  if (!program || extra) return CUDA_ERROR_NOT_FOUND;
  const auto block = std::int64_t{block_x} * block_y * block_z;
  if (const CUresult result = check_configuration(*name, grid_x, grid_y, grid_z, block))
    return result;
  Launch launch{expression, *name, program, current_device(), grid_x, grid_y, block_x, block_y,
                {},         {},    0};
  if (const CUresult result = read_parameters(launch, parameters)) return result;
  if (!shares_what_is_the_same(launch)) return illegal(launch, "operands are not the same");
  launch.seed = count_launch(launch);
  Operation operation;
  operation.cost_ms = 0.002;
  operation.work = [launch = std::move(launch)] { return run_launch(launch); };
  return enqueue(stream, std::move(operation));
}

CUresult launch_cooperative(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                            CUstream stream, void** parameters) {
  return launch_kernel(handle, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                       parameters, nullptr);
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
  if (value < 0 || (is_shared && value > int{most_shared})) return CUDA_ERROR_INVALID_VALUE;
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

CUresult best_block_size(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize, std::size_t,
                         int) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  if (!find_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  *grid = 264, *block = 1024;
  return CUDA_SUCCESS;
}

CUresult blocks_at_once(int* blocks, CUfunction handle, int threads, std::size_t) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  if (!find_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  *blocks = 2048 / threads;
  return CUDA_SUCCESS;
}

/// The only attribute lets a kernel begin early; here none does.
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction handle, void** parameters,
                          void** extra) {
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return launch_kernel(handle, config->gridDimX, config->gridDimY, config->gridDimZ,
                       config->blockDimX, config->blockDimY, config->blockDimZ,
                       config->sharedMemBytes, config->hStream, parameters, extra);
}

}  // namespace entry
}  // namespace quarry::fake
