// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <new>

#include <quarry/base/error.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/check.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/cuda/jit.hpp"
#include "backend/cuda/kernel_cache.hpp"

namespace quarry::backend::cuda {
namespace {

std::atomic<std::int64_t> disk_hits = 0, compiled = 0;

/// One thread at a time makes a given kernel; different kernels rarely share a lock.
std::mutex& lock_of(const kernels::program& program, std::uint64_t variant, int device) {
  static auto& locks = *new std::array<std::mutex, 64>;
  const std::size_t hash = std::hash<const void*>()(&program) / 64 + variant * 0x9e3779b97f4a7c15u +
                           static_cast<std::size_t>(device);
  return locks[hash * 0x9e3779b97f4a7c15u >> 58];
}

/// The driver cannot use the code, as opposed to: the device has failed.
bool is_refused(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_NOT_FOUND:
      return true;
    default:
      return false;
  }
}

struct Loading {
  CUresult result = CUDA_SUCCESS;
  CUfunction function = nullptr;
  std::string log;
};

/// Modules stay loaded to the end of the process or the reset of the device.
Loading load(const Binary& binary) {
  std::array<char, 4096> log{};
  std::array options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CUmodule module = nullptr;
  Loading loading;
  loading.result =
      driver().ModuleLoadDataEx(&module, binary.code.c_str(), 2, options.data(), values.data());
  if (loading.result == CUDA_SUCCESS) {
    loading.result = driver().ModuleGetFunction(&loading.function, module, binary.function.c_str());
    if (loading.result != CUDA_SUCCESS) note(driver().ModuleUnload(module));
  }
  if (loading.result != CUDA_SUCCESS) loading.log = log.data();
  return loading;
}

CUfunction loaded(const Binary& binary, const KernelSource& source) {
  Loading loading = load(binary);
  if (is_refused(loading.result)) {
    throw CompileError(fmt::format("the driver refuses the machine code of {}: {}",
                                   source.instantiation, error_text(loading.result)),
                       source.text, std::move(loading.log), {});
  }
  check(loading.result);
  return loading.function;
}

CUfunction from_disk(const std::string& key) {
  const std::optional<Binary> binary = kernel_cache().load(key);
  if (!binary) return nullptr;
  const Loading loading = load(*binary);
  if (is_refused(loading.result)) {
    kernel_cache().remove(key);
    return nullptr;
  }
  check(loading.result);
  disk_hits.fetch_add(1, std::memory_order_relaxed);
  return loading.function;
}

CUfunction from_compiler(const KernelSource& source, const Architecture& architecture,
                         const std::string& key) {
  const Binary binary = compile_kernel(source, architecture);
  const CUfunction function = loaded(binary, source);
  compiled.fetch_add(1, std::memory_order_relaxed);
  try {
    kernel_cache().store(key, binary);
  } catch (const std::bad_alloc&) {  // the kernel is loaded, and of use without a file
  }
  return function;
}

void publish(const kernels::program& program, LoadedKernel* entry) {
  const void* head = program.compiled.load(std::memory_order_relaxed);
  do {
    entry->next = static_cast<const LoadedKernel*>(head);
  } while (!program.compiled.compare_exchange_weak(head, entry, std::memory_order_release));
}

struct KnownPrograms {
  std::mutex mutex;
  std::vector<const kernels::program*> programs;
};

KnownPrograms& known() {
  static auto& all = *new KnownPrograms;
  return all;
}

void remember(const kernels::program& program) {
  const std::lock_guard lock(known().mutex);
  auto& programs = known().programs;
  if (std::ranges::find(programs, &program) == programs.end()) programs.push_back(&program);
}

}  // namespace

std::vector<const kernels::program*> known_programs() {
  const std::lock_guard lock(known().mutex);
  return known().programs;
}

std::atomic<std::int64_t> detail::memory_hits = 0;

CUfunction detail::make_kernel(const kernels::program& program, const Variant& variant,
                               const KernelTarget& target) {
  const std::uint64_t variant_key = variant.key();
  const std::lock_guard lock(lock_of(program, variant_key, target.device));
  if (const CUfunction other_thread = find_kernel(program, variant_key, target))
    return other_thread;

  remember(program);
  const KernelSource source = kernel_source(program, variant);
  const Architecture architecture =
      architecture_for(target.compute_capability, supported_architectures());
  const std::string key = kernel_key(source, architecture);
  auto entry = std::make_unique<LoadedKernel>(
      LoadedKernel{variant_key, target.generation, target.device, nullptr, nullptr});
  entry->function = from_disk(key);
  if (!entry->function) entry->function = from_compiler(source, architecture, key);
  const CUfunction function = entry->function;
  publish(program, entry.release());
  return function;
}

}  // namespace quarry::backend::cuda

namespace quarry::backend {

CacheCounters kernel_cache_counters() {
  return {cuda::detail::memory_hits.load(), cuda::disk_hits.load(), cuda::compiled.load()};
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const kernels::program* const program : cuda::known_programs()) {
    names.emplace_back(program->name);
  }
  return names;
}

}  // namespace quarry::backend
