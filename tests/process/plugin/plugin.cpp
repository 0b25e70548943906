// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

/// What a program loads and closes again, and the library with it: 0 for right values.
extern "C" int compute() {
  const quarry::Stream s = quarry::stream();
  const auto a = quarry::full<float>({1000}, 1, {.stream = s});
  const quarry::DeviceNDArray<float> b = a + 1.f;
  return quarry::sum(b).item() == 2000 ? 0 : 1;
}
