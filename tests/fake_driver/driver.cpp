// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"
#include "fake_driver/streams/capture.hpp"

namespace quarry::fake::entry {
namespace {

CUresult entered_device(CUdevice device) {
  State& s = state();
  if (!s.is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  const bool is_there = device >= 0 && static_cast<std::size_t>(device) < s.contexts.size();
  return is_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

Context& context_of(CUdevice device) { return *state().contexts[static_cast<std::size_t>(device)]; }

}  // namespace

CUresult init(unsigned) {
  const Guard lock(state().mutex);
  const Machine& machine = state().machine;
  if (machine.init != CUDA_SUCCESS) return machine.init;
  if (machine.devices.empty()) return CUDA_ERROR_NO_DEVICE;
  state().is_initialized = true;
  end_with_the_program();
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
  *can = state().machine.has_peers && device != peer;
  return CUDA_SUCCESS;
}

CUresult retain(CUcontext* context, CUdevice device) {
  if (Scheduler::in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  if (state().machine.context != CUDA_SUCCESS) return state().machine.context;
  Context& found = context_of(device);
  static unsigned long long contexts_made = 0;
  if (!found.is_active) {
    found.legacy = state().scheduler.make(device, StreamKind::legacy);
    found.unique = ++contexts_made;
  }
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
  std::erase_if(s.arrays, is_on);
  std::erase_if(s.textures, [&](const auto& entry) { return entry.second.device == device; });
  std::erase_if(s.per_thread, is_on);
  s.pools.forget(device);
  s.imports.forget(device);
  s.memory.forget(device);
  context_of(device).legacy = nullptr;
  context_of(device).is_active = false;
  return CUDA_SUCCESS;
}

CUresult primary_state(CUdevice device, unsigned* flags, int* is_active) {
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  *flags = 0;
  *is_active = context_of(device).is_active;
  return CUDA_SUCCESS;
}

CUresult get_id(CUcontext context, unsigned long long* id) {
  if (!is_live(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  const Guard lock(state().mutex);
  *id = reinterpret_cast<Context*>(context)->unique;
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
  if (const CUresult result = enter_unsafe()) return result;
  {
    const Guard lock(state().mutex);
    if (const CUresult result = refuse_captured(current_device())) return result;
  }
  state().scheduler.finish_device(current_device());
  state().pools.release_surplus(current_device());
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
  state().captures -= found->second->capture != nullptr;
  state().scheduler.destroy(*found->second);
  state().streams.erase(found);
  return CUDA_SUCCESS;
}

namespace {

/// The queue of a stream that may be queried and waited for.
CUresult find_answering(CUstream stream, std::shared_ptr<Queue>& queue) {
  if (const CUresult result = enter_unsafe()) return result;
  const Guard lock(state().mutex);
  queue = find_stream(stream);
  return queue ? refuse_captured(*queue) : CUDA_ERROR_INVALID_HANDLE;
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

}  // namespace

CUresult stream_synchronize(CUstream stream) {
  std::shared_ptr<Queue> queue;
  if (const CUresult result = find_answering(stream, queue)) return result;
  if (queue->kind == StreamKind::legacy) {
    state().scheduler.finish(*mark_legacy(*queue));
  } else {
    state().scheduler.finish(*queue);
  }
  state().pools.release_surplus(queue->device);
  return state().scheduler.sticky(queue->device);
}

CUresult stream_query(CUstream stream) {
  std::shared_ptr<Queue> queue;
  if (const CUresult result = find_answering(stream, queue)) return result;
  const bool is_done = queue->kind == StreamKind::legacy
                           ? state().scheduler.poll_blocking(queue->device)
                           : state().scheduler.poll(*queue);
  if (const CUresult result = state().scheduler.sticky(queue->device)) return result;
  return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
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

}  // namespace quarry::fake::entry
