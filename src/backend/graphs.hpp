// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"

namespace quarry::backend {

using Graph = void*;      ///< captured work
using GraphExec = void*;  ///< an instantiated graph, which can be launched

/// Graphs of captured work, on GPUs and on the CPU. Graphs and instantiated graphs are destroyed by
/// whoever got them; calls for the same one are not made at once from several threads.
class Graphs {
 public:
  virtual ~Graphs() = default;

  /// From now on work that is queued in `stream`, made for this purpose alone, is recorded and does
  /// not run. Waiting for the stream or asking for its state throws and ends the capture.
  virtual void begin_capture(Stream stream) = 0;
  /// Ends it. nullptr where a call has invalidated the capture.
  virtual Graph end_capture(Stream stream) = 0;
  virtual void destroy(Graph graph) noexcept = 0;
  virtual std::size_t size(Graph graph) = 0;  ///< nodes: kernels, copies, fills

  virtual GraphExec instantiate(Graph graph) = 0;
  /// Later launches do the work of `graph`. False, and nothing has changed, where its structure is
  /// another one.
  virtual bool update(GraphExec exec, Graph graph) = 0;
  /// Queued in `stream`, behind earlier launches of `exec`.
  virtual void launch(GraphExec exec, Stream stream) = 0;
  virtual void destroy_exec(GraphExec exec) noexcept = 0;
};

}  // namespace quarry::backend
