// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <atomic>
#include <exception>
#include <mutex>

#include "backend/backend.hpp"

namespace quarry::detail {

enum class StreamKind : char { fixed, created, external };

struct StreamState {
  StreamState(backend::Device& on, backend::Stream handle, StreamKind made_by, int urgency = 0)
      : device(&on), native(handle), kind(made_by), priority(urgency) {}
  ~StreamState();
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  backend::Device* device;
  backend::Stream native;
  StreamKind kind;
  int priority;
  /// Blocks that the memory layer keeps for this stream (see memory/pool.cpp), released through
  /// `release`.
  std::atomic<void*> blocks = nullptr;
  void (*release)(StreamState& state) noexcept = nullptr;

  void keep(std::exception_ptr error);  ///< from a callback; the first one is kept
  void rethrow();                       ///< throws it once

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace quarry::detail
