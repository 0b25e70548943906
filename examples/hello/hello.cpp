// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <iostream>

namespace qy = quarry;

int main() {
  const xt::xarray<float> host = {{0, 1, 4}, {9, 16, 25}};
  auto x = qy::to_device(host);  // one copy, to the GPU where there is one
  qy::DeviceNDArray<float> y = 10.f * qy::sqrt(x) + 0.5f;  // one kernel
  y(qy::all, 0) = -1.f;  // a view of the first column, written through
  std::cout << y << "\non " << y.device() << ", mean " << qy::mean(y).item() << '\n';
  const xt::xarray<float> back = y.copy_to_host();
  return back(1, 2) == 50.5f ? 0 : 1;
}
