// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "fake_driver/streams/scheduler.hpp"

/// The capture of streams into graphs, of kernels, copies and fills in one stream. A capture that
/// a call has broken stays invalid, as the real driver's does.
namespace quarry::fake {

struct Capture {
  CUstreamCaptureMode mode;
  std::thread::id thread;  ///< that began it
  bool is_valid = true;
  std::vector<std::function<CUresult()>> work;
};

/// What CUgraph and CUgraphExec point to.
struct Graph {
  int device;
  std::vector<std::function<CUresult()>> work;
  std::shared_ptr<Mark> last = nullptr;  ///< of the latest launch
};

// All of these need the state's lock.

/// What a call gets that queries or waits for the queue: not permitted while it is captured. A
/// legacy stream includes the blocking streams of its device.
CUresult refuse_captured(const Queue& queue);
/// The same for the whole device.
CUresult refuse_captured(int device);
/// What a call gets that the driver regards as unsafe while this thread, or any in global mode,
/// captures a stream.
CUresult refuse_unsafe();
/// enter() and refuse_unsafe(). Takes the lock itself.
CUresult enter_unsafe();

}  // namespace quarry::fake
