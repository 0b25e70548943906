// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>

#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace quarry::detail {

/// What GraphMemory points to. Collects from the constructor to end().
struct GraphMemoryState {
  /// Throws LogicError if the stream has one that has not ended.
  explicit GraphMemoryState(const Stream& captured);
  ~GraphMemoryState() { end(); }
  GraphMemoryState(const GraphMemoryState&) = delete;
  GraphMemoryState& operator=(const GraphMemoryState&) = delete;

  void end() noexcept;
  /// The streams of captures in which arrays were made that are still there: nobody but the library
  /// can name them. After end().
  std::vector<Stream> homes_of_captures() const;

  std::optional<Stream> stream;            ///< until the end
  std::set<std::shared_ptr<Buffer>> kept;  ///< destroyed without the lock
};

/// The object that collects for the stream, if any, keeps an empty buffer, which takes over
/// the memory of another one when that ends. Throws std::bad_alloc.
void keep_for_graph(const StreamState& stream, const std::shared_ptr<Buffer>& kept);

/// Of a copy in `stream` between a device and host memory, of which `page_locked` is what the
/// library knows. A graph accesses the memory at every launch: throws LogicError if the stream is
/// captured and the graph cannot keep the memory, which is the program's own.
void require_kept_if_captured(const StreamState& stream,
                              const std::shared_ptr<Buffer>& page_locked);

}  // namespace quarry::detail
