// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"
#include "fake_driver/streams/capture.hpp"

namespace quarry::fake::entry {
namespace {

Event* find_event(CUevent event) {
  const auto found = state().events.find(event);
  return found == state().events.end() ? nullptr : found->second.get();
}

/// The mark of the latest recording, by whichever process; null when there was none.
std::shared_ptr<Mark> latest_of(const Event& event) {
  if (!event.shared) return event.latest;
  const std::uint64_t number = event.shared->recorded();
  if (number == 0) return nullptr;
  if (event.latest && event.latest->number >= number) return event.latest;
  state().scheduler.expect_others();
  auto mark = std::make_shared<Mark>();
  mark->shared = event.shared;
  mark->number = number;
  mark->is_elsewhere = true;
  return mark;
}

/// As latest_of; with `needs_timing` fails without a recording that has a time.
CUresult latest(CUevent event, std::shared_ptr<Mark>* mark, bool needs_timing = false) {
  const Guard lock(state().mutex);
  const Event* const found = find_event(event);
  if (!found || (needs_timing && (!found->has_timing || !found->latest))) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (found->is_captured) return CUDA_ERROR_CAPTURED_EVENT;
  *mark = latest_of(*found);
  return CUDA_SUCCESS;
}

void add_event(CUevent* out, Event event) {
  auto made = std::make_unique<Event>(std::move(event));
  *out = reinterpret_cast<CUevent>(made.get());
  const Guard lock(state().mutex);
  state().events.emplace(*out, std::move(made));
}

}  // namespace

CUresult stream_wait(CUstream stream, CUevent event, unsigned flags) {
  if (const CUresult result = enter()) return result;
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  {
    const Guard lock(state().mutex);
    const Event* const found = find_event(event);
    const auto queue = find_stream(stream);
    if (!found || !queue) return CUDA_ERROR_INVALID_HANDLE;
    if (queue->capture && found->is_captured && found->captured_in.lock() == queue->capture) {
      return CUDA_SUCCESS;
    }
    if (queue->capture) {
      queue->capture->is_valid = false;
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
  }
  Operation operation;
  if (const CUresult result = latest(event, &operation.wait_for)) return result;
  operation.cost_ms = 0;
  return enqueue(stream, std::move(operation));
}

CUresult event_create(CUevent* event, unsigned flags) {
  if (const CUresult result = enter()) return result;
  const bool has_timing = !(flags & CU_EVENT_DISABLE_TIMING);
  const bool is_shared = flags & CU_EVENT_INTERPROCESS;
  if (flags > 7 || (is_shared && has_timing)) return CUDA_ERROR_INVALID_VALUE;
  add_event(event,
            {current_device(), has_timing, nullptr, is_shared ? SharedEvent::create() : nullptr});
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
    Event* const found = find_event(event);
    const auto queue = find_stream(stream);
    if (!found || !queue || found->device != queue->device) return CUDA_ERROR_INVALID_HANDLE;
    found->captured_in = queue->capture;
    found->is_captured = queue->capture != nullptr;
    if (queue->capture) return CUDA_SUCCESS;
    mark->shared = found->shared;
  }
  if (mark->shared) mark->number = mark->shared->record();
  if (const CUresult result = enqueue(stream, std::move(operation))) {
    if (mark->shared) mark->shared->finish(mark->number);
    return result;
  }
  if (mark->shared) state().scheduler.hurry(mark);
  const Guard lock(state().mutex);
  if (Event* const found = find_event(event)) found->latest = mark;
  return CUDA_SUCCESS;
}

CUresult event_query(CUevent event) {
  if (const CUresult result = enter_unsafe()) return result;
  std::shared_ptr<Mark> mark;
  if (const CUresult result = latest(event, &mark)) return result;
  const bool is_done = !mark || state().scheduler.poll(*mark);
  if (const CUresult result = state().scheduler.sticky(current_device())) return result;
  return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult event_synchronize(CUevent event) {
  if (const CUresult result = enter_unsafe()) return result;
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

CUresult ipc_export_event(CUipcEventHandle* handle, CUevent event) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const Event* const found = find_event(event);
  if (!found || !found->shared) return CUDA_ERROR_INVALID_HANDLE;
  *handle = found->shared->handle();
  return CUDA_SUCCESS;
}

CUresult ipc_open_event(CUevent* event, CUipcEventHandle handle) {
  if (const CUresult result = enter()) return result;
  if (SharedEvent::is_own(handle)) return CUDA_ERROR_INVALID_CONTEXT;
  auto shared = SharedEvent::open(handle);
  if (!shared) return CUDA_ERROR_MAP_FAILED;
  add_event(event, {current_device(), false, nullptr, std::move(shared)});
  return CUDA_SUCCESS;
}

}  // namespace quarry::fake::entry
