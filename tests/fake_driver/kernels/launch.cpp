// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "backend/cuda/jit/kernel.hpp"
#include "fake_driver/entry.hpp"
#include "fake_driver/kernels/compiler.hpp"
#include "fake_driver/kernels/host_kernel.hpp"
#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/kernels/module.hpp"

namespace quarry::fake {
namespace {

bool are_legal(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block) {
  const auto threads = std::uint64_t{block[0]} * block[1] * block[2];
  return std::ranges::find(grid, 0u) == grid.end() && grid[0] <= 0x7fffffff && grid[1] <= 65535 &&
         grid[2] <= 65535 && threads >= 1 && threads <= 1024 && block[2] <= 64;
}

constexpr std::uint64_t portable_cluster = 8, most_clustered = 16, multiprocessors = 132;

std::uint64_t count_of(const std::array<unsigned, 3>& extents) {
  return std::uint64_t{extents[0]} * extents[1] * extents[2];
}

std::uint64_t allowed_cluster(const Function& function) {
  const auto set = function.attributes.find(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  return set != function.attributes.end() && set->second != 0 ? most_clustered : portable_cluster;
}

/// The state's lock is held or not needed.
int major_version(int device) {
  return state().machine.devices[static_cast<std::size_t>(device)].compute_capability.first;
}

CUresult check_cluster(const Function& function, const HostLaunch& launch) {
  const std::uint64_t blocks = count_of(launch.cluster);
  if (blocks == 1) return CUDA_SUCCESS;
  if (major_version(launch.device) < 9) return CUDA_ERROR_NOT_SUPPORTED;
  if (blocks < 1 || blocks > allowed_cluster(function)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] % launch.cluster[axis] != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  return CUDA_SUCCESS;
}

/// All blocks of a cooperative launch have to run at once.
CUresult check_cooperation(const HostLaunch& launch) {
  const std::uint64_t at_once = multiprocessors * (2048 / count_of(launch.block));
  return launch.cooperative && count_of(launch.grid) > at_once
             ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
             : CUDA_SUCCESS;
}

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
  if (const CUresult result = check_cluster(function, launch)) return result;
  if (const CUresult result = check_cooperation(launch)) return result;
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

/// A launch of either kind of kernel.
CUresult launch_any(CUfunction handle, HostLaunch as_given, CUstream stream, void** parameters,
                    void** extra) {
  const auto [x, y, z] = as_given.grid;
  const auto [block_x, block_y, block_z] = as_given.block;
  std::optional<Function> function;
  {
    const Guard lock(state().mutex);
    if (const Function* const known = find_function(handle)) function = *known;
  }
  as_given.device = current_device();
  if (!function || function->device != as_given.device) return CUDA_ERROR_INVALID_HANDLE;
  const std::string& expression = as_given.kernel = function->expression;
  const std::optional<KernelName> name = parse_kernel(expression);
  if (!name && !extra) {
    return launch_host_kernel(*function, std::move(as_given), stream, parameters);
  }
  const kernels::program* const program = name ? backend::cuda::find_program(expression) : nullptr;
  if (!program || extra) return CUDA_ERROR_NOT_FOUND;
  const auto block = std::int64_t{block_x} * block_y * block_z;
  if (const CUresult result = check_configuration(*name, x, y, z, block)) return result;
  Launch launch{expression, *name, program, as_given.device, x, y, block_x, block_y, {}, {}, 0};
  if (const CUresult result = read_parameters(launch, parameters)) return result;
  if (!shares_what_is_the_same(launch)) return illegal(launch, "operands are not the same");
  launch.seed = count_launch(launch);
  Operation operation;
  operation.cost_ms = 0.002;
  operation.kernel = std::make_shared<KernelAccess>(launch, as_given.early);
  operation.work = [launch = std::move(launch)] { return run_launch(launch); };
  return enqueue(stream, std::move(operation));
}

HostLaunch launch_of(const CUlaunchConfig& config) {
  HostLaunch launch;
  launch.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  launch.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  launch.shared = config.sharedMemBytes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    const auto& cluster = attribute.value.clusterDim;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      launch.cluster = {cluster.x, cluster.y, cluster.z};
    }
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      launch.early = attribute.value.programmaticStreamSerializationAllowed != 0;
    }
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      launch.cooperative = attribute.value.cooperative != 0;
    }
  }
  return launch;
}

}  // namespace

namespace entry {

CUresult launch_kernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       CUstream stream, void** parameters, void** extra) {
  if (const CUresult result = enter()) return result;
  return launch_any(
      handle,
      {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared = shared},
      stream, parameters, extra);
}

CUresult launch_cooperative(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                            CUstream stream, void** parameters) {
  if (const CUresult result = enter()) return result;
  return launch_any(handle,
                    {.grid = {grid_x, grid_y, grid_z},
                     .block = {block_x, block_y, block_z},
                     .shared = shared,
                     .cooperative = true},
                    stream, parameters, nullptr);
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
  *blocks = compiler().resident_threads / threads;
  return CUDA_SUCCESS;
}

CUresult most_in_cluster(int* blocks, CUfunction handle, const CUlaunchConfig* config) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const Function* const function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (!are_legal(launch_of(*config).grid, launch_of(*config).block)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (major_version(function->device) < 9) return CUDA_ERROR_NOT_SUPPORTED;
  *blocks = static_cast<int>(allowed_cluster(*function));
  return CUDA_SUCCESS;
}

CUresult clusters_at_once(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const Function* const function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  HostLaunch launch = launch_of(*config);
  launch.device = function->device;
  if (!are_legal(launch.grid, launch.block)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_cluster(*function, launch)) return result;
  *clusters = static_cast<int>(multiprocessors * (2048 / count_of(launch.block)) /
                               count_of(launch.cluster));
  return CUDA_SUCCESS;
}

/// One attribute lets a kernel begin early; here none does, but what it reads is looked at.
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction handle, void** parameters,
                          void** extra) {
  if (const CUresult result = enter()) return result;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttributeID id = config->attrs[i].id;
    if (id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && id != CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return launch_any(handle, launch_of(*config), config->hStream, parameters, extra);
}

}  // namespace entry
}  // namespace quarry::fake
