// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

/// Every test program runs on one kind of device, which QUARRY_TEST_DEVICE names: "cpu" (also when
/// it is empty), "fake" or "cuda". Linking this file is enough: before any test QUARRY_DEVICE is
/// set accordingly and the fake driver put in place. Each test fails that leaves more owners on a
/// device than it has found (by the library's ledger and by the fake driver), another current CUDA
/// context, device or stream, or has misused the fake driver; the program fails that leaves any.
namespace quarry::test {

enum class Kind { cpu, fake, cuda };
Kind kind();

/// For tests that leave arrays or handles on purpose: what lives now is no leak.
void forgive_leaks();

}  // namespace quarry::test
