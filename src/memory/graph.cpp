// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/memory/graph.hpp>
#include <quarry/runtime/event.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backend/graphs.hpp"
#include "base/forked.hpp"
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
  explicit Executable(backend::Graphs& of) : graphs(&of) {}
  ~Executable() { graphs->destroy_exec(native); }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  backend::Graphs* graphs;
  backend::GraphExec native = nullptr;
};

/// What a queued launch needs.
struct Launched {
  std::shared_ptr<Executable> executable;
  std::shared_ptr<detail::GraphMemoryState> memory;
};

std::shared_ptr<Executable> instantiated(backend::Graphs& graphs, const CapturedWork& work) {
  std::shared_ptr<Executable> made(new Executable(graphs), detail::DeleteOutsideCallbacks());
  made->native = graphs.instantiate(work.native());
  return made;
}

/// Work in `later` from now on comes after the present work of `first`, and has its errors.
void order(const Stream& first, const Stream& later) {
  Event({.timing = false, .device = first.device()}).record(first).wait(later);
}

/// The same of streams that may be those of other threads.
void order_all(const std::vector<Stream>& first, const Stream& later) {
  backend::Device& device = *later.state().device;
  for (const Stream& stream : first) {
    const detail::ScopedEvent end(device);
    end.record(stream.state().native_for_marks());
    device.wait(later.state().native, end.native());
  }
}

/// In a callback, and in a process that was forked, nothing is launched and nothing is locked.
void require_usable() {
  require_not_forked();
  require<LogicError>(!detail::is_in_callback(),
                      "a graph cannot be used in a function that a stream calls on the host");
}

/// What is captured in one go.
struct NewCapture {
  std::unique_ptr<CapturedWork> work;
  std::shared_ptr<detail::GraphMemoryState> memory;
  Stream stream;
};

NewCapture captured(backend::Device& device, const detail::Callable<void()>& work) {
  const Stream stream = detail::created_stream(device, backend::StreamOrder::behind_events);
  stream.state().is_of_capture = true;
  const auto memory = std::make_shared<detail::GraphMemoryState>(stream);
  memory->left = std::make_shared<detail::LeftByGraph>();
  Capture capture(device.graphs(), stream.state().native);
  {
    const DeviceGuard on{Device(device)};
    const StreamGuard in(stream);
    work();
  }
  auto made = std::make_unique<CapturedWork>(device.graphs(), capture.end());
  memory->end();
  require<LogicError>(made->native() != nullptr,
                      "capture: a call that cannot be captured into a graph has ended the capture, "
                      "and its error was caught");
  return {std::move(made), memory, stream};
}

}  // namespace

struct Graph::State {
  State(const Device& on, detail::Callable<void()> function)
      : device(&on.backend()), work(std::move(function)) {}

  void capture_again();
  void rethrow_found() const;
  void replace(const NewCapture& made);
  void launch(const Stream& in);

  backend::Device* device;
  const detail::Callable<void()> work;
  std::atomic<std::size_t> size = 0;
  std::mutex mutex;              ///< of what follows
  std::optional<Stream> stream;  ///< of the latest capture
  bool is_first = true;          ///< no launch since then
  std::vector<Stream> homes;     ///< streams of captures in which arrays outside were made
  std::shared_ptr<Executable> executable;
  std::shared_ptr<detail::LeftByGraph> left;  ///< by its launches
  /// Stands for the graph: what the streams that launch it are for memory, they are for the graph.
  std::shared_ptr<Buffer> launched;
};

/// The function runs without the lock: it may use the graph.
void Graph::State::capture_again() {
  require_usable();
  {
    const std::lock_guard lock(mutex);
    rethrow_found();
  }
  const NewCapture made = captured(*device, work);
  const std::lock_guard lock(mutex);
  replace(made);
}

void Graph::State::rethrow_found() const {
  if (left) left->rethrow();
}

void Graph::State::replace(const NewCapture& made) {
  backend::Graphs& graphs = device->graphs();
  const auto next = std::make_shared<Launched>(Launched{executable, made.memory});
  auto stands_for = std::make_shared<Buffer>(nullptr, 1, default_stream(Device(*device)), next,
                                             MemorySpace::host);
  std::vector<Stream> ordered = made.memory->homes_of_captures();
  const std::size_t nodes = graphs.size(made.work->native());
  const bool is_same = executable && graphs.update(executable->native, made.work->native());
  if (!is_same) {
    next->executable = instantiated(graphs, *made.work);
    if (launched) {  // the driver does not know that both are one graph
      std::vector<Stream> before = launched->other_streams();
      before.push_back(launched->stream());
      order_all(before, made.stream);
    }
  }
  executable = next->executable;
  left = made.memory->left;
  launched = std::move(stands_for);
  size = nodes;
  stream = made.stream;
  is_first = true;
  homes.swap(ordered);
  if (!homes.empty()) device->note_unordered_stream();  // the program may use them
}

void Graph::State::launch(const Stream& in) {
  rethrow_found();
  if (std::exchange(is_first, false)) order_all({*stream}, in);
  for (const Stream& home : homes) order(home, in);
  launched->used_on(in);
  if (left->has_checks()) detail::leave(in, left);
  device->graphs().launch(executable->native, in.state().native);
  for (const Stream& home : homes) order(in, home);
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
  require_usable();
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

void Graph::update() const { state().capture_again(); }

Graph Graph::clone() const {
  const DeviceGuard on(device());
  return capture(state().work);
}

Device Graph::device() const { return Device(*state().device); }

std::size_t Graph::size() const { return state().size; }

Graph capture(detail::Callable<void()> work) {
  require<LogicError>(static_cast<bool>(work), "capture: an empty function");
  const auto state = std::make_shared<Graph::State>(Device(), std::move(work));
  state->capture_again();
  return Graph(state);
}

}  // namespace quarry
