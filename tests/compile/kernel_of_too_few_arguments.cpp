// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <quarry/ops/elementwise_kernel.hpp>

auto f(const quarry::ElementwiseKernel<float(float, float)>& kernel,
       const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  return kernel(a, 1);
#else
  return kernel(a);  // one error: the kernel has another number of parameters
#endif
}
