// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/graphs.hpp"

#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"
#include "base/forked.hpp"

namespace quarry::backend::cuda {
namespace {

CUgraph native_graph(Graph graph) { return static_cast<CUgraph>(graph); }
CUgraphExec native_exec(GraphExec exec) { return static_cast<CUgraphExec>(exec); }

}  // namespace

// The stream is of the capture alone, so that no call of other threads can disturb it: the relaxed
// mode lets them, and this thread, allocate memory and load kernels.
void CudaGraphs::begin_capture(Stream stream) {
  const auto current = context_->bind();
  check(driver().StreamBeginCapture(native(stream), CU_STREAM_CAPTURE_MODE_RELAXED));
}

Graph CudaGraphs::end_capture(Stream stream) {
  const auto current = context_->bind();
  CUgraph graph = nullptr;
  const CUresult result = driver().StreamEndCapture(native(stream), &graph);
  if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) return nullptr;
  check(result);
  return graph;
}

void CudaGraphs::destroy(Graph graph) noexcept {
  if (!graph || is_forked()) return;
  if (const auto current = context_->try_bind()) note(driver().GraphDestroy(native_graph(graph)));
}

std::size_t CudaGraphs::size(Graph graph) {
  const auto current = context_->bind();
  std::size_t count = 0;
  check(driver().GraphGetNodes(native_graph(graph), nullptr, &count));
  return count;
}

GraphExec CudaGraphs::instantiate(Graph graph) {
  const auto current = context_->bind();
  CUgraphExec exec = nullptr;
  check(driver().GraphInstantiateWithFlags(&exec, native_graph(graph), 0));
  ledger_->add(Owned::graph, exec, 0);
  return exec;
}

bool CudaGraphs::update(GraphExec exec, Graph graph) {
  const auto current = context_->bind();
  CUgraphExecUpdateResultInfo info = {};
  const CUresult result = driver().GraphExecUpdate(native_exec(exec), native_graph(graph), &info);
  if (result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) return false;
  check(result);
  return true;
}

void CudaGraphs::launch(GraphExec exec, Stream stream) {
  const auto current = context_->bind();
  check_launch(driver().GraphLaunch(native_exec(exec), native(stream)));
}

void CudaGraphs::destroy_exec(GraphExec exec) noexcept {
  if (!exec || is_forked()) return;
  ledger_->remove(Owned::graph, exec);
  if (const auto current = context_->try_bind()) note(driver().GraphExecDestroy(native_exec(exec)));
}

}  // namespace quarry::backend::cuda
