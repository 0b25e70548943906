// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

auto f(const quarry::DeviceNDArray<float>& a, const xt::xarray<float>& h) {
#ifdef QUARRY_VALID
  return h * quarry::to_device(h) - a;
#else
  return h *
         a;  // one error: host memory is no operand: bring it to the device with to_device(h) first
#endif
}
