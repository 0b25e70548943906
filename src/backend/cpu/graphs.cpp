// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/graphs.hpp"

#include "base/forked.hpp"

namespace quarry::backend::cpu_backend {
namespace {

using Tasks = std::vector<std::unique_ptr<Task>>;

/// What Graph and GraphExec point to.
struct Work {
  std::shared_ptr<const Tasks> tasks;    ///< launches that are queued have a share in them
  std::shared_ptr<Mark> last = nullptr;  ///< of the latest launch
};

Work& work_of(void* handle) { return *static_cast<Work*>(handle); }

/// One launch: behind the one before it, whatever the streams.
struct Launch {
  std::shared_ptr<const Tasks> tasks;
  std::shared_ptr<Mark> before, mark;

  void run(const std::exception_ptr& failed) const {
    struct Completion {
      Mark& of;
      ~Completion() { of.complete(); }
    };
    const Completion at_the_end{*mark};
    if (before) before->wait();
    if (failed) return;
    for (const std::unique_ptr<Task>& task : *tasks) task->run(nullptr);
  }
};

}  // namespace

void CpuGraphs::begin_capture(Stream stream) {
  require_usable();
  Streams::queue(stream)->begin_recording();
}

Graph CpuGraphs::end_capture(Stream stream) {
  auto recorded = Streams::queue(stream)->end_recording();
  if (!recorded) return nullptr;
  return new Work{std::make_shared<Tasks>(std::move(*recorded))};
}

void CpuGraphs::destroy(Graph graph) noexcept {
  if (!is_forked()) delete static_cast<Work*>(graph);
}

std::size_t CpuGraphs::size(Graph graph) { return work_of(graph).tasks->size(); }

GraphExec CpuGraphs::instantiate(Graph graph) {
  auto exec = std::make_unique<Work>(Work{work_of(graph).tasks});
  ledger_->add(Owned::graph, exec.get(), 0);
  return exec.release();
}

bool CpuGraphs::update(GraphExec exec, Graph graph) {
  work_of(exec).tasks = work_of(graph).tasks;
  return true;
}

void CpuGraphs::launch(GraphExec exec, Stream stream) {
  require_usable();
  Work& work = work_of(exec);
  const Launch launch{work.tasks, work.last, std::make_shared<Mark>()};
  if (Streams::queue(stream)) {
    streams_->run_always(stream, [launch](const std::exception_ptr& e) { launch.run(e); });
  } else {
    streams_->run(stream, [&] { launch.run(nullptr); });
  }
  work.last = launch.mark;
}

void CpuGraphs::destroy_exec(GraphExec exec) noexcept {
  if (!exec || is_forked()) return;
  ledger_->remove(Owned::graph, exec);
  delete static_cast<Work*>(exec);
}

}  // namespace quarry::backend::cpu_backend
