// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/memory/graph.hpp>

#include <mutex>
#include <optional>
#include <utility>

#include "backend/graphs.hpp"
#include "memory/graph_memory.hpp"
#include "runtime/callback.hpp"
#include "runtime/stream_lifetime.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry {
namespace {

/// Captured work, before it is instantiated.
class CapturedWork {
 public:
  CapturedWork(backend::Graphs& graphs, backend::Graph graph) : graphs_(&graphs), graph_(graph) {}
  ~CapturedWork() { graphs_->destroy(graph_); }
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;
  backend::Graph native() const { return graph_; }

 private:
  backend::Graphs* graphs_;
  backend::Graph graph_;
};

/// The capture of a stream, which is ended in any case.
class Capture {
 public:
  Capture(backend::Graphs& graphs, backend::Stream stream) : graphs_(&graphs), stream_(stream) {
    graphs.begin_capture(stream);
  }
  ~Capture() {
    if (!has_ended_) drop();
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  backend::Graph end() {
    has_ended_ = true;
    return graphs_->end_capture(stream_);
  }

 private:
  void drop() noexcept {
    try {
      graphs_->destroy(end());
    } catch (const std::exception&) {  // of the driver: the first error is the one to be thrown
    }
  }

  backend::Graphs* graphs_;
  backend::Stream stream_;
  bool has_ended_ = false;
};

/// An instantiated graph; destroyed with its last launch that is queued.
struct Executable {
  backend::Graphs* graphs;
  backend::GraphExec native;
  Executable(backend::Graphs& of, backend::GraphExec exec) : graphs(&of), native(exec) {}
  ~Executable() { graphs->destroy_exec(native); }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
};

/// What a queued launch needs.
struct Launched {
  std::shared_ptr<Executable> executable;
  std::shared_ptr<detail::GraphMemoryState> memory;
};

std::shared_ptr<Executable> instantiated(backend::Graphs& graphs, const CapturedWork& work) {
  const backend::GraphExec native = graphs.instantiate(work.native());
  try {
    return {new Executable(graphs, native), detail::DeleteOutsideCallbacks()};
  } catch (const std::bad_alloc&) {
    graphs.destroy_exec(native);
    throw;
  }
}

/// Work in `later` from now on comes after the present work of `first`.
void order(const Stream& first, const Stream& later) {
  backend::Device& device = *first.state().device;
  const detail::ScopedEvent end(device);
  end.record(first.state().native);
  device.wait(later.state().native, end.native());
}

}  // namespace

struct Graph::State {
  State(const Device& on, std::function<void()> function)
      : device(&on.backend()), work(std::move(function)) {}

  void capture_again();
  void launch(const Stream& in);

  backend::Device* device;
  std::function<void()> work;
  std::mutex mutex;  ///< of what follows
  std::size_t size = 0;
  std::optional<Stream> home;  ///< of arrays that the work has made
  bool has_arrays = false;     ///< whether there are any outside
  std::shared_ptr<Executable> executable;
  /// Stands for the graph: what the streams that launch it are for memory, they are for the graph.
  std::shared_ptr<Buffer> launched;
};

void Graph::State::capture_again() {
  backend::Graphs& graphs = device->graphs();
  const Stream captured = detail::created_stream(*device, backend::StreamOrder::behind_events);
  const auto memory = std::make_shared<detail::GraphMemoryState>(captured);
  Capture capture(graphs, captured.state().native);
  {
    const DeviceGuard on{Device(*device)};
    const StreamGuard in(captured);
    work();
  }
  const CapturedWork made(graphs, capture.end());
  memory->end();
  require<LogicError>(made.native() != nullptr,
                      "capture: a call that cannot be captured into a graph has ended the capture, "
                      "and its error was caught");
  const auto next = std::make_shared<Launched>(executable, memory);
  auto stands_for = std::make_shared<Buffer>(nullptr, 1, default_stream(Device(*device)), next,
                                             MemorySpace::host);
  const std::size_t nodes = graphs.size(made.native());
  const bool is_same = executable && graphs.update(executable->native, made.native());
  if (!is_same) next->executable = instantiated(graphs, made);
  executable = next->executable;
  launched = std::move(stands_for);
  size = nodes;
  home = captured;
  has_arrays = memory->has_arrays_of(captured);
  if (has_arrays) device->note_unordered_stream();  // the program may use it
}

void Graph::State::launch(const Stream& in) {
  if (has_arrays) order(*home, in);
  launched->used_on(in);
  device->graphs().launch(executable->native, in.state().native);
  if (has_arrays) order(in, *home);
}

Graph::State& Graph::state() const {
  require<LogicError>(state_ != nullptr, "the graph was moved from");
  return *state_;
}

void Graph::launch(const Stream& stream) const {
  State& graph = state();
  require<LogicError>(stream.state().device == graph.device, [&] {
    return "a graph of " + to_string(device()) + " is launched in a stream of " +
           to_string(stream.device());
  });
  if (stream.state().is_captured()) {  // the driver launches no graph there
    const StreamGuard in(stream);
    return graph.work();
  }
  const std::lock_guard lock(graph.mutex);
  graph.launch(stream);
}

void Graph::launch() const {
  const Stream* const guarded = detail::guarded_stream(device());
  launch(guarded ? *guarded : default_stream(device()));
}

void Graph::update() const {
  State& graph = state();
  const std::lock_guard lock(graph.mutex);
  graph.capture_again();
}

Graph Graph::clone() const {
  const DeviceGuard on(device());
  return capture(state().work);
}

Device Graph::device() const { return Device(*state().device); }

std::size_t Graph::size() const {
  State& graph = state();
  const std::lock_guard lock(graph.mutex);
  return graph.size;
}

Graph capture(std::function<void()> work) {
  require<LogicError>(static_cast<bool>(work), "capture: an empty function");
  const auto state = std::make_shared<Graph::State>(Device(), std::move(work));
  state->capture_again();
  return Graph(state);
}

}  // namespace quarry
