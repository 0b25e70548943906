// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <string>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"
#include "fake_driver/streams/capture.hpp"

namespace quarry::fake::entry {
namespace {

/// Whether the format, which ends in %n, reads the whole text.
template <class... T>
bool is_read(const std::string& text, const char* format, T*... to) {
  int length = 0;
  const int count = std::sscanf(text.c_str(), format, to..., &length);
  return count == static_cast<int>(sizeof...(T)) && static_cast<std::size_t>(length) == text.size();
}

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

CUresult total_memory(std::size_t* bytes, CUdevice device) {
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  *bytes = state().machine.devices[static_cast<std::size_t>(device)].memory;
  return CUDA_SUCCESS;
}

CUresult pci_bus_id(char* text, int size, CUdevice device) {
  const Guard lock(state().mutex);
  if (const CUresult result = entered_device(device)) return result;
  if (size < 13) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", first_bus + device);
  return CUDA_SUCCESS;
}

CUresult device_at(CUdevice* device, const char* text) {
  const Guard lock(state().mutex);
  if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  const std::string end = text ? text : "";
  const bool is_address = is_read(end, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function) ||
                          is_read(end, "%x:%x:%x%n", &domain, &bus, &slot) ||
                          (domain = 0, is_read(end, "%x:%x.%x%n", &bus, &slot, &function));
  if (!is_address) return CUDA_ERROR_INVALID_VALUE;
  const auto wanted = static_cast<int>(bus) - first_bus;
  const bool is_there =
      domain == 0 && slot == 0 && function == 0 && entered_device(wanted) == CUDA_SUCCESS;
  if (!is_there) return CUDA_ERROR_INVALID_DEVICE;
  *device = wanted;
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
  if (found->second->capture) {
    add_fault("cuStreamDestroy of a stream whose work is being captured");
    --state().captures;
  }
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
