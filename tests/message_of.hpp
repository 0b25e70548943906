// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

namespace quarry::test {

/// What the Error says that f throws; other errors pass.
template <class Error, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace quarry::test
