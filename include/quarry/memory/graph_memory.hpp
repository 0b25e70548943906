// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <memory>

namespace quarry {

namespace detail {
struct GraphMemoryState;
}

/// The memory of a CUDA graph that the program captures from a stream: keeps every buffer that work
/// in the stream uses between the constructor and end(), also temporaries, workspaces, and arrays
/// that are dropped. Copies are handles to the same memory, which is freed after the last one;
/// keep one until the last launch of the graph is done. (Launched in the captured stream it need
/// only be queued.)
///
///     qy::GraphMemory memory(s);                           // before the capture
///     cuStreamBeginCapture(reinterpret_cast<CUstream>(s.handle()), CU_STREAM_CAPTURE_MODE_...);
///     ...                                                  // expressions, reductions in s
///     cuStreamEndCapture(..., &graph);
///     memory.end();
///
/// Meanwhile the library neither queries nor waits for the stream, and takes no memory that other
/// streams have freed. Throw LogicError in it: copies between host and device, positions that
/// are checked, selections without a size, callbacks, fills with records of other sizes than 1, 2,
/// 4, 8, 16 bytes, memory of the driver's pool. Running out of memory throws MemoryError without
/// freeing caches first.
class GraphMemory {
 public:
  /// Queues nothing. Throws LogicError for a stream of the CPU device and for one that has such an
  /// object which has not ended.
  explicit GraphMemory(const Stream& stream);
  /// No further work is captured. Does nothing the second time.
  void end() noexcept;

 private:
  std::shared_ptr<detail::GraphMemoryState> state_;
};

}  // namespace quarry
