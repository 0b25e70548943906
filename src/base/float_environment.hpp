// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <xmmintrin.h>

namespace quarry {

/// While one lives, its thread computes as IEEE 754 says: to nearest even, with subnormals, without
/// traps. What the program has set (fesetround, flush-to-zero, and -ffast-math at its start) comes
/// back with the destructor. Takes a few nanoseconds. What shall see it has to be called, not
/// inlined: a compiler may move arithmetic past the change.
class FloatEnvironment {
 public:
  FloatEnvironment() : before_(_mm_getcsr()) {
    if (differs()) _mm_setcsr(usual);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;
  ~FloatEnvironment() {
    if (differs()) _mm_setcsr(before_);
  }

 private:
  static constexpr unsigned usual = 0x1f80, exceptions = 0x3f;
  bool differs() const { return (before_ & ~exceptions) != usual; }

  unsigned before_;
};

}  // namespace quarry
