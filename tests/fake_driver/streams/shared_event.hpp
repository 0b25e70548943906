// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>

/// What processes that share an event know of it: how often it was recorded, and up to which
/// recording it has been reached.
namespace quarry::fake {

class SharedEvent {
 public:
  static std::shared_ptr<SharedEvent> create();
  /// Of another process, or nullptr when it is not there any more.
  static std::shared_ptr<SharedEvent> open(const CUipcEventHandle& handle);
  static bool is_own(const CUipcEventHandle& handle);  ///< whether this process has exported it

  explicit SharedEvent(int file);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  CUipcEventHandle handle() const;
  std::uint64_t record() { return ++counts_->recorded; }  ///< the new recording's number
  std::uint64_t recorded() const { return counts_->recorded; }
  bool is_done(std::uint64_t number) const { return counts_->done >= number; }
  void finish(std::uint64_t number);

 private:
  struct Counts {
    std::atomic<std::uint64_t> recorded, done;
  };
  Counts* counts_ = nullptr;
  int file_;
};

}  // namespace quarry::fake
