// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/streams/capture.hpp"

#include <algorithm>
#include <memory>
#include <typeinfo>

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

// Graphs, with the state's lock.

template <class Handle>
Handle keep(std::vector<std::function<CUresult()>> work) {
  auto graph = std::make_unique<Graph>(Graph{current_device(), std::move(work)});
  const auto handle = reinterpret_cast<Handle>(graph.get());
  state().graphs.emplace(handle, std::move(graph));
  return handle;
}

Graph* find(const void* handle) {
  const auto found = state().graphs.find(handle);
  return found == state().graphs.end() ? nullptr : found->second.get();
}

CUresult drop(const void* handle) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  return state().graphs.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Whether it is a kernel, a copy or a fill.
const std::type_info& kind_of_node(const std::function<CUresult()>& work) {
  return work.target_type();
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
  queue->unfinished.add(nullptr);
  queue->capture = std::make_shared<Capture>(Capture{mode, std::this_thread::get_id(), true, {}});
  return CUDA_SUCCESS;
}

CUresult end_capture(CUstream stream, CUgraph* graph) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const auto queue = find_stream(stream);
  if (!queue) return CUDA_ERROR_INVALID_HANDLE;
  const auto capture = std::exchange(queue->capture, nullptr);
  queue->unfinished.add(nullptr);
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  --state().captures;
  *graph = nullptr;
  if (!capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = keep<CUgraph>(std::move(capture->work));
  return CUDA_SUCCESS;
}

CUresult graph_nodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const Graph* const found = find(graph);
  if (!found || !count || nodes) return CUDA_ERROR_INVALID_VALUE;  // the nodes are not needed
  *count = found->work.size();
  return CUDA_SUCCESS;
}

CUresult graph_instantiate(CUgraphExec* made, CUgraph graph, unsigned long long) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  const Graph* const found = find(graph);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *made = keep<CUgraphExec>(found->work);
  return CUDA_SUCCESS;
}

CUresult graph_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  if (const CUresult result = enter()) return result;
  const Guard lock(state().mutex);
  Graph* const to = find(exec);
  const Graph* const from = find(graph);
  if (!to || !from || !info) return CUDA_ERROR_INVALID_VALUE;
  const bool is_same = std::ranges::equal(to->work, from->work, {}, kind_of_node, kind_of_node);
  info->result =
      is_same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (!is_same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  to->work = from->work;
  return CUDA_SUCCESS;
}

CUresult graph_launch(CUgraphExec graph, CUstream stream) {
  if (const CUresult result = enter()) return result;
  Operation operation;
  {
    const Guard lock(state().mutex);
    Graph* const found = find(graph);
    const auto queue = find_stream(stream);
    if (!found || !queue) return found ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    operation.work = [works = found->work] {
      for (const auto& work : works) {
        if (const CUresult result = work()) return result;
      }
      return CUDA_SUCCESS;
    };
    if (const CUresult result = refuse_captured(*queue)) return result;
    operation.wait_for = std::exchange(found->last, std::make_shared<Mark>());
    operation.mark = found->last;  // behind earlier launches in any stream
  }
  return enqueue(stream, std::move(operation));
}

CUresult graph_destroy(CUgraph graph) { return drop(graph); }
CUresult graph_exec_destroy(CUgraphExec graph) { return drop(graph); }

}  // namespace entry
}  // namespace quarry::fake
