// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/function.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "array/module_state.hpp"
#include "backend/annotation.hpp"
#include "base/small_array.hpp"
#include "memory/write_log.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

using detail::FunctionState;
using detail::KernelArgument;

/// What any GPU has; the driver refuses what this one has not.
constexpr Dim3 largest_grid(0x7fffffff, 65535, 65535), largest_block(1024, 1024, 64),
    largest_cluster(16, 16, 16);

bool is_inside(const Dim3& extents, const Dim3& largest) {
  return extents.x >= 1 && extents.y >= 1 && extents.z >= 1 && extents.x <= largest.x &&
         extents.y <= largest.y && extents.z <= largest.z;
}

void require_extents(const FunctionState& function, const char* what, const Dim3& extents,
                     const Dim3& largest) {
  require<LogicError>(is_inside(extents, largest), [&] {
    return fmt::format("the kernel {}: a {} of {} is not within (1, 1, 1) and {}", function.name,
                       what, to_string(extents), to_string(largest));
  });
}

void require_same_count(const FunctionState& function, std::size_t count) {
  require<LogicError>(!function.parameters || function.parameters->size() == count, [&] {
    return fmt::format("the kernel {} has {} parameters, not {}", function.name,
                       function.parameters->size(), count);
  });
}

void require_size(const FunctionState& function, std::size_t k, std::size_t bytes) {
  if (!function.parameters) return;
  const std::size_t size = (*function.parameters)[k];
  require<LogicError>(size == bytes, [&] {
    return fmt::format("the kernel {}: argument {} (from 0) has {} bytes, the parameter {}",
                       function.name, k, bytes, size);
  });
}

void require_on(const FunctionState& function, std::size_t k, const Buffer& memory,
                backend::Device& device) {
  require<LogicError>(memory.stream().state().device == &device, [&] {
    return fmt::format("the kernel {} is loaded on {}, argument {} (from 0) lies on {}",
                       function.name, to_string(Device(device)), k, to_string(memory.device()));
  });
}

void note_write(const KernelArgument& argument) {
  if (argument.array) {
    memory::note_write(argument.array->address(), argument.array->layout(),
                       argument.array->dtype().itemsize());
  } else {
    memory::note_write(argument.memory->data(), argument.memory->bytes());
  }
}

/// At least `wanted`.
void raise(backend::Device& device, backend::Function function, FunctionAttribute attribute,
           std::int64_t wanted) {
  const auto value = static_cast<int>(std::min<std::int64_t>(wanted, 0x7fffffff));
  if (device.attribute(function, attribute) < value) {
    device.set_attribute(function, attribute, value);
  }
}

std::int64_t count_of(const Dim3& extents) { return extents.x * extents.y * extents.z; }

/// More than 48 KiB of dynamic shared memory have to be asked for.
void allow_shared(FunctionState& function, backend::Device& device, std::size_t shared) {
  if (shared <= function.allowed_shared.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(function.asking);
  if (shared <= function.allowed_shared.load(std::memory_order_relaxed)) return;
  raise(device, function.native, FunctionAttribute::max_dynamic_shared_size_bytes,
        static_cast<std::int64_t>(std::min<std::size_t>(shared, 0x7fffffff)));
  function.allowed_shared.store(shared, std::memory_order_relaxed);
}

/// So have clusters of more than 8 blocks, which not all GPUs with clusters have.
void allow(FunctionState& function, backend::Device& device, const backend::LaunchShape& shape) {
  constexpr std::int64_t everywhere = 8;
  allow_shared(function, device, shape.shared);
  if (count_of(shape.cluster) > everywhere) {
    raise(device, function.native, FunctionAttribute::non_portable_cluster_size_allowed, 1);
  }
}

void require_clusters(const FunctionState& function, const backend::Device& device) {
  const auto [major, minor] = device.info().compute_capability;
  require<LogicError>(major >= 9, [&] {
    return fmt::format(
        "the kernel {}: clusters of blocks need a GPU of compute capability 9.0, this one has "
        "{}.{}",
        function.name, device.info().compute_capability.first,
        device.info().compute_capability.second);
  });
}

/// Whether `all` is a whole number of parts along each axis.
bool is_multiple(const Dim3& all, const Dim3& part) {
  return all.x % part.x == 0 && all.y % part.y == 0 && all.z % part.z == 0;
}

void require_cluster(const FunctionState& function, const backend::Device& device,
                     const backend::LaunchShape& shape) {
  if (shape.cluster == Dim3(1)) return;
  require_clusters(function, device);
  require_extents(function, "cluster", shape.cluster, largest_cluster);
  require<LogicError>(is_multiple(shape.grid, shape.cluster), [&] {
    return fmt::format("the kernel {}: a grid of {} is no whole number of clusters of {}",
                       function.name, to_string(shape.grid), to_string(shape.cluster));
  });
}

std::string described(const backend::LaunchShape& shape) {
  return fmt::format("a grid of {}, blocks of {}{} and {} bytes of dynamic shared memory",
                     to_string(shape.grid), to_string(shape.block),
                     shape.cluster == Dim3(1) ? "" : ", clusters of " + to_string(shape.cluster),
                     shape.shared);
}

/// What the configuration asks for, with a block that is chosen where it says so.
backend::LaunchShape shape_of(FunctionState& function, backend::Device& device,
                              const LaunchConfig& config) {
  backend::LaunchShape shape{config.grid, config.block, config.shared, config.cooperative,
                             config.cluster};
  if (shape.block == best_block) {
    allow_shared(function, device, config.shared);
    shape.block = device.best_block_size(function.native, config.shared);
  }
  require_extents(function, "grid", shape.grid, largest_grid);
  require_extents(function, "block", shape.block, largest_block);
  return shape;
}

}  // namespace

