// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// For kernels: textures and surfaces whose elements may also be double, complex<float> and
/// complex<double>, or structs of 8 or 16 bytes. `#include <quarry/textures.cuh>` finds it in every
/// source that Quarry compiles, without a file; nvcc finds it in the include folder.
///
///     fp_tex2D<double>(texture, x, y);
///     fp_surf3Dwrite(value, surface, x, y, z);
///
/// fp_tex1D<T> is CUDA's tex1D, and so on: the elements of the CUDA array or of the memory are T
/// themselves if CUDA has T as an element, else two or four channels of 32 bits (as np_to_array
/// makes them): int32 for a double, float32 for other types of 8 bytes (complex<float>), int32
/// for other types of 16 bytes. Of such elements int32 ones cannot be filtered. The x of a surface
/// counts elements, not bytes.
extern "C++" {  // the source of a SourceModule is in extern "C"

namespace quarry::texels {

/// What the hardware reads for a T.
template <class T, int bytes = int(sizeof(T))>
struct stored {
  using type = T;
};
template <class T>
struct stored<T, 8> {
  using type = float2;
};
template <class T>
struct stored<T, 16> {
  using type = int4;
};
template <>
struct stored<double, 8> {
  using type = int2;
};
#define QUARRY_TEXEL(vector)              \
  template <>                             \
  struct stored<vector, sizeof(vector)> { \
    using type = vector;                  \
  };
QUARRY_TEXEL(short4)
QUARRY_TEXEL(ushort4)
QUARRY_TEXEL(int2)
QUARRY_TEXEL(uint2)
QUARRY_TEXEL(uint4)
QUARRY_TEXEL(float4)
#undef QUARRY_TEXEL
template <class T>
using stored_t = typename stored<T>::type;

/// The same bytes.
template <class To, class From>
__device__ __forceinline__ To as(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "elements have 1, 2, 4, 8 or 16 bytes");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace quarry::texels

#define QUARRY_UNWRAP(...) __VA_ARGS__
#define QUARRY_TEXTURE(name, parameters, arguments)                                               \
  template <class T>                                                                              \
  __device__ __forceinline__ T fp_##name(cudaTextureObject_t texture, QUARRY_UNWRAP parameters) { \
    return quarry::texels::as<T>(                                                                 \
        name<quarry::texels::stored_t<T>>(texture, QUARRY_UNWRAP arguments));                     \
  }
QUARRY_TEXTURE(tex1Dfetch, (int i), (i))
QUARRY_TEXTURE(tex1D, (float x), (x))
QUARRY_TEXTURE(tex2D, (float x, float y), (x, y))
QUARRY_TEXTURE(tex3D, (float x, float y, float z), (x, y, z))
QUARRY_TEXTURE(tex1DLayered, (float x, int layer), (x, layer))
QUARRY_TEXTURE(tex2DLayered, (float x, float y, int layer), (x, y, layer))
QUARRY_TEXTURE(texCubemap, (float x, float y, float z), (x, y, z))
QUARRY_TEXTURE(texCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer))
#undef QUARRY_TEXTURE

/// Reads as a result, or into `to` as PyCUDA's; writes. `more` are the coordinates behind x.
#define QUARRY_SURFACE(name, parameters, more)                                     \
  template <class T>                                                               \
  __device__ __forceinline__ T fp_##name##read(                                    \
      cudaSurfaceObject_t surface, int x QUARRY_UNWRAP parameters,                 \
      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                       \
    return quarry::texels::as<T>(name##read<quarry::texels::stored_t<T>>(          \
        surface, int(sizeof(T)) * x QUARRY_UNWRAP more, mode));                    \
  }                                                                                \
  template <class T>                                                               \
  __device__ __forceinline__ void fp_##name##read(                                 \
      T* to, cudaSurfaceObject_t surface, int x QUARRY_UNWRAP parameters,          \
      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                       \
    *to = fp_##name##read<T>(surface, x QUARRY_UNWRAP more, mode);                 \
  }                                                                                \
  template <class T>                                                               \
  __device__ __forceinline__ void fp_##name##write(                                \
      const T& value, cudaSurfaceObject_t surface, int x QUARRY_UNWRAP parameters, \
      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                       \
    name##write(quarry::texels::as<quarry::texels::stored_t<T>>(value), surface,   \
                int(sizeof(T)) * x QUARRY_UNWRAP more, mode);                      \
  }
QUARRY_SURFACE(surf1D, (), ())
QUARRY_SURFACE(surf2D, (, int y), (, y))
QUARRY_SURFACE(surf3D, (, int y, int z), (, y, z))
QUARRY_SURFACE(surf1DLayered, (, int layer), (, layer))
QUARRY_SURFACE(surf2DLayered, (, int y, int layer), (, y, layer))
QUARRY_SURFACE(surfCubemap, (, int y, int face), (, y, face))
QUARRY_SURFACE(surfCubemapLayered, (, int y, int layer_and_face), (, y, layer_and_face))
#undef QUARRY_SURFACE
#undef QUARRY_UNWRAP

}  // extern "C++"
