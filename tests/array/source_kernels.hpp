// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/module.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "fake_driver/kernels/host_kernel.hpp"
#include "fake_driver/test_device.hpp"

/// Kernels from source. On the fake driver host functions stand for them: set_host_kernel.
namespace quarry::test {

using fake::HostLaunch;

struct Line {
  double slope;
  float offset;
  std::int8_t sign;
};

inline constexpr const char* source = R"(
struct Line { double slope; float offset; signed char sign; };
__constant__ float weights[4];
__device__ int counter;

extern "C" __global__ void twice(float* a) {
  a[threadIdx.x + blockDim.x * threadIdx.y] *= 2;
}
extern "C" __global__ void lines(double* out, const float* x, Line line, int n, bool negate) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double y = line.sign * (line.slope * x[i] + line.offset);
  out[i] = negate ? -y : y;
}
extern "C" __global__ void weigh(float* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) counter += n;
  if (i < n) a[i] *= weights[i % 4];
}
extern "C" __global__ void reversed(int* a, int n) {
  extern __shared__ int block[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) block[i] = a[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = block[n - 1 - i];
}
extern "C" __global__ void idle() {}
template <class T>
__global__ void scale(T* a, T by) { a[threadIdx.x] *= by; }
)";

inline void scale_floats(const HostLaunch& launch) {
  for (float& x : launch.memory<float>(0, launch.block[0])) x *= launch.value<float>(1);
}

inline void lines_on_host(const HostLaunch& launch) {
  const auto n = std::min<std::size_t>(launch.value<std::uint32_t>(3),
                                       static_cast<std::size_t>(launch.threads()));
  const Line line = launch.value<Line>(2);
  const auto out = launch.memory<double>(0, n);
  const auto x = launch.memory<float>(1, n);
  for (std::size_t i = 0; i < n; ++i) {
    const double y = line.sign * (line.slope * double{x[i]} + double{line.offset});
    out[i] = launch.value<bool>(4) ? -y : y;
  }
}

class SourceKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (kind() == Kind::cpu) GTEST_SKIP() << "kernels from source run on GPUs";
    if (kind() != Kind::fake) return;
    fake::set_host_kernel(
        "twice", {{8}, [](const HostLaunch& launch) {
                    for (float& x : launch.memory<float>(0, std::size_t(launch.threads()))) {
                      x *= 2;
                    }
                  }});
    fake::set_host_kernel("lines", {{8, 8, sizeof(Line), 4, 1}, lines_on_host});
    fake::set_host_kernel(
        "reversed", {{8, 4}, [](const HostLaunch& launch) {
                       std::ranges::reverse(launch.memory<int>(0, launch.value<std::uint32_t>(1)));
                     }});
    fake::set_host_kernel("idle", {{}, [](const HostLaunch&) {}});
    fake::set_host_kernel("scale<float>", {{8, 4}, scale_floats});
    fake::set_host_kernel("scale", {{8, 4}, scale_floats});
  }

  static Module module() { return compile(source, {.names = {"scale<float>"}}); }
};

inline std::vector<float> counted(std::size_t count) {
  std::vector<float> list(count);
  std::iota(list.begin(), list.end(), 1.f);
  return list;
}
inline std::vector<float> times(std::vector<float> list, float by) {
  for (float& x : list) x *= by;
  return list;
}

}  // namespace quarry::test
