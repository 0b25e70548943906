// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <functional>
#include <memory>

namespace quarry::test {

/// A function with a stack of its own, which can stop in its middle and go on later, always in the
/// thread that made it. One that is dropped before its function has ended leaves no destructors
/// run.
class Fibre {
 public:
  Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;
  ~Fibre();

  /// `function` runs at the next enter(). It outlives the run and does not throw.
  void start(const std::function<void()>& function);
  /// Runs until the function leaves or ends. Called from outside.
  void enter();
  /// Back to enter(). Called from inside.
  void leave();
  bool is_done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::test
