// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>

#include <quarry/base/error.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"
#include "backend/cuda/jit/load_image.hpp"

/// Kernels of programs.
namespace quarry::backend::cuda {
namespace {

CUfunction native_function(Function function) { return static_cast<CUfunction>(function); }
CUmodule native_module(Module module) { return static_cast<CUmodule>(module); }
unsigned extent(std::int64_t value) { return static_cast<unsigned>(value); }

/// A launch with attributes.
class Configuration {
 public:
  Configuration(const LaunchShape& shape, CUstream stream) {
    const auto& [grid, block, shared, cooperative, cluster] = shape;
    config_.gridDimX = extent(grid.x), config_.gridDimY = extent(grid.y);
    config_.gridDimZ = extent(grid.z), config_.blockDimX = extent(block.x);
    config_.blockDimY = extent(block.y), config_.blockDimZ = extent(block.z);
    config_.sharedMemBytes = static_cast<unsigned>(shared), config_.hStream = stream;
    config_.attrs = attributes_.data();
    if (!(cluster == Dim3(1))) {
      CUlaunchAttributeValue& value = added(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
      value.clusterDim.x = extent(cluster.x), value.clusterDim.y = extent(cluster.y);
      value.clusterDim.z = extent(cluster.z);
    }
    if (cooperative) added(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  }
  Configuration(const Configuration&) = delete;  // which would refer to the attributes of this one
  Configuration& operator=(const Configuration&) = delete;
  const CUlaunchConfig* get() const { return &config_; }

 private:
  CUlaunchAttributeValue& added(CUlaunchAttributeID id) {
    CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = id;
    return attribute.value;
  }
  std::array<CUlaunchAttribute, 2> attributes_{};
  CUlaunchConfig config_{};
};

/// A function of the driver that is there from CUDA 11.8 on.
template <class F>
F clusters_by(F function) {
  require<LogicError>(function != nullptr,
                      "clusters of blocks need a driver of CUDA 11.8 or later");
  return function;
}

}  // namespace

Module CudaDevice::do_load_module(const ModuleImage& image, LoadLog& log) {
  const auto current = context_.bind();
  LoadedImage loaded = load_image(image.bytes, image.options);
  log = std::move(loaded.log);
  if (is_refused(loaded.result)) {
    throw CompileError("the driver refuses the module: " + error_text(loaded.result), {}, log.error,
                       {});
  }
  check(loaded.result);
  return loaded.module;
}

void CudaDevice::do_unload_module(Module module) noexcept {
  if (const auto current = context_.try_bind()) note(driver().ModuleUnload(native_module(module)));
}

Function CudaDevice::find_function(Module module, const std::string& name) {
  const auto current = context_.bind();
  CUfunction function = nullptr;
  const CUresult result =
      driver().ModuleGetFunction(&function, native_module(module), name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return nullptr;
  check(result);
  return function;
}

GlobalVariable CudaDevice::find_global(Module module, const std::string& name) {
  const auto current = context_.bind();
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult result =
      driver().ModuleGetGlobal(&address, &bytes, native_module(module), name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return {};
  check(result);
  return {reinterpret_cast<void*>(address), bytes};
}

std::optional<std::vector<std::size_t>> CudaDevice::parameter_sizes(Function function) {
  if (!driver().FuncGetParamInfo) return std::nullopt;
  const auto current = context_.bind();
  std::vector<std::size_t> sizes;
  for (;;) {
    std::size_t offset = 0, size = 0;
    const CUresult result =
        driver().FuncGetParamInfo(native_function(function), sizes.size(), &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) return sizes;  // there are no more
    check(result);
    sizes.push_back(size);
  }
}

int CudaDevice::attribute(Function function, FunctionAttribute attribute) {
  const auto current = context_.bind();
  int value = 0;
  check(driver().FuncGetAttribute(&value, static_cast<CUfunction_attribute>(attribute),
                                  native_function(function)));
  return value;
}

void CudaDevice::set_attribute(Function function, FunctionAttribute attribute, int value) {
  const auto current = context_.bind();
  check(driver().FuncSetAttribute(native_function(function),
                                  static_cast<CUfunction_attribute>(attribute), value));
}

void CudaDevice::set_cache_config(Function function, CacheConfig config) {
  const auto current = context_.bind();
  check(driver().FuncSetCacheConfig(native_function(function), static_cast<CUfunc_cache>(config)));
}

int CudaDevice::best_block_size(Function function, std::size_t shared) {
  const auto current = context_.bind();
  int grid = 0, block = 0;
  check(driver().OccupancyMaxPotentialBlockSize(&grid, &block, native_function(function), nullptr,
                                                shared, 0));
  return block;
}

int CudaDevice::blocks_at_once(Function function, int threads, std::size_t shared) {
  const auto current = context_.bind();
  int blocks = 0;
  check(driver().OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, native_function(function),
                                                           threads, shared));
  return blocks;
}

int CudaDevice::most_in_cluster(Function function, const LaunchShape& shape) {
  const auto current = context_.bind();
  LaunchShape large = shape;
  large.grid = 1 << 16, large.cluster = 1;
  int blocks = 0;
  check(clusters_by(driver().OccupancyMaxPotentialClusterSize)(
      &blocks, native_function(function), Configuration(large, nullptr).get()));
  return blocks;
}

int CudaDevice::clusters_at_once(Function function, const LaunchShape& shape) {
  const auto current = context_.bind();
  LaunchShape one = shape;
  one.grid = shape.cluster;
  int clusters = 0;
  check(clusters_by(driver().OccupancyMaxActiveClusters)(&clusters, native_function(function),
                                                         Configuration(one, nullptr).get()));
  return clusters;
}

void CudaDevice::launch(Function function, const LaunchShape& shape, void** parameters,
                        Stream stream) {
  const auto current = context_.bind();
  const auto& [grid, block, shared, cooperative, cluster] = shape;
  if (!(cluster == Dim3(1))) [[unlikely]] {
    return check_launch(
        clusters_by(driver().LaunchKernelEx)(Configuration(shape, native(stream)).get(),
                                             native_function(function), parameters, nullptr));
  }
  const auto bytes = static_cast<unsigned>(shared);
  if (cooperative) {
    return check_launch(driver().LaunchCooperativeKernel(
        native_function(function), extent(grid.x), extent(grid.y), extent(grid.z), extent(block.x),
        extent(block.y), extent(block.z), bytes, native(stream), parameters));
  }
  check_launch(driver().LaunchKernel(native_function(function), extent(grid.x), extent(grid.y),
                                     extent(grid.z), extent(block.x), extent(block.y),
                                     extent(block.z), bytes, native(stream), parameters, nullptr));
}

}  // namespace quarry::backend::cuda
