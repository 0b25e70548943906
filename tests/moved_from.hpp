// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace quarry::test {

/// The call throws LogicError and says that the object was moved from.
inline void expect_refused(const char* name, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << name << " went through";
  } catch (const LogicError& e) {
    EXPECT_NE(std::string(e.what()).find("moved from"), std::string::npos)
        << name << ": " << e.what();
  }
}

}  // namespace quarry::test
