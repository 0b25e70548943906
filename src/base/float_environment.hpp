// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <xmmintrin.h>

namespace quarry {

/// While one lives, its thread computes by IEEE 754: to nearest even, with subnormals, without
/// traps. The destructor restores the program's settings (fesetround, flush-to-zero, and
/// -ffast-math at its start). Takes a few nanoseconds. Code that depends on it has to be called,
/// not inlined: a compiler may move arithmetic past the change.
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
