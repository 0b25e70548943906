// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/module.hpp>
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/texture.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "array/cuda_array_elements.hpp"
#include "fake_driver/test_device.hpp"

/// Kernels that read textures, and read and write surfaces. Only a GPU runs them: elsewhere they
/// are compiled, and the tests skipped.
namespace quarry::test {

/// How the kernel `read` and the kernels of surfaces see what they get.
enum class Shaped { row = 1, plane, box, rows, planes, cube, cubes };
inline int coordinates_of(Shaped shaped) {
  constexpr int counts[] = {0, 1, 2, 3, 2, 3, 3, 4};
  return counts[static_cast<int>(shaped)];
}

inline constexpr const char* texture_source = R"(
#include <quarry/textures.cuh>
struct complex64 { float re, im; };
struct complex128 { double re, im; };

template <class T, int shaped>
__global__ void read(T* out, cudaTextureObject_t t, const float* coordinates, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  constexpr int count = shaped == 1 ? 1 : shaped == 2 || shaped == 4 ? 2 : shaped == 7 ? 4 : 3;
  const float* c = coordinates + i * count;
  if constexpr (shaped == 1) out[i] = fp_tex1D<T>(t, c[0]);
  if constexpr (shaped == 2) out[i] = fp_tex2D<T>(t, c[0], c[1]);
  if constexpr (shaped == 3) out[i] = fp_tex3D<T>(t, c[0], c[1], c[2]);
  if constexpr (shaped == 4) out[i] = fp_tex1DLayered<T>(t, c[0], int(c[1]));
  if constexpr (shaped == 5) out[i] = fp_tex2DLayered<T>(t, c[0], c[1], int(c[2]));
  if constexpr (shaped == 6) out[i] = fp_texCubemap<T>(t, c[0], c[1], c[2]);
  if constexpr (shaped == 7) out[i] = fp_texCubemapLayered<T>(t, c[0], c[1], c[2], int(c[3]));
}

// writes the element at (x + 1, y, z), at the edge the last one, to the mirrored place
template <class T, int shaped>
__global__ void turn(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const int u = width - 1 - x, v = height - 1 - y;
  const auto clamp = cudaBoundaryModeClamp;
  T value;
  if constexpr (shaped == 1) {
    fp_surf1Dread(&value, from, x + 1, clamp);
    fp_surf1Dwrite(value, to, u);
  }
  if constexpr (shaped == 2) {
    fp_surf2Dread(&value, from, x + 1, y, clamp);
    fp_surf2Dwrite(value, to, u, v);
  }
  if constexpr (shaped == 3) {
    fp_surf3Dread(&value, from, x + 1, y, z, clamp);
    fp_surf3Dwrite(value, to, u, v, z, clamp);
  }
  if constexpr (shaped == 5) {
    fp_surf2DLayeredread(&value, from, x + 1, y, z, clamp);
    fp_surf2DLayeredwrite(value, to, u, v, z, clamp);
  }
  if constexpr (shaped == 6) {
    fp_surfCubemapread(&value, from, x + 1, y, z, clamp);
    fp_surfCubemapwrite(value, to, u, v, z, clamp);
  }
}
)";

/// "read<double, 2>".
inline std::string instance(const char* kernel, const std::string& type, Shaped shaped) {
  return kernel + ("<" + type + ", ") + std::to_string(static_cast<int>(shaped)) + ">";
}

class TextureKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (kind() != Kind::cpu) module_.emplace(compile(texture_source, {.names = names()}));
  }
  static void TearDownTestSuite() { module_.reset(); }
  void SetUp() override {
    if (kind() != Kind::cuda) GTEST_SKIP() << "only GPUs read textures";
  }

  /// What the kernel reads at the coordinates, which follow one another; as elements of T.
  template <class T>
  static std::vector<T> read(const std::string& type, Shaped shaped, const Texture& texture,
                             const std::vector<float>& coordinates) {
    const int n = static_cast<int>(coordinates.size()) / coordinates_of(shaped);
    std::vector<T> result(static_cast<std::size_t>(n));
    const DeviceAllocation out = mem_alloc(result.size() * sizeof(T));
    const DeviceNDArray<float> at = to_device(coordinates);
    module_->function(instance("read", type, shaped))
        .launch({.grid = (n + 127) / 128, .block = 128}, out, texture, at, n);
    memcpy_dtoh(result, out);
    return result;
  }

  static void turn(const std::string& type, Shaped shaped, const CudaArray& to,
                   const CudaArray& from) {
    const ArrayDescriptor& d = from.descriptor();
    const auto width = static_cast<int>(d.width), height = static_cast<int>(d.rows());
    module_->function(instance("turn", type, shaped))
        .launch({.grid = 1, .block = {width, height, static_cast<int>(d.planes())}}, Surface(to),
                Surface(from), width, height);
  }

 private:
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Shaped shaped : {Shaped::row, Shaped::plane, Shaped::box, Shaped::rows,
                                Shaped::planes, Shaped::cube, Shaped::cubes}) {
      for (const char* type : {"float", "float4", "unsigned char", "short", "int", "double",
                               "complex64", "complex128"}) {
        all.push_back(instance("read", type, shaped));
        if (shaped != Shaped::rows && shaped != Shaped::cubes) {
          all.push_back(instance("turn", type, shaped));
        }
      }
    }
    return all;
  }

  static inline std::optional<Module> module_;
};

}  // namespace quarry::test
