// SPDX-License-Identifier: BSD-3-Clause
// Every function of quarry/textures.cuh, for elements of all kinds: NVRTC and nvcc compile it. The
// header is in extern "C", as the source of a SourceModule is.
extern "C" {
#include <quarry/textures.cuh>
}

struct complex64 {
  float re, im;
};
struct complex128 {
  double re, im;
};

template <class T>
__device__ void read_textures(T* out, cudaTextureObject_t t, int i, float x) {
  out[0] = fp_tex1Dfetch<T>(t, i);
  out[1] = fp_tex1D<T>(t, x);
  out[2] = fp_tex2D<T>(t, x, x);
  out[3] = fp_tex3D<T>(t, x, x, x);
  out[4] = fp_tex1DLayered<T>(t, x, i);
  out[5] = fp_tex2DLayered<T>(t, x, x, i);
  out[6] = fp_texCubemap<T>(t, x, x, x);
  out[7] = fp_texCubemapLayered<T>(t, x, x, x, i);
}

template <class T>
__device__ void read_surfaces(T* out, cudaSurfaceObject_t s, int i) {
  const auto clamp = cudaBoundaryModeClamp;
  out[0] = fp_surf1Dread<T>(s, i);
  fp_surf1Dread(out + 1, s, i, clamp);
  out[2] = fp_surf2Dread<T>(s, i, i);
  fp_surf2Dread(out + 3, s, i, i, clamp);
  out[4] = fp_surf3Dread<T>(s, i, i, i);
  fp_surf3Dread(out + 5, s, i, i, i, clamp);
  fp_surf1DLayeredread(out + 6, s, i, i);
  fp_surf2DLayeredread(out + 7, s, i, i, i);
  fp_surfCubemapread(out + 8, s, i, i, i);
  fp_surfCubemapLayeredread(out + 9, s, i, i, i, cudaBoundaryModeZero);
}

template <class T>
__device__ void write_surfaces(const T* in, cudaSurfaceObject_t s, int i) {
  fp_surf1Dwrite(in[0], s, i);
  fp_surf2Dwrite(in[1], s, i, i, cudaBoundaryModeClamp);
  fp_surf3Dwrite(in[2], s, i, i, i);
  fp_surf1DLayeredwrite(in[3], s, i, i);
  fp_surf2DLayeredwrite(in[4], s, i, i, i);
  fp_surfCubemapwrite(in[5], s, i, i, i);
  fp_surfCubemapLayeredwrite(in[6], s, i, i, i);
}

#define QUARRY_CALLS(name, type)                                                                  \
  extern "C" __global__ void name(type* out, cudaTextureObject_t t, cudaSurfaceObject_t s, int i, \
                                  float x) {                                                      \
    read_textures(out, t, i, x);                                                                  \
    read_surfaces(out, s, i);                                                                     \
    write_surfaces(out, s, i);                                                                    \
  }
QUARRY_CALLS(of_double, double)
QUARRY_CALLS(of_complex64, complex64)
QUARRY_CALLS(of_complex128, complex128)
QUARRY_CALLS(of_float, float)
QUARRY_CALLS(of_float2, float2)
QUARRY_CALLS(of_float4, float4)
QUARRY_CALLS(of_int, int)
QUARRY_CALLS(of_uint2, uint2)
QUARRY_CALLS(of_uint4, uint4)
QUARRY_CALLS(of_short, short)
QUARRY_CALLS(of_ushort4, ushort4)
QUARRY_CALLS(of_uchar, unsigned char)
QUARRY_CALLS(of_uchar4, uchar4)
#undef QUARRY_CALLS
