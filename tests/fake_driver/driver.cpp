// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "backend/cuda/shim.hpp"
#include "entry.hpp"
#include "state.hpp"

namespace quarry::fake {
namespace {

using backend::cuda::DriverTable;

CUresult entered_device(CUdevice device) {
  State& s = state();
  if (!s.is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  const bool is_there = device >= 0 && static_cast<std::size_t>(device) < s.contexts.size();
  return is_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

Context& context_of(CUdevice device) { return *state().contexts[static_cast<std::size_t>(device)]; }

CUresult init(unsigned) {
  const Guard lock(state().mutex);
  const Machine& machine = state().machine;
  if (machine.init != CUDA_SUCCESS) return machine.init;
  if (machine.devices.empty()) return CUDA_ERROR_NO_DEVICE;
  state().is_initialized = true;
  return CUDA_SUCCESS;
}

CUresult driver_version(int* version) {
  const Guard lock(state().mutex);
  *version = state().machine.driver_version;
  return CUDA_SUCCESS;
}

CUresult device_count(int* count) {
  const Guard lock(state().mutex);
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  *count = static_cast<int>(state().contexts.size());
  return CUDA_SUCCESS;
}

CUresult device_get(CUdevice* device, int ordinal) {
  const Guard lock(state().mutex);
  const CUresult result = entered_device(ordinal);
  if (result == CUDA_SUCCESS) *device = ordinal;
  return result;
}

CUresult device_name(char* name, int size, CUdevice device) {
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  if (size <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::string& text = state().machine.devices[static_cast<std::size_t>(device)].name;
  std::snprintf(name, static_cast<std::size_t>(size), "%s", text.c_str());
  return CUDA_SUCCESS;
}

CUresult device_uuid(CUuuid* uuid, CUdevice device) {
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0x10 + i);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult can_access_peer(int* can, CUdevice device, CUdevice peer) {
  const Guard lock(state().mutex);
  for (const CUdevice each : {device, peer}) {
    if (const CUresult result = entered_device(each)) return result;
  }
  *can = device != peer;
  return CUDA_SUCCESS;
}

CUresult retain(CUcontext* context, CUdevice device) {
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  if (state().machine.context != CUDA_SUCCESS) return state().machine.context;
  Context& found = context_of(device);
  if (!found.is_active) found.legacy = state().scheduler.make(device, StreamKind::legacy);
  found.is_active = true;
  *context = reinterpret_cast<CUcontext>(&found);
  return CUDA_SUCCESS;
}

/// Destroys all on the device; its context's handle is valid again after the next retain.
CUresult reset(CUdevice device) {
  State& s = state();
  {
    const Guard lock(s.mutex);
    if (const CUresult result = entered_device(device)) return result;
  }
  s.scheduler.drop(device);
  s.scheduler.clear_sticky(device);
  const Guard lock(s.mutex);
  const auto is_on = [&](const auto& entry) { return entry.second->device == device; };
  std::erase_if(s.streams, is_on);
  std::erase_if(s.events, is_on);
  std::erase_if(s.modules, is_on);
  std::erase_if(s.per_thread, is_on);
  s.memory.forget(device);
  context_of(device).legacy = nullptr;
  context_of(device).is_active = false;
  return CUDA_SUCCESS;
}

CUresult get_current(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(current_context());
  return CUDA_SUCCESS;
}

CUresult set_current(CUcontext context) {
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const Guard lock(state().mutex);
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  auto* const wanted = reinterpret_cast<Context*>(context);
  const auto is_it = [&](const auto& known) { return known.get() == wanted && known->is_active; };
  if (wanted && std::none_of(state().contexts.begin(), state().contexts.end(), is_it)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  current_context() = wanted;
  return CUDA_SUCCESS;
}

CUresult synchronize() {
  if (const CUresult result = enter()) return result;
  state().scheduler.finish_device(current_device());
  return state().scheduler.sticky(current_device());
}

CUresult priority_range(int* least, int* greatest) {
  if (const CUresult result = enter()) return result;
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult stream_create(CUstream* stream, unsigned flags, int) {
  if (const CUresult result = enter()) return result;
  if (flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  const auto kind =
      flags == CU_STREAM_NON_BLOCKING ? StreamKind::non_blocking : StreamKind::blocking;
  const Guard lock(state().mutex);
  auto queue = state().scheduler.make(current_device(), kind);
  *stream = reinterpret_cast<CUstream>(queue.get());
  state().streams.emplace(*stream, std::move(queue));
  return CUDA_SUCCESS;
}

CUresult stream_destroy(CUstream stream) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const auto found = state().streams.find(stream);
  if (found == state().streams.end()) {
    add_fault("cuStreamDestroy of a stream that is not live");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  state().scheduler.destroy(*found->second);
  state().streams.erase(found);
  return CUDA_SUCCESS;
}

std::shared_ptr<Queue> locked_find(CUstream stream) {
  const Guard lock(state().mutex);
  return find_stream(stream);
}

/// The legacy stream is done when all that it would wait for is done: a mark behind it tells.
std::shared_ptr<Mark> mark_legacy(Queue& queue) {
  Operation operation;
  operation.mark = std::make_shared<Mark>();
  operation.cost_ms = 0;
  auto mark = operation.mark;
  state().scheduler.add(queue, std::move(operation));
  return mark;
}

CUresult stream_synchronize(CUstream stream) {
  if (const CUresult result = enter()) return result;
  const auto queue = locked_find(stream);
  if (!queue) return CUDA_ERROR_INVALID_HANDLE;
  if (queue->kind == StreamKind::legacy) {
    state().scheduler.finish(*mark_legacy(*queue));
  } else {
    state().scheduler.finish(*queue);
  }
  return state().scheduler.sticky(queue->device);
}

CUresult stream_query(CUstream stream) {
  if (const CUresult result = enter()) return result;
  const auto queue = locked_find(stream);
  if (!queue) return CUDA_ERROR_INVALID_HANDLE;
  const bool is_done = queue->kind == StreamKind::legacy
                           ? state().scheduler.poll_blocking(queue->device)
                           : state().scheduler.poll(*queue);
  if (const CUresult result = state().scheduler.sticky(queue->device)) return result;
  return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

Event* find_event(CUevent event) {
  const auto found = state().events.find(event);
  return found == state().events.end() ? nullptr : found->second.get();
}

CUresult stream_wait(CUstream stream, CUevent event, unsigned flags) {
  if (const CUresult result = enter()) return result;
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  {
    const Guard lock(state().mutex);
    const Event* const found = find_event(event);
    if (!found) return CUDA_ERROR_INVALID_HANDLE;
    operation.wait_for = found->latest;
  }
  operation.cost_ms = 0;
  return enqueue(stream, std::move(operation));
}

CUresult launch_host(CUstream stream, CUhostFn function, void* with) {
  if (const CUresult result = enter()) return result;
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  {
    const Guard lock(state().mutex);
    ++state().statistics.host_functions;
  }
  Operation operation;
  operation.host_function = function;
  operation.state = with;
  return enqueue(stream, std::move(operation));
}

CUresult event_create(CUevent* event, unsigned flags) {
  if (const CUresult result = enter()) return result;
  const bool has_timing = !(flags & CU_EVENT_DISABLE_TIMING);
  const bool is_shared = flags & CU_EVENT_INTERPROCESS;
  if (flags > 7 || (is_shared && has_timing)) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<Event>(Event{current_device(), has_timing, nullptr});
  *event = reinterpret_cast<CUevent>(made.get());
  const Guard lock(state().mutex);
  state().events.emplace(*event, std::move(made));
  return CUDA_SUCCESS;
}

CUresult event_destroy(CUevent event) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  if (state().events.erase(event) == 1) return CUDA_SUCCESS;
  add_fault("cuEventDestroy of an event that is not live");
  return CUDA_ERROR_INVALID_HANDLE;
}

CUresult event_record(CUevent event, CUstream stream) {
  if (const CUresult result = enter()) return result;
  Operation operation;
  operation.mark = std::make_shared<Mark>();
  const auto mark = operation.mark;
  {
    const Guard lock(state().mutex);
    const Event* const found = find_event(event);
    const auto queue = find_stream(stream);
    if (!found || !queue || found->device != queue->device) return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const CUresult result = enqueue(stream, std::move(operation))) return result;
  const Guard lock(state().mutex);
  if (Event* const found = find_event(event)) found->latest = mark;
  return CUDA_SUCCESS;
}

/// The event's latest mark, null when it was never recorded.
CUresult latest(CUevent event, std::shared_ptr<Mark>* mark, bool needs_timing = false) {
  const Guard lock(state().mutex);
  const Event* const found = find_event(event);
  if (!found || (needs_timing && (!found->has_timing || !found->latest))) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *mark = found->latest;
  return CUDA_SUCCESS;
}

CUresult event_query(CUevent event) {
  if (const CUresult result = enter()) return result;
  std::shared_ptr<Mark> mark;
  if (const CUresult result = latest(event, &mark)) return result;
  const bool is_done = !mark || state().scheduler.poll(*mark);
  if (const CUresult result = state().scheduler.sticky(current_device())) return result;
  return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult event_synchronize(CUevent event) {
  if (const CUresult result = enter()) return result;
  std::shared_ptr<Mark> mark;
  if (const CUresult result = latest(event, &mark)) return result;
  if (mark) state().scheduler.finish(*mark);
  return state().scheduler.sticky(current_device());
}

CUresult elapsed(float* ms, CUevent start, CUevent end) {
  if (const CUresult result = enter()) return result;
  std::shared_ptr<Mark> first, last;
  if (const CUresult result = latest(start, &first, true)) return result;
  if (const CUresult result = latest(end, &last, true)) return result;
  if (!state().scheduler.is_done(*first) || !state().scheduler.is_done(*last)) {
    return CUDA_ERROR_NOT_READY;
  }
  *ms = static_cast<float>(last->time_ms - first->time_ms);
  return CUDA_SUCCESS;
}

/// A function of any signature that the fake driver does not have.
template <class Function>
struct Refuse;
template <class... Arguments>
struct Refuse<CUresult (*)(Arguments...)> {
  static CUresult call(Arguments...) { return CUDA_ERROR_NOT_SUPPORTED; }
};

DriverTable make_table() {
  DriverTable t;
#define QUARRY_DRIVER(name, since, need) t.name = Refuse<decltype(t.name)>::call;
#include "backend/cuda/driver.def"
#undef QUARRY_DRIVER
  t.Init = init, t.DriverGetVersion = driver_version;
  t.GetErrorName = entry::get_error_name, t.GetErrorString = entry::get_error_string;
  t.DeviceGetCount = device_count, t.DeviceGet = device_get, t.DeviceGetName = device_name;
  t.DeviceGetUuid = device_uuid, t.DeviceGetAttribute = entry::get_attribute;
  t.DeviceCanAccessPeer = can_access_peer;
  t.DevicePrimaryCtxRetain = retain, t.DevicePrimaryCtxReset = reset;
  t.CtxGetCurrent = get_current, t.CtxSetCurrent = set_current, t.CtxSynchronize = synchronize;
  t.CtxGetStreamPriorityRange = priority_range;
  t.MemGetInfo = entry::mem_get_info, t.MemAlloc = entry::mem_alloc, t.MemFree = entry::mem_free;
  t.MemHostAlloc = entry::mem_host_alloc, t.MemFreeHost = entry::mem_free_host;
  t.MemcpyHtoD = entry::to_device, t.MemcpyHtoDAsync = entry::to_device_async;
  t.MemcpyDtoH = entry::to_host, t.MemcpyDtoHAsync = entry::to_host_async;
  t.MemcpyDtoD = entry::on_device, t.MemcpyDtoDAsync = entry::on_device_async;
  t.Memcpy2DAsync = entry::copy_2d_async, t.MemsetD2D32Async = entry::set_2d_32_async;
  t.MemsetD8Async = entry::set_8_async, t.MemsetD16Async = entry::set_16_async;
  t.MemsetD32Async = entry::set_32_async;
  t.StreamCreateWithPriority = stream_create, t.StreamDestroy = stream_destroy;
  t.StreamSynchronize = stream_synchronize, t.StreamQuery = stream_query;
  t.StreamWaitEvent = stream_wait, t.LaunchHostFunc = launch_host;
  t.EventCreate = event_create, t.EventDestroy = event_destroy, t.EventRecord = event_record;
  t.EventQuery = event_query, t.EventSynchronize = event_synchronize, t.EventElapsedTime = elapsed;
  t.ModuleLoadDataEx = entry::module_load, t.ModuleUnload = entry::module_unload;
  t.ModuleGetFunction = entry::module_get_function, t.LaunchKernel = entry::launch_kernel;
  return t;
}

}  // namespace

const DriverTable& driver_table() {
  static const DriverTable table = make_table();
  return table;
}

CUresult get_proc_address(const char* symbol, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  const DriverTable& table = driver_table();
  const Guard lock(state().mutex);
  *function = nullptr;
  *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (state().machine.missing.contains(symbol)) return CUDA_ERROR_NOT_FOUND;
  if (version > state().machine.driver_version) {
    *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return CUDA_ERROR_NOT_FOUND;
  }
#define QUARRY_DRIVER(name, since, need) \
  if (std::string_view(symbol) == "cu" #name) *function = reinterpret_cast<void*>(table.name);
#include "backend/cuda/driver.def"
#undef QUARRY_DRIVER
  if (!*function) return CUDA_ERROR_NOT_FOUND;
  *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake
