// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

namespace quarry::expr {

/// A number that a kernel leaves for the host, not less than 0: memory/host/polled_line.hpp.
class HostWord {
 public:
  /// Throws LogicError for a stream whose work is captured into a graph.
  explicit HostWord(const Stream& stream);
  HostWord(const HostWord&) = delete;
  HostWord& operator=(const HostWord&) = delete;
  ~HostWord();  ///< waits for the stream if the number is not there

  /// Where the last kernel queued in the stream writes it, with no axes.
  const DeviceNDArray<std::int64_t>& array() const { return array_; }
  /// Waits for the number. What is queued behind it goes on, and the errors of that are thrown by
  /// later calls.
  std::int64_t wait() const;

 private:
  DeviceNDArray<std::int64_t> array_;
};

/// A number that launches of a graph leave for the host, in page-locked memory: 0 until one does.
class GraphWord {
 public:
  explicit GraphWord(const Stream& captured);
  GraphWord(const GraphWord&) = delete;
  GraphWord& operator=(const GraphWord&) = delete;

  /// Where a kernel that is captured in the stream writes it, with no axes.
  const DeviceNDArray<std::int64_t>& array() const { return array_; }
  std::int64_t take() const;  ///< and leaves 0. Does not wait

 private:
  DeviceNDArray<std::int64_t> array_;
};

}  // namespace quarry::expr
