// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <quarry/ops/elementwise_kernel.hpp>

#ifdef QUARRY_VALID
using Value = int;
#else
using Value = float;
#endif
auto f(const quarry::ElementwiseKernel<float(int)>& kernel, const quarry::DeviceNDArray<Value>& a) {
  return kernel(a);  // one error: the elements can lose their kind in the kernel's parameter
}
