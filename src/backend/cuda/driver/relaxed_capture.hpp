// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/captures.hpp>

#include "backend/cuda/driver/driver.hpp"

namespace quarry::backend::cuda {

/// For calls that touch no captured stream: while the program captures work into a graph, the
/// driver refuses many of them, and ends the capture, unless the thread is in relaxed mode.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept {
    if (quarry::detail::is_capturing()) [[unlikely]]
      exchange();
  }
  ~RelaxedCapture() {
    if (is_exchanged_) [[unlikely]]
      exchange();
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() noexcept {
    if (!driver().ThreadExchangeStreamCaptureMode) return;
    is_exchanged_ = driver().ThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }

  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool is_exchanged_ = false;
};

}  // namespace quarry::backend::cuda
