// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <quarry/ops/elementwise_kernel.hpp>

auto f(const quarry::ElementwiseKernel<float(float)>& kernel,
       const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  return kernel(a);
#else
  return kernel(1.f), a;  // one error: a kernel wants an array or an expression
#endif
}
