// SPDX-License-Identifier: BSD-3-Clause
// Kernels of nvcc, Thrust and CUB over arrays of Quarry, compared with plain loops. Returns 77, a
// skipped test, without a GPU.
#include <quarry/quarry.hpp>

#include <quarry/device_view.cuh>

#include <cmath>
#include <cstdio>
#include <vector>

#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <cub/device/device_reduce.cuh>

using namespace quarry;

template <class View>
__global__ void scale(View v, float factor) {
  const std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= v.size()) return;
  v(i / v.extent(1), i % v.extent(1)) *= factor;
}
template <class View>
__global__ void add_rows(View v, float number) {
  const auto m = v.mdspan();
  for (std::int64_t i = threadIdx.x; i < m.extent(0); i += blockDim.x)
    for (std::int64_t j = 0; j < m.extent(1); ++j) m(i, j) += number;
}

template <class View>
float thrust_sum(const View& v, cudaStream_t stream) {
  const auto policy = thrust::cuda::par.on(stream);
  if (v.is_contiguous()) return thrust::reduce(policy, v.data(), v.data() + v.size());
  return thrust::reduce(policy, v.begin(), v.end());
}
template <class View>
float cub_sum(const View& v, cudaStream_t stream) {
  const auto result = zeros<float>({});
  const auto to = device_view<0>(result);
  std::size_t bytes = 0;
  cub::DeviceReduce::Sum(nullptr, bytes, v.begin(), to.data(), v.size(), stream);
  const auto room = empty<std::uint8_t>({std::int64_t(bytes)});
  cub::DeviceReduce::Sum(room.device_pointer(), bytes, v.begin(), to.data(), v.size(), stream);
  return result.item();
}

bool agrees(const DeviceNDArray<float>& array) {
  const std::int64_t rows = array.shape()[0], columns = array.shape()[1];
  std::vector<float> want(std::size_t(rows * columns)), got(want.size());
  array.copy_to_host(want);
  float sum = 0;
  for (float& x : want) sum += x = x * 2 + 1;

  const auto stream = reinterpret_cast<cudaStream_t>(array.stream().handle());
  const auto view = device_view<2>(array);
  scale<<<unsigned(view.size() / 128 + 1), 128, 0, stream>>>(view, 2.f);
  add_rows<<<1, 32, 0, stream>>>(view, 1.f);
  array.copy_to_host(got);
  const float sums[] = {thrust_sum(view, stream), cub_sum(view, stream)};
  std::printf("%zu elements: %g, %g and %g\n", want.size(), sum, sums[0], sums[1]);
  return want == got && sums[0] == sum && sums[1] == sum;
}

int main() {
  if (get_current_device().is_cpu()) return 77;
  const auto a = eval(arange<float>(60 * 70) % 64.f).reshape({60, 70});
  const bool all_agree = agrees(a) && agrees(a.transpose()) &&
                         agrees(a(range(1, _, 2), range(_, _, -3))) && agrees(a(range(3)));
  std::puts(all_agree ? "all agree" : "a result is wrong");
  return all_agree ? 0 : 1;
}
