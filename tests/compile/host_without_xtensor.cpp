// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#ifdef QUARRY_VALID
#include <quarry/xtensor.hpp>
#endif

auto f(const quarry::DeviceNDArray<float>& a) {
  return a.copy_to_host();  // one error: needs #include <quarry/xtensor.hpp>
}
