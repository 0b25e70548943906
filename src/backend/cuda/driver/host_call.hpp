// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include "backend/backend.hpp"

/// Host functions of streams. After a context has failed the driver calls none of them any more:
/// pending ones then end here, with the error.
namespace quarry::backend::cuda {

class Context;

struct HostCall {
  Context* context;  ///< of the device
  HostFunction f;
  void* state;
  HostFailure instead;
};

/// Keeps a call until it has run or failed. If calls are pending for long, a thread checks their
/// devices for errors, since a program may wait for them without calling the driver.
class PendingHostCall {
 public:
  explicit PendingHostCall(const HostCall& call);

  /// The argument passed to the driver: run(key()).
  void* key() const { return reinterpret_cast<void*>(number_); }
  static void CUDA_CB run(void* key);
  /// Removes a call that the driver has refused; false if it has ended with an error.
  bool withdraw() noexcept;

 private:
  std::uintptr_t number_;
};

/// Ends the calls pending on lost devices. Runs no code of the program.
void fail_host_calls_of_lost_devices() noexcept;

}  // namespace quarry::backend::cuda
