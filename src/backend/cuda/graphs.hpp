// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/cuda/driver/context.hpp"
#include "backend/graphs.hpp"

namespace quarry::backend::cuda {

class CudaGraphs final : public Graphs {
 public:
  CudaGraphs(Context& context, Ledger& ledger) : context_(&context), ledger_(&ledger) {}

  void begin_capture(Stream stream) override;
  Graph end_capture(Stream stream) override;
  void destroy(Graph graph) noexcept override;
  std::size_t size(Graph graph) override;
  GraphExec instantiate(Graph graph) override;
  bool update(GraphExec exec, Graph graph) override;
  void launch(GraphExec exec, Stream stream) override;
  void destroy_exec(GraphExec exec) noexcept override;

 private:
  Context* context_;
  Ledger* ledger_;
};

}  // namespace quarry::backend::cuda
