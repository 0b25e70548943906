// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/quarry.hpp>

/// Maps on the CPU device into one of their own operands compute every element once, whatever the
/// length: the vectors of a last block may not begin among elements that were stored already.
namespace quarry {
namespace {

TEST(InPlace, EveryElementIsComputedOnce) {
  const DeviceGuard guard(Device::cpu());
  for (std::int64_t n = 1; n < 400; n += 3) {
    DeviceNDArray<float> a(Shape{n}), b(Shape{n});
    a.fill(2.f);
    b.fill(5.f);
    a.assign(a + b);
    b.assign(a + b);
    synchronize();
    const auto* const first = static_cast<const float*>(static_cast<void*>(a.device_pointer()));
    const auto* const second = static_cast<const float*>(static_cast<void*>(b.device_pointer()));
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(first[i], 7.f) << i << " of " << n;
      ASSERT_EQ(second[i], 12.f) << i << " of " << n;
    }
  }
}

}  // namespace
}  // namespace quarry
