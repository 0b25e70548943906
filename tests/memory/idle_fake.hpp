// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include "backend/cuda/fake_device.hpp"
#include "memory/resource/caches.hpp"

namespace quarry {

/// Over the fake driver, with empty caches. Work runs only when somebody waits for it.
class OverIdleFake : public backend::OverFake {
 protected:
  void SetUp() override {
    OverFake::SetUp();
    if (IsSkipped()) return;
    fake::set_behaviour({.seed = 1, .eagerness = 0, .polls_run_work = false});
    memory::give_back_all(Device().backend());
  }
};

}  // namespace quarry
