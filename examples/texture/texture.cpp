// SPDX-License-Identifier: BSD-3-Clause
// A picture turned by 45 degrees: a kernel reads it between its elements, through a texture.
#include <quarry/array/cuda_array.hpp>
#include <quarry/memory/texture.hpp>
#include <quarry/quarry.hpp>

#include <iostream>
#include <vector>

namespace qy = quarry;

int main() {
  if (qy::Device().is_cpu()) {
    std::cout << "textures need a GPU\n";
    return 0;
  }
  constexpr int size = 24;
  const auto from_middle = qy::abs(qy::arange<float>(size) - (size - 1) / 2.f);
  const qy::DeviceNDArray<float> row = qy::where(from_middle < 6.f, 1.f, 0.f);
  const qy::DeviceNDArray<float> square = row.reshape({size, 1}) * row;

  const qy::Texture texture(
      qy::gpuarray_to_array(square, qy::Order::c),
      {.address_mode = {qy::AddressMode::border, qy::AddressMode::border, qy::AddressMode::border},
       .filter_mode = qy::FilterMode::linear});
  const auto module = qy::compile(R"(
    extern "C" __global__ void turn(float* out, cudaTextureObject_t texture, float angle) {
      const int n = blockDim.x;
      const float x = threadIdx.x + 0.5f - n / 2.f, y = threadIdx.y + 0.5f - n / 2.f;
      const float c = cosf(angle), s = sinf(angle);
      out[threadIdx.y * n + threadIdx.x] =
          tex2D<float>(texture, c * x - s * y + n / 2.f, s * x + c * y + n / 2.f);
    }
  )");
  const auto turned = qy::zeros<float>({size, size});
  module.function("turn").launch({.block = {size, size}}, turned, texture, 0.785398f);

  const auto shown = turned.reshape({size * size}).copy_to_host<std::vector<float>>();
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const float value = shown[static_cast<std::size_t>(y * size + x)];
      std::cout << (value > 0.75f ? "##" : value > 0.25f ? "::" : "  ");
    }
    std::cout << '\n';
  }
  // the corner of the square is now at the middle of a side
  return shown[0] == 0 && shown[size / 2 * size + size / 2] > 0.99f ? 0 : 1;
}
