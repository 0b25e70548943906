// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <tuple>

#include <quarry/base/config.hpp>
#include <quarry/base/error.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/jit/assemble.hpp"
#include "backend/cuda/jit/digest.hpp"
#include "backend/cuda/jit/jit.hpp"
#include "backend/cuda/jit/kernel_cache.hpp"
#include "backend/cuda/jit/load_image.hpp"
#include "backend/cuda/ptx/ptx_kernel.hpp"

namespace quarry::backend::cuda {
namespace {

std::atomic<std::int64_t> disk_hits = 0, compiled = 0;

/// Held while a kernel is made, so that two threads do not make the same one; different kernels
/// rarely share a lock. Programs of the same name in two shared objects do.
std::mutex& lock_of(const kernels::program& program, const Variant& variant, int device) {
  static auto& locks = *new std::array<std::mutex, 64>;
  const std::size_t hash = std::hash<std::string_view>()(program.name) + variant.hash() +
                           static_cast<std::size_t>(device);
  return locks[hash * 0x9e3779b97f4a7c15u >> 58];
}

struct Loading {
  CUresult result = CUDA_SUCCESS;
  CUfunction function = nullptr;
  std::string log;
};

/// Modules stay loaded until the process ends or the device is reset.
Loading load(const Binary& binary) {
  LoadedImage image = load_image(binary.code);
  Loading loading{image.result, nullptr, std::move(image.log.error)};
  if (image.result == CUDA_SUCCESS) {
    loading.result =
        driver().ModuleGetFunction(&loading.function, image.module, binary.function.c_str());
    if (loading.result != CUDA_SUCCESS) note(driver().ModuleUnload(image.module));
  }
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

void keep(const std::string& key, const Binary& binary) {
  try {
    kernel_cache().store(key, binary);
  } catch (const std::bad_alloc&) {  // the kernel is loaded, and works without a file
  }
}

CUfunction from_compiler(const KernelSource& source, const Architecture& architecture,
                         const std::string& key) {
  const Binary binary = compile_kernel(source, architecture);
  const CUfunction function = loaded(binary, source);
  compiled.fetch_add(1, std::memory_order_relaxed);
  if (!source.may_read_files) keep(key, binary);
  return function;
}

/// nullptr if the driver does not translate it, or not load it.
CUfunction from_ptx(const PtxKernel& kernel, const std::string& key) {
  Assembled code = assemble(kernel.text);
  if (is_refused(code.result)) return nullptr;
  check(code.result);
  const Binary binary{std::move(code.cubin), kernel.entry};
  const Loading loading = load(binary);
  if (is_refused(loading.result)) return nullptr;
  check(loading.result);
  compiled.fetch_add(1, std::memory_order_relaxed);
  keep(key, binary);
  return loading.function;
}

/// Outlives the programs, which are gone when the shared object that defines them is unloaded: only
/// `latest` refers to them.
struct Known {
  std::mutex mutex;
  std::vector<std::string> names;  ///< in the order in which they were first asked for
  std::map<std::string, const kernels::program*> latest;                     ///< by instantiation
  std::map<std::tuple<int, std::uint32_t, std::string>, CUfunction> loaded;  ///< by key
  std::list<LoadedKernel> entries;                                           ///< of all programs
};

Known& known() {
  static auto& all = *new Known;
  return all;
}

/// Adds the one entry to the list of the program; allocates nothing.
void publish(const kernels::program& program, std::list<LoadedKernel>&& one) {
  LoadedKernel& entry = one.front();
  {
    const std::lock_guard lock(known().mutex);
    known().entries.splice(known().entries.end(), one);
  }
  const void* head = program.compiled.load(std::memory_order_relaxed);
  do {
    entry.next = static_cast<const LoadedKernel*>(head);
  } while (!program.compiled.compare_exchange_weak(head, &entry, std::memory_order_release));
}

void remember(const kernels::program& program, const KernelSource& source) {
  const std::lock_guard lock(known().mutex);
  known().latest.insert_or_assign(source.instantiation, &program);
  auto& names = known().names;
  if (std::ranges::find(names, program.name) == names.end()) names.emplace_back(program.name);
}

/// The kernel with this key that another program has loaded, or nullptr.
CUfunction find_loaded(const KernelTarget& target, const std::string& key) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().loaded.find({target.device, target.generation, key});
  return found == known().loaded.end() ? nullptr : found->second;
}

/// The entry for the kernel with this key; its address is stable.
CUfunction& place_of(const KernelTarget& target, const std::string& key) {
  const std::lock_guard lock(known().mutex);
  return known().loaded[{target.device, target.generation, key}];
}

/// The kernel with this key: of another program, from the disk, or what make() returns.
CUfunction load_kernel(const std::string& key, bool is_on_disk, const KernelTarget& target,
                       const std::function<CUfunction()>& make) {
  if (const CUfunction other_program = find_loaded(target, key)) return other_program;
  // The entry is made first, since that may throw: a loaded kernel must not be lost.
  CUfunction& place = place_of(target, key);
  CUfunction function = is_on_disk ? from_disk(key) : nullptr;
  if (!function) function = make();
  const std::lock_guard lock(known().mutex);
  return place = function;
}

/// nullptr if it is no kernel of which there is PTX, or the driver does not take it.
CUfunction kernel_of_ptx(const KernelSource& source, const KernelTarget& target) {
  const auto kernel =
      ptx_kernel(source.instantiation, source.identifier, target.compute_capability);
  if (!kernel) return nullptr;
  const auto [major, minor] = target.compute_capability;
  const std::string key =
      fmt::format("library {}\nptx for {}.{}, {} bytes {}\n{}", version, major, minor,
                  kernel->text.size(), Digest().add(kernel->text).hex(), source.instantiation);
  return load_kernel(key, true, target, [&] { return from_ptx(*kernel, key); });
}

CUfunction kernel_of_source(const KernelSource& source, const KernelTarget& target) {
  const Architecture architecture =
      architecture_for(target.compute_capability, supported_architectures());
  const std::string key = kernel_key(source, architecture);
  return load_kernel(key, !source.may_read_files, target,
                     [&] { return from_compiler(source, architecture, key); });
}

/// Tiles are read through the L1 cache, which is what shared memory leaves: of as many blocks as
/// fit, 28 of 256 KB. So tiles have 132 KB or a little more of the 228 of compute capability 9.0,
/// those that are turned 164 KB, five blocks. Others have as much of theirs.
void leave_cache(CUfunction function, const Variant& variant) {
  if (variant.kernel() != TiledMap::name) return;
  const int percent = TiledMap::is_turned(variant) ? 72 : 58;
  check(driver().FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                  percent));
}

}  // namespace