const std::string& Function::name() const { return function_->name; }
Device Function::device() const { return Device(module_->device()); }

const Stream& Function::checked(const Stream& stream) const {
  require<LogicError>(stream.state().device == &module_->device(), [&] {
    return fmt::format("the kernel {} is loaded on {}, the stream is one of {}", name(),
                       to_string(device()), to_string(stream.device()));
  });
  return stream;
}

const Stream& Function::stream_for(const LaunchConfig& config, const Stream* of_arguments) const {
  if (config.stream) return checked(*config.stream);
  const Stream* const guarded = detail::guarded_stream(device());
  if (guarded) return *guarded;
  return of_arguments ? checked(*of_arguments) : module_->code->stream();
}

void Function::queue(const LaunchConfig& config, const Stream& stream,
                     std::span<const KernelArgument> arguments) const {
  FunctionState& function = *function_;
  backend::Device& device = module_->device();
  const backend::LaunchShape shape = shape_of(function, device, config);
  require_cluster(function, device, shape);
  require_same_count(function, arguments.size());
  SmallArray<void*> values(arguments.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    require_size(function, k, arguments[k].bytes);
    if (arguments[k].memory) require_on(function, k, *arguments[k].memory, device);
    values[k] = const_cast<void*>(arguments[k].value);
  }
  const backend::OperationRange range([&] {
    return fmt::format("kernel {} {} x {}", function.name, to_string(shape.grid),
                       to_string(shape.block));
  });
  allow(function, device, shape);
  for (const KernelArgument& argument : arguments) {
    if (argument.memory) const_cast<Buffer*>(argument.memory)->used_on(stream);
    if (argument.memory && argument.is_written) note_write(argument);
  }
  module_->code->used_on(stream);
  try {
    device.launch(function.native, shape, values.data(), stream.state().native);
  } catch (const LaunchError& e) {
    throw LaunchError(
        fmt::format("the kernel {} with {}: {}", function.name, described(shape), e.what()));
  }
}

void Function::finish_despite_errors(const Stream& stream) noexcept {
  try {
    stream.state().device->synchronize(stream.state().native);
  } catch (...) {  // the caller is told of another one
  }
}

void Function::require_parameters(std::span<const std::size_t> sizes) const {
  require_same_count(*function_, sizes.size());
  for (std::size_t k = 0; k < sizes.size(); ++k) require_size(*function_, k, sizes[k]);
}

Function::ForAll Function::forall(std::int64_t n, const LaunchConfig& config) const {
  require<LogicError>(
      n >= 0, [&] { return fmt::format("the kernel {}: forall of {} threads", name(), n); });
  LaunchConfig whole = config;
  if (whole.block == best_block) whole.block = best_block_size(config.shared);
  whole.grid = (n + whole.block.x - 1) / std::max<std::int64_t>(whole.block.x, 1);
  return ForAll(*this, n, std::move(whole));
}

int Function::attribute(FunctionAttribute attribute) const {
  return module_->device().attribute(function_->native, attribute);
}
void Function::set_attribute(FunctionAttribute attribute, int value) const {
  const std::lock_guard lock(function_->asking);
  function_->allowed_shared.store(FunctionState::always_allowed, std::memory_order_relaxed);
  module_->device().set_attribute(function_->native, attribute, value);
}
void Function::set_cache_config(CacheConfig config) const {
  module_->device().set_cache_config(function_->native, config);
}
int Function::best_block_size(std::size_t shared) const {
  allow_shared(*function_, module_->device(), shared);
  return module_->device().best_block_size(function_->native, shared);
}
int Function::max_cluster_size(const LaunchConfig& config) const {
  backend::Device& on = module_->device();
  require_clusters(*function_, on);
  raise(on, function_->native, FunctionAttribute::non_portable_cluster_size_allowed, 1);
  const backend::LaunchShape shape = shape_of(*function_, on, config);
  allow_shared(*function_, on, shape.shared);
  return on.most_in_cluster(function_->native, shape);
}
int Function::max_active_clusters(const LaunchConfig& config) const {
  backend::Device& on = module_->device();
  require_clusters(*function_, on);
  const backend::LaunchShape shape = shape_of(*function_, on, config);
  require_extents(*function_, "cluster", shape.cluster, largest_cluster);
  allow(*function_, on, shape);
  return on.clusters_at_once(function_->native, shape);
}
int Function::max_cooperative_grid_blocks(int threads, std::size_t shared) const {
  const auto blocks = blocks_per_multiprocessor(threads, shared);
  return blocks * static_cast<int>(device().attribute(DeviceAttribute::multiprocessor_count));
}
int Function::blocks_per_multiprocessor(int threads, std::size_t shared) const {
  allow_shared(*function_, module_->device(), shared);
  return module_->device().blocks_at_once(function_->native, threads, shared);
}

}  // namespace quarry
