// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/shim.hpp"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace quarry::backend::cuda {
namespace {

enum class Kind {
  stream,
  event,
  module,
  pool,
  device_memory,
  host_memory,
  registration,
  managed_memory,
  pooled_memory,
  imported_memory,
  array,
  graph,
  graph_exec,
  texture,
  surface
};

struct Handle {
  Kind kind;
  std::size_t bytes;
  CUcontext context;
};

/// All that the shim knows; the driver's functions have no state of their own.
struct Shim {
  std::atomic<const DriverTable*> below = nullptr;
  DriverTable table;
  std::array<std::atomic<std::int64_t>, driver_function_count> counts{};

  std::mutex mutex;
  std::vector<Fault> faults;
  std::map<CUdevice, CUcontext> contexts;
  std::map<std::pair<Kind, const void*>, Handle> handles;
  std::atomic<bool> has_faults = false;
};

Shim& state() {
  static auto& shim = *new Shim;
  return shim;
}

const DriverTable& below() { return *state().below.load(std::memory_order_acquire); }

/// What an injected fault says of this call, CUDA_SUCCESS for none.
CUresult fault_of(DriverFunction function) {
  Shim& s = state();
  if (!s.has_faults.load(std::memory_order_acquire)) return CUDA_SUCCESS;
  const std::lock_guard lock(s.mutex);
  CUresult result = CUDA_SUCCESS;
  for (Fault& fault : s.faults) {
    if (fault.function && *fault.function != function) continue;
    --fault.nth;
    const bool strikes = fault.nth == 0 || (fault.persistent && fault.nth < 0);
    if (strikes && result == CUDA_SUCCESS) result = fault.code;
  }
  return result;
}

void add(Kind kind, const void* handle, std::size_t bytes = 0) {
  CUcontext context = nullptr;
  below().CtxGetCurrent(&context);
  const std::lock_guard lock(state().mutex);
  state().handles[{kind, handle}] = {kind, bytes, context};
}

void drop(Kind kind, const void* handle) {
  const std::lock_guard lock(state().mutex);
  state().handles.erase({kind, handle});
}

const void* pointer(CUdeviceptr memory) { return reinterpret_cast<const void*>(memory); }

/// What a successful call has made or destroyed; nothing for most functions.
template <DriverFunction F>
struct Effect {
  static void of(auto...) {}
};
template <>
struct Effect<DriverFunction::DevicePrimaryCtxRetain> {
  static void of(CUcontext* context, CUdevice device) {
    const std::lock_guard lock(state().mutex);
    state().contexts[device] = *context;
  }
};
void drop_device(CUdevice device) {
  Shim& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.contexts.find(device);
  if (found == s.contexts.end()) return;
  std::erase_if(s.handles, [&](const auto& h) { return h.second.context == found->second; });
  s.contexts.erase(found);
}
template <>
struct Effect<DriverFunction::DevicePrimaryCtxReset> {
  static void of(CUdevice device) { drop_device(device); }
};
template <>
struct Effect<DriverFunction::DevicePrimaryCtxRelease> {
  static void of(CUdevice device) {
    unsigned flags = 0;
    int is_active = 0;
    below().DevicePrimaryCtxGetState(device, &flags, &is_active);
    if (!is_active) drop_device(device);
  }
};
template <>
struct Effect<DriverFunction::MemAlloc> {
  static void of(const CUdeviceptr* memory, std::size_t bytes) {
    add(Kind::device_memory, pointer(*memory), bytes);
  }
};
template <>
struct Effect<DriverFunction::MemAllocPitch> {
  static void of(const CUdeviceptr* memory, const std::size_t* pitch, std::size_t,
                 std::size_t height, unsigned) {
    add(Kind::device_memory, pointer(*memory), *pitch * height);
  }
};
template <>
struct Effect<DriverFunction::MemAllocManaged> {
  static void of(const CUdeviceptr* memory, std::size_t bytes, unsigned) {
    add(Kind::managed_memory, pointer(*memory), bytes);
  }
};
template <>
struct Effect<DriverFunction::MemFree> {
  static void of(CUdeviceptr memory) {
    drop(Kind::device_memory, pointer(memory));
    drop(Kind::managed_memory, pointer(memory));
  }
};
template <>
struct Effect<DriverFunction::MemPoolCreate> {
  static void of(const CUmemoryPool* pool, const CUmemPoolProps*) { add(Kind::pool, *pool); }
};
template <>
struct Effect<DriverFunction::MemPoolDestroy> {
  static void of(CUmemoryPool pool) { drop(Kind::pool, pool); }
};
template <>
struct Effect<DriverFunction::MemAllocFromPoolAsync> {
  static void of(const CUdeviceptr* memory, std::size_t bytes, CUmemoryPool, CUstream) {
    add(Kind::pooled_memory, pointer(*memory), bytes);
  }
};
template <>
struct Effect<DriverFunction::MemFreeAsync> {
  static void of(CUdeviceptr memory, CUstream) { drop(Kind::pooled_memory, pointer(memory)); }
};
template <>
struct Effect<DriverFunction::Array3DCreate> {
  static void of(const CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR*) { add(Kind::array, *array); }
};
template <>
struct Effect<DriverFunction::ArrayDestroy> {
  static void of(CUarray array) { drop(Kind::array, array); }
};
template <>
struct Effect<DriverFunction::TexObjectCreate> {
  static void of(const CUtexObject* texture, auto...) { add(Kind::texture, pointer(*texture)); }
};
template <>
struct Effect<DriverFunction::TexObjectDestroy> {
  static void of(CUtexObject texture) { drop(Kind::texture, pointer(texture)); }
};
template <>
struct Effect<DriverFunction::SurfObjectCreate> {
  static void of(const CUsurfObject* surface, auto...) { add(Kind::surface, pointer(*surface)); }
};
template <>
struct Effect<DriverFunction::SurfObjectDestroy> {
  static void of(CUsurfObject surface) { drop(Kind::surface, pointer(surface)); }
};
template <>
struct Effect<DriverFunction::IpcOpenMemHandle> {
  static void of(const CUdeviceptr* memory, CUipcMemHandle, unsigned) {
    add(Kind::imported_memory, pointer(*memory));
  }
};
template <>
struct Effect<DriverFunction::IpcCloseMemHandle> {
  static void of(CUdeviceptr memory) { drop(Kind::imported_memory, pointer(memory)); }
};
template <>
struct Effect<DriverFunction::IpcOpenEventHandle> {
  static void of(const CUevent* event, CUipcEventHandle) { add(Kind::event, *event); }
};
template <>
struct Effect<DriverFunction::MemHostAlloc> {
  static void of(void** memory, std::size_t bytes, unsigned) {
    add(Kind::host_memory, *memory, bytes);
  }
};
template <>
struct Effect<DriverFunction::MemFreeHost> {
  static void of(const void* memory) { drop(Kind::host_memory, memory); }
};
template <>
struct Effect<DriverFunction::MemHostRegister> {
  static void of(const void* memory, std::size_t bytes, unsigned) {
    add(Kind::registration, memory, bytes);
  }
};
template <>
struct Effect<DriverFunction::MemHostUnregister> {
  static void of(const void* memory) { drop(Kind::registration, memory); }
};
template <>
struct Effect<DriverFunction::StreamCreateWithPriority> {
  static void of(const CUstream* stream, unsigned, int) { add(Kind::stream, *stream); }
};
template <>
struct Effect<DriverFunction::StreamDestroy> {
  static void of(CUstream stream) { drop(Kind::stream, stream); }
};
template <>
struct Effect<DriverFunction::EventCreate> {
  static void of(const CUevent* event, unsigned) { add(Kind::event, *event); }
};
template <>
struct Effect<DriverFunction::EventDestroy> {
  static void of(CUevent event) { drop(Kind::event, event); }
};
template <>
struct Effect<DriverFunction::ModuleLoadDataEx> {
  static void of(const CUmodule* module, auto...) { add(Kind::module, *module); }
};
template <>
struct Effect<DriverFunction::ModuleUnload> {
  static void of(CUmodule module) { drop(Kind::module, module); }
};

template <>
struct Effect<DriverFunction::StreamEndCapture> {
  static void of(CUstream, const CUgraph* graph) { add(Kind::graph, *graph); }
};
template <>
struct Effect<DriverFunction::GraphDestroy> {
  static void of(CUgraph graph) { drop(Kind::graph, graph); }
};
template <>
struct Effect<DriverFunction::GraphInstantiateWithFlags> {
  static void of(const CUgraphExec* exec, CUgraph, unsigned long long) {
    add(Kind::graph_exec, *exec);
  }
};
template <>
struct Effect<DriverFunction::GraphExecDestroy> {
  static void of(CUgraphExec exec) { drop(Kind::graph_exec, exec); }
};

void count(LiveHandles& live, const Handle& handle) {
  switch (handle.kind) {
    case Kind::stream:
      ++live.streams;
      break;
    case Kind::event:
      ++live.events;
      break;
    case Kind::module:
      ++live.modules;
      break;
    case Kind::pool:
      ++live.pools;
      break;
    case Kind::device_memory:
      ++live.device_blocks, live.device_bytes += handle.bytes;
      break;
    case Kind::host_memory:
      ++live.host_blocks, live.host_bytes += handle.bytes;
      break;
    case Kind::registration:
      ++live.registrations, live.registered_bytes += handle.bytes;
      break;
    case Kind::managed_memory:
      ++live.managed_blocks, live.managed_bytes += handle.bytes;
      break;
    case Kind::pooled_memory:
      ++live.pooled_blocks, live.pooled_bytes += handle.bytes;
      break;
    case Kind::imported_memory:
      ++live.imported_blocks;
      break;
    case Kind::array:
      ++live.arrays;
      break;
    case Kind::graph:
    case Kind::graph_exec:
      ++live.graphs;
      break;
    case Kind::texture:
    case Kind::surface:
      ++live.textures;
      break;
  }
}

constexpr bool can_fail(DriverFunction function) {
  return function != DriverFunction::GetErrorName && function != DriverFunction::GetErrorString;
}

/// The function that stands in the shim's table for one member of the table below.
template <DriverFunction F, auto Member, class Pointer>
struct Wrapped;
template <DriverFunction F, auto Member, class... A>
struct Wrapped<F, Member, CUresult (*)(A...)> {
  static CUresult call(A... arguments) {
    state().counts[static_cast<std::size_t>(F)].fetch_add(1, std::memory_order_relaxed);
    if constexpr (can_fail(F)) {
      if (const CUresult fault = fault_of(F); fault != CUDA_SUCCESS) return fault;
    }
    const CUresult result = (below().*Member)(arguments...);
    if (result == CUDA_SUCCESS) Effect<F>::of(arguments...);
    return result;
  }
};

}  // namespace

