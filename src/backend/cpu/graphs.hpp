// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/cpu/stream.hpp"
#include "backend/graphs.hpp"

namespace quarry::backend::cpu_backend {

/// A graph of the CPU is the list of a queue's tasks, which run one after another at every launch.
class CpuGraphs final : public Graphs {
 public:
  CpuGraphs(Streams& streams, Ledger& ledger) : streams_(&streams), ledger_(&ledger) {}

  void begin_capture(Stream stream) override;
  Graph end_capture(Stream stream) override;
  void destroy(Graph graph) noexcept override;
  std::size_t size(Graph graph) override;
  GraphExec instantiate(Graph graph) override;
  bool update(GraphExec exec, Graph graph) override;
  void launch(GraphExec exec, Stream stream) override;
  void destroy_exec(GraphExec exec) noexcept override;

 private:
  Streams* streams_;
  Ledger* ledger_;
};

}  // namespace quarry::backend::cpu_backend
