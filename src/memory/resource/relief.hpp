// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/error.hpp>

#include <cstddef>
#include <exception>

#include "backend/backend.hpp"

/// What is done when memory runs out: the same for every kind of allocation.
namespace quarry::memory {

/// The steps for one allocation. Of nested ones, the pool's over its upstream's and those in a
/// callback, only the thread's outermost takes the steps; the others fail at once.
class Relief {
 public:
  Relief(backend::Device& device, std::size_t bytes) noexcept;
  ~Relief();
  Relief(const Relief&) = delete;
  Relief& operator=(const Relief&) = delete;

  /// Does the next of these steps, and returns whether to try again: does the frees deferred by
  /// scopes of defer_cleanup(); frees the device's caches; waits for the device and frees them
  /// again; calls the callbacks of on_pressure(), up to 8 times, as long as one of them returns
  /// true. Propagates exceptions of callbacks. Does none for a GPU while work is captured into a
  /// graph: a wait for the device would end the capture.
  bool next();

 private:
  bool call_back();

  backend::Device& device_;
  std::size_t bytes_;
  bool is_outermost_;
  std::size_t steps_ = 0;  ///< done so far, of relief.cpp's list
  int callbacks_ = 0;
};

/// Calls `attempt()`, which returns a pointer; while it returns null or throws MemoryError, tries
/// again after each step of relief. The last failure is passed to the caller.
template <class Attempt>
auto with_relief(backend::Device& device, std::size_t bytes, Attempt attempt) {
  Relief relief(device, bytes);
  for (;;) {
    std::exception_ptr refusal;
    try {
      if (auto result = attempt()) return result;
    } catch (const MemoryError&) {
      refusal = std::current_exception();
    }
    if (relief.next()) continue;
    if (refusal) std::rethrow_exception(refusal);
    return decltype(attempt()){};
  }
}

}  // namespace quarry::memory
