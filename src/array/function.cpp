// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/function.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
constexpr Dim3 largest_grid(0x7fffffff, 65535, 65535), largest_block(1024, 1024, 64);

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
                const Device& device) {
  require<LogicError>(memory.device() == device, [&] {
    return fmt::format("the kernel {} is loaded on {}, argument {} (from 0) lies on {}",
                       function.name, to_string(device), k, to_string(memory.device()));
  });
}

void note_write(const KernelArgument& argument) {
  if (argument.array) {
    memory::note_write(argument.array->device_pointer(), argument.array->layout(),
                       argument.array->dtype().itemsize());
  } else {
    memory::note_write(argument.memory->data(), argument.memory->bytes());
  }
}

/// More than 48 KiB have to be asked for.
void allow_shared(backend::Device& device, backend::Function function, std::size_t bytes) {
  constexpr std::size_t always = 48 << 10;
  if (bytes <= always) return;
  const auto wanted = static_cast<int>(std::min<std::size_t>(bytes, 0x7fffffff));
  constexpr auto limit = FunctionAttribute::max_dynamic_shared_size_bytes;
  if (device.attribute(function, limit) < wanted) device.set_attribute(function, limit, wanted);
}

}  // namespace

const std::string& Function::name() const { return function_->name; }
Device Function::device() const { return Device(module_->device()); }

Stream Function::stream_for(const LaunchConfig& config, const Stream* of_arguments) const {
  const Stream* const guarded = config.stream ? nullptr : detail::guarded_stream(device());
  const Stream* const given = config.stream ? &*config.stream : guarded ? guarded : of_arguments;
  if (!given) return default_stream(device());
  require<LogicError>(given->device() == device(), [&] {
    return fmt::format("the kernel {} is loaded on {}, the stream is one of {}", name(),
                       to_string(device()), to_string(given->device()));
  });
  return *given;
}

void Function::queue(const LaunchConfig& config, const Stream& stream,
                     std::span<const KernelArgument> arguments) const {
  const FunctionState& function = *function_;
  backend::Device& device = module_->device();
  backend::LaunchShape shape{config.grid, 1, config.shared, config.cooperative};
  shape.block = config.block;
  if (shape.block == best_block) {
    shape.block = device.best_block_size(function.native, config.shared);
  }
  require_extents(function, "grid", shape.grid, largest_grid);
  require_extents(function, "block", shape.block, largest_block);
  require_same_count(function, arguments.size());
  SmallArray<void*> values(static_cast<int>(arguments.size()));
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    require_size(function, k, arguments[k].bytes);
    if (arguments[k].memory) require_on(function, k, *arguments[k].memory, Device(device));
    values[k] = const_cast<void*>(arguments[k].value);
  }
  const backend::OperationRange range([&] {
    return fmt::format("kernel {} {} x {}", function.name, to_string(shape.grid),
                       to_string(shape.block));
  });
  allow_shared(device, function.native, config.shared);
  for (const KernelArgument& argument : arguments) {
    if (argument.memory) const_cast<Buffer*>(argument.memory)->used_on(stream);
    if (argument.memory && argument.is_written) note_write(argument);
  }
  module_->code->used_on(stream);
  try {
    device.launch(function.native, shape, values.data(), stream.state().native);
  } catch (const LaunchError& e) {
    throw LaunchError(fmt::format(
        "the kernel {} with a grid of {}, blocks of {} and {} bytes of "
        "dynamic shared memory: {}",
        function.name, to_string(shape.grid), to_string(shape.block), shape.shared, e.what()));
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
  module_->device().set_attribute(function_->native, attribute, value);
}
void Function::set_cache_config(CacheConfig config) const {
  module_->device().set_cache_config(function_->native, config);
}
int Function::best_block_size(std::size_t shared) const {
  return module_->device().best_block_size(function_->native, shared);
}
int Function::blocks_per_multiprocessor(int threads, std::size_t shared) const {
  return module_->device().blocks_at_once(function_->native, threads, shared);
}

}  // namespace quarry