const kernels::program* find_program(const std::string& instantiation) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().latest.find(instantiation);
  return found == known().latest.end() ? nullptr : found->second;
}

std::atomic<std::int64_t> detail::memory_hits = 0;

const Kernel& detail::make_kernel(const kernels::program& program, const Variant& variant,
                                  const KernelTarget& target) {
  const std::lock_guard lock(lock_of(program, variant, target.device));
  if (const Kernel* const other_thread = find_kernel(program, variant, target))
    return *other_thread;

  const KernelSource source = kernel_source(program, variant);
  remember(program, source);
  std::list<LoadedKernel> entry;
  entry.push_back({variant, target.generation, target.device, {}, nullptr});
  Kernel& kernel = entry.front().kernel;
  kernel.function = kernel_of_ptx(source, target);
  if (!kernel.function) kernel.function = kernel_of_source(source, target);
  leave_cache(kernel.function, variant);
  check(driver().OccupancyMaxActiveBlocksPerMultiprocessor(&kernel.resident_blocks, kernel.function,
                                                           256, 0));
  publish(program, std::move(entry));
  return kernel;
}

}  // namespace quarry::backend::cuda

namespace quarry::backend {

KernelCacheStatistics kernel_cache_statistics() {
  return {cuda::detail::memory_hits.load(), cuda::disk_hits.load(), cuda::compiled.load()};
}

std::vector<std::string> kernel_names() {
  const std::lock_guard lock(cuda::known().mutex);
  return cuda::known().names;
}

}  // namespace quarry::backend
