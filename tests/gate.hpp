// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <future>
#include <memory>

namespace quarry::test {

/// Holds a stream until it is told to go on, or ends.
class Gate {
 public:
  explicit Gate(const Stream& stream) : open_(std::make_shared<std::promise<void>>()) {
    stream.add_callback(
        [open = open_, ready = open_->get_future().share()](const Stream&) { ready.wait(); });
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() {
    if (open_) open_->set_value();
    open_.reset();
  }

 private:
  std::shared_ptr<std::promise<void>> open_;
};

}  // namespace quarry::test
