// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <sstream>

#include "backend/cuda/jit/kernel.hpp"
#include "fake_driver/entry.hpp"
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

bool is_valid(const Function* function) {
  for (const auto& [handle, module] : state().modules) {
    for (const auto& [name, known] : module->functions) {
      if (&known == function) return true;
    }
  }
  return false;
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
  ++state().statistics.modules;
  *out = reinterpret_cast<CUmodule>(module.get());
  state().modules.emplace(*out, std::move(module));
  return CUDA_SUCCESS;
}

CUresult module_unload(CUmodule module) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  return state().modules.erase(module) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
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
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                       CUstream stream, void** parameters, void** extra) {
  if (const CUresult result = enter()) return result;
  const auto* const function = reinterpret_cast<const Function*>(handle);
  std::string expression;
  {
    const Guard lock(state().mutex);
    if (!is_valid(function) || function->device != current_device())
      return CUDA_ERROR_INVALID_HANDLE;
    expression = function->expression;
  }
  const std::optional<KernelName> name = parse_kernel(expression);
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
