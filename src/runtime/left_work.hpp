// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <memory>
#include <vector>

#include "backend/backend.hpp"

/// Errors that queued work finds, which only the host can throw: it looks for them after a wait.
namespace quarry::detail {

/// What one piece of work leaves for the host.
struct LeftForHost {
  LeftForHost() = default;
  LeftForHost(const LeftForHost&) = delete;
  LeftForHost& operator=(const LeftForHost&) = delete;
  virtual ~LeftForHost() = default;
  /// Throws an error that the work has found by now, each of them once. Does not wait.
  virtual void rethrow() = 0;
  /// Whether the work is done and all that it has found has been thrown.
  virtual bool is_settled() const noexcept = 0;
};

/// Of work that is about to be queued in the stream: a wait after it throws what that finds.
void leave(const Stream& stream, const std::shared_ptr<LeftForHost>& left);

/// Around a wait for a stream, or for a device: takes what their work has left before it.
class WaitForWork {
 public:
  ///@{
  /// Throw LogicError in a process that was forked while something was left.
  explicit WaitForWork(const Stream& stream);
  explicit WaitForWork(const backend::Device& device);
  ///@}
  ~WaitForWork();  ///< what was not looked at is left for the next wait
  WaitForWork(const WaitForWork&) = delete;
  WaitForWork& operator=(const WaitForWork&) = delete;

  void rethrow();  ///< after the wait: throws the first error that was found

  struct Left {
    const backend::Device* device;
    const StreamState* state;  ///< which `is_alive` tells from a later one at its address
    std::weak_ptr<const StreamState> is_alive;
    std::shared_ptr<LeftForHost> left;
  };

 private:
  std::vector<Left> taken_;
};

}  // namespace quarry::detail
