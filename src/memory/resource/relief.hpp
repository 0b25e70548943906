// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/error.hpp>

#include <cstddef>
#include <exception>

#include "backend/backend.hpp"

/// What is done when there is no memory: the same for every way to get some.
namespace quarry::memory {

/// One allocation that may have to be helped. Of nested ones, the pool's over its upstream's and
/// those in a callback, only the outermost of the thread is helped; the others fail at once.
class Relief {
 public:
  Relief(backend::Device& device, std::size_t bytes) noexcept;
  ~Relief();
  Relief(const Relief&) = delete;
  Relief& operator=(const Relief&) = delete;

  /// Does the next of these, and returns whether another attempt is worth it: frees what scopes of
  /// defer_cleanup() have put off; gives back what is cached on the device; waits for the device
  /// and does so again; calls what on_pressure() has registered, up to 8 times, as long as one of
  /// the callbacks says so. Throws what a callback throws.
  bool next();

 private:
  bool call_back();

  backend::Device& device_;
  std::size_t bytes_;
  bool is_outermost_;
  std::size_t steps_ = 0;  ///< done so far, of relief.cpp's list
  int callbacks_ = 0;
};

/// The result of `attempt()`, which is tested as a pointer is; when that is null, or MemoryError is
/// thrown, of the attempts after each step of relief. The last one's failure is the caller's.
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