namespace shim {

const DriverTable& over(const DriverTable& below) {
  Shim& s = state();
  s.below.store(&below, std::memory_order_release);
#define QUARRY_DRIVER(name, version, need)                                                       \
  s.table.name =                                                                                 \
      below.name                                                                                 \
          ? Wrapped<DriverFunction::name, &DriverTable::name, decltype(DriverTable::name)>::call \
          : nullptr;
#include "backend/cuda/driver/driver.def"
#undef QUARRY_DRIVER
  return s.table;
}

void inject(const Fault& fault) {
  Shim& s = state();
  const std::lock_guard lock(s.mutex);
  s.faults.push_back(fault);
  s.has_faults = true;
}

void clear_faults() {
  Shim& s = state();
  const std::lock_guard lock(s.mutex);
  s.faults.clear();
  s.has_faults = false;
}

std::int64_t calls(DriverFunction function) {
  return state().counts[static_cast<std::size_t>(function)].load();
}

std::int64_t calls() {
  std::int64_t sum = 0;
  for (const auto& count : state().counts) sum += count.load();
  return sum;
}

void reset_counts() {
  for (auto& count : state().counts) count = 0;
}

LiveHandles live() {
  Shim& s = state();
  const std::lock_guard lock(s.mutex);
  LiveHandles live{.contexts = s.contexts.size()};
  for (const auto& [key, handle] : s.handles) count(live, handle);
  return live;
}

}  // namespace shim

}  // namespace quarry::backend::cuda
