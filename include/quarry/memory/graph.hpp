// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/callable.hpp>
#include <quarry/runtime/stream.hpp>

#include <cstddef>
#include <memory>

namespace quarry {

/// Work that was captured once and is launched as a whole: a CUDA graph, on the CPU device the list
/// of its loops. A launch costs the host one call of the driver, whatever the number of kernels.
/// Copies are handles to the same graph; calls may come from any thread. Every member of a
/// moved-from graph throws LogicError.
///
///     auto step = qy::capture([&] {  // expressions, reductions, fills, kernels of any kind
///       v(in, in) = u(in, in) + dt * qy::sum(w(in, in), 0);
///       u(all) = v;
///     });
///     for (int i = 0; i < 1000; ++i) step();
///
/// The graph has the addresses of the arrays that the work used, and keeps their memory, also of
/// temporaries and of arrays that are dropped, until its last handle is gone and the last launch is
/// done. Values are exchanged by writing into the arrays between launches; a number that changes is
/// best a 0-d array (`dt.fill(0.1f)`). update() captures anew: other arrays, other numbers.
class Graph {
 public:
  ///@{
  /// Queues all of the work, behind earlier launches of this graph, in `stream` or in the current
  /// one, and does not wait. Arrays that were made in the work are ordered behind it in every
  /// stream of theirs. In a stream that is captured itself the function is called again, so that
  /// its work becomes a part of the other graph. Throw LogicError for a stream of another device,
  /// LaunchError if the driver refuses it, IndexError for a position outside that an earlier launch
  /// has found; then nothing is queued.
  void launch(const Stream& stream) const;
  void launch() const;
  void operator()(const Stream& stream) const { launch(stream); }
  void operator()() const { launch(); }
  ///@}

  /// Runs the captured function again, so that later launches use the arrays and numbers that it
  /// refers to now. Launches that are queued are not changed. Fast if only addresses and numbers
  /// differ; else the graph is built anew. If the function throws, nothing has changed.
  void update() const;

  /// Another graph of the same function, captured anew, with temporaries of its own.
  Graph clone() const;

  Device device() const;     ///< whose streams launch it
  std::size_t size() const;  ///< kernels, copies and fills

  struct State;
  /// For the library itself.
  explicit Graph(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  State& state() const;

  std::shared_ptr<State> state_;
};

/// Calls `work` once, on this thread, and captures what it queues on the current device, in a
/// stream of its own, instead of running it. `work` is kept for Graph::update(), and so must be
/// what it refers to. What it queues in a stream that it names (`{.stream = s}`, a StreamGuard) is
/// no part of the graph.
///
/// Copies between arrays and page-locked memory that get the capture's stream (current_stream())
/// are part of the graph, which keeps the memory: each launch reads and writes what is there then.
///
/// Positions are checked in each launch: where one is outside, it counts as the nearest inside, and
/// IndexError is thrown once by the next wait for a stream that has launched the graph (its
/// synchronize(), the device's, a copy to the host), or by a launch or update() of the graph, which
/// then does nothing.
///
/// What the host has to wait for cannot be captured and throws LogicError: copies that wait
/// (`item()`, printing) or are of other memory of the host, selections without a size (`x(mask)`;
/// see ops/padded.hpp), bincount without FixedBins, callbacks, waits; and reads of files, copies of
/// page-locked memory in runs of a few bytes, fills of records whose size is none of a word, and
/// new memory of driver_pool_resource(). Whatever `work` throws ends the capture and is thrown on;
/// the current stream is not touched. Running out of memory throws MemoryError without freeing
/// caches first.
Graph capture(detail::Callable<void()> work);

}  // namespace quarry
