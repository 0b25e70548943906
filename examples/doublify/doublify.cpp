// SPDX-License-Identifier: BSD-3-Clause
// A kernel from CUDA source on an array.
#include <quarry/quarry.hpp>

#include <iostream>
#include <numeric>
#include <vector>

namespace qy = quarry;

int main() {
  if (qy::Device().is_cpu()) {
    std::cout << "kernels from CUDA source need a GPU\n";
    return 0;
  }
  std::vector<float> host(16);
  std::iota(host.begin(), host.end(), 1.f);
  const auto a = qy::to_device(host).reshape({4, 4});

  const qy::SourceModule mod(R"(
    __global__ void doublify(float* a) {
      const int i = threadIdx.x + threadIdx.y * 4;
      a[i] *= 2;
    }
  )");
  mod.get_function("doublify").launch({.block = {4, 4}}, a);
  std::cout << a << '\n';

  mod.get_function("doublify").launch({.block = {4, 4}}, qy::InOut(host));  // host memory
  std::vector<float> back(16);
  a.copy_to_host(back);
  return back == host ? 0 : 1;
}
