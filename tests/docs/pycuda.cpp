// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/coming-from-pycuda.md.
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include "check.hpp"

namespace qy = quarry;

// clang-format off
// example-begin elementwise
// ElementwiseKernel("float a, float *x, float b, float *y, float *z", "z[i] = a*x[i] + b*y[i]")
QUARRY_FUNCTION(linear_combination, (auto a, auto x, auto b, auto y), a * x + b * y);
// example-end
// clang-format on

int main() {
  const xt::xarray<float> host = {1, 2, 3, 4};
  // example-begin arrays
  auto x = qy::to_device(host);                     // gpuarray.to_gpu(host)
  auto y = qy::zeros_like(x);                       // gpuarray.zeros_like(x)
  auto z = qy::device_array_like(x);                // gpuarray.empty_like(x)
  z(qy::all) = linear_combination(5.f, x, 6.f, y);  // kernel(5, x, 6, y, z)
  float dot = qy::sum(x * z).item();                // ReductionKernel(..., "a+b", "x[i]*z[i]")
  auto positive = qy::where(x > 2.f, x, y);         // gpuarray.if_positive(x - 2, x, y)
  std::vector<float> back(4);
  z.copy_to_host(back);  // z.get(back)
  // example-end
  CHECK(dot == 150 && back[3] == 20 && qy::sum(positive).item() == 7);

  // example-begin pool
  x = y = z = {};  // the arrays' memory goes to the pool
  qy::PoolStatistics pool = qy::pool_statistics(qy::Device());
  qy::trim_pool(qy::Device());  // DeviceMemoryPool.free_held()
  // example-end
  CHECK(pool.held_bytes > 0);
}
