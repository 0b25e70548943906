// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <exception>
#include <memory>

#include "runtime/callback.hpp"

/// Callbacks of the program that learn that the work before them has failed on a GPU. Whoever sees
/// the failure may hold any lock, so they are called by a thread of their own, in their order.
namespace quarry::detail {

struct FailedCallback : PutOff {
  virtual void call() noexcept = 0;  ///< of the program's function, with `error`
  std::exception_ptr error = nullptr;
};

/// Calls it and puts off its end. Allocates nothing; where no thread can be started the callback
/// waits for that of the next one.
void call_on_own_thread(std::unique_ptr<FailedCallback> callback) noexcept;

}  // namespace quarry::detail
