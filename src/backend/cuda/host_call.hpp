// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include "backend/backend.hpp"

/// Functions that streams call on the host. Once a context has failed the driver calls none of them
/// any more: those that are pending then end here, with the error.
namespace quarry::backend::cuda {

class CudaDevice;

struct HostCall {
  CudaDevice* device;
  HostFunction f;
  void* state;
  HostFailure instead;
};

/// Keeps a call until it has run or failed. While calls are pending for long a thread looks whether
/// their devices are well, since somebody may wait who does not call the driver.
class PendingHostCall {
 public:
  explicit PendingHostCall(const HostCall& call);

  /// What the driver is given: run(key()).
  void* key() const { return reinterpret_cast<void*>(number_); }
  static void CUDA_CB run(void* key);
  /// Forgets the call, which the driver has refused; false when it has ended with an error.
  bool withdraw() noexcept;

 private:
  std::uintptr_t number_;
};

/// Ends what is pending on devices that are lost. Runs no code of the program.
void fail_host_calls_of_lost_devices() noexcept;

}  // namespace quarry::backend::cuda
