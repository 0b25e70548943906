// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

/// Every test program runs on one kind of device, which QUARRY_TEST_DEVICE names: "cpu" (also when
/// it is empty), "fake" or "cuda". Linking this file is enough: before any test QUARRY_DEVICE is
/// set accordingly and the fake driver put in place. Over the fake driver each test fails that
/// misuses the driver or leaves arrays behind, and the program fails that leaves handles behind.
namespace quarry::test {

enum class Kind { cpu, fake, cuda };
Kind kind();

/// For tests that leave arrays or handles on purpose: what lives now is no leak.
void forgive_leaks();

}  // namespace quarry::test
