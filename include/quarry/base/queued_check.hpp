// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstdint>

namespace quarry {

class Stream;

namespace detail {

/// A check that is queued on a device. What it has found is known there before it is known to the
/// host: a kernel behind it in its stream can be launched at once, and writes nothing if it finds
/// that it must not. All functions can be called from any thread.
class QueuedCheck {
 public:
  QueuedCheck() = default;
  QueuedCheck(const QueuedCheck&) = delete;
  QueuedCheck& operator=(const QueuedCheck&) = delete;
  virtual ~QueuedCheck() = default;

  /// Queues the check in this stream, unless it is. The address, in memory of the device, of a
  /// 64-bit word that is 0 for what follows in the stream if nothing was found. nullptr if the
  /// check was made elsewhere, by another kernel or in another stream, and nothing was found; else
  /// it throws as require(). nullptr, too, if the stream is captured.
  virtual const void* word(const Stream& stream) const = 0;
  /// For a kernel of this stream that checks `count` elements, of which this is the first one,
  /// itself: where it leaves, for the host, 0 if it finds nothing. nullptr if the check is queued
  /// already, or is of other elements. With `word` the kernel leaves the same at the address that
  /// is set there, in memory of the device: that is word() from launched() on.
  virtual void* place(const Stream& stream, const void* first, std::int64_t count,
                      void** word = nullptr) const = 0;
  /// The kernel that leaves a word has been launched.
  virtual void launched() const = 0;
  /// Queues the check, unless it is; waits for it, and throws what it has found, every time it is
  /// called. While a graph is captured: leaves the check to the launches of the graph.
  virtual void require() const = 0;
};

}  // namespace detail
}  // namespace quarry
