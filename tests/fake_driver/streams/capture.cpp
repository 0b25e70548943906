// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/streams/capture.hpp"

#include <memory>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult break_capture(Capture& capture, CUresult result) {
  capture.is_valid = false;
  return result;
}

/// As cuThreadExchangeStreamCaptureMode is documented.
bool forbids_unsafe_calls(const Capture& capture) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/// Calls `f(capture, queue)` for every stream that is being captured.
template <class F>
void for_each_capture(const F& f) {
  if (state().captures == 0) return;
  for (const auto& [handle, queue] : state().streams) {
    if (queue->capture) f(*queue->capture, *queue);
  }
}

}  // namespace

CUresult refuse_captured(const Queue& queue) {
  if (queue.capture) {
    return break_capture(*queue.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  CUresult result = CUDA_SUCCESS;
  if (queue.kind != StreamKind::legacy) return result;
  for_each_capture([&](Capture& capture, const Queue& other) {
    if (other.device != queue.device || other.kind != StreamKind::blocking) return;
    result = break_capture(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  });
  return result;
}

CUresult refuse_captured(int device) {
  CUresult result = CUDA_SUCCESS;
  for_each_capture([&](Capture& capture, const Queue& queue) {
    if (queue.device != device) return;
    result = break_capture(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
  return result;
}

CUresult refuse_unsafe() {
  CUresult result = CUDA_SUCCESS;
  for_each_capture([&](Capture& capture, const Queue&) {
    if (!forbids_unsafe_calls(capture)) return;
    result = break_capture(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
  return result;
}

CUresult enter_unsafe() {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  return refuse_unsafe();
}

namespace entry {

CUresult exchange_capture_mode(CUstreamCaptureMode* mode) {
  if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(thread_mode, *mode);
  return CUDA_SUCCESS;
}

CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const auto queue = find_stream(stream);
  if (!queue) return CUDA_ERROR_INVALID_HANDLE;
  if (queue->kind == StreamKind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (queue->capture) return CUDA_ERROR_ILLEGAL_STATE;
  ++state().captures;
  queue->capture = std::make_shared<Capture>(Capture{mode, std::this_thread::get_id(), true, {}});
  return CUDA_SUCCESS;
}

CUresult end_capture(CUstream stream, CUgraph* graph) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const auto queue = find_stream(stream);
  if (!queue) return CUDA_ERROR_INVALID_HANDLE;
  const auto capture = std::exchange(queue->capture, nullptr);
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  --state().captures;
  *graph = nullptr;
  if (!capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = reinterpret_cast<CUgraph>(new Graph{std::move(capture->work)});
  return CUDA_SUCCESS;
}

CUresult graph_instantiate(CUgraphExec* made, CUgraph graph, unsigned long long) {
  if (const CUresult result = enter()) return result;
  *made = reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<const Graph*>(graph)));
  return CUDA_SUCCESS;
}

CUresult graph_launch(CUgraphExec graph, CUstream stream) {
  if (const CUresult result = enter()) return result;
  Operation operation;
  operation.work = [works = reinterpret_cast<const Graph*>(graph)->work] {
    for (const auto& work : works) {
      if (const CUresult result = work()) return result;
    }
    return CUDA_SUCCESS;
  };
  return enqueue(stream, std::move(operation));
}

CUresult graph_destroy(CUgraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}

CUresult graph_exec_destroy(CUgraphExec graph) {
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace quarry::fake
