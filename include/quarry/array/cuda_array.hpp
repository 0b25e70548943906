// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>
#include <quarry/memory/cuda_array.hpp>

/// CUDA arrays with the elements of other arrays, which may have any strides. The index that runs
/// along x is the last one for Order::c: tex2D(x, y) is a(y, x), tex3D(x, y, z) is a(z, y, x). It
/// is the first one for Order::f: tex2D(x, y) is a(x, y). All return when the elements are copied,
/// and throw LogicError for Order::a, ShapeError for another number of axes and for arrays without
/// elements, and what CudaArray throws.
namespace quarry {

namespace detail {
CudaArray matrix_to_array(const HostRef& matrix, Order order, bool allow_double_hack,
                          const Device& device);
CudaArray np_to_array(const HostRef& array, Order order, bool allow_surface_bind,
                      const Device& device);
CudaArray make_multichannel_2d_array(const HostRef& matrix, Order order, const Device& device);
}  // namespace detail

/// Two axes. The elements are integers of up to 32 bits, float16 or float32, and with
/// `allow_double_hack` float64, as two channels of int32. Throws DTypeError for others.
template <HostArray H>
CudaArray matrix_to_array(const H& matrix, Order order, bool allow_double_hack = false,
                          const Device& device = {}) {
  return detail::matrix_to_array(host_ref(matrix), order, allow_double_hack, device);
}

///@{
/// One, two or three axes, of a host array or of an array on a device. Elements that CUDA arrays do
/// not have become channels of 32 bits, as texture_format() says: float64 two of int32, complex64
/// two of float32, complex128 four of int32; fp_tex2D<T> of <quarry/textures.cuh> reads them. With
/// `allow_surface_bind` kernels may write to it through a Surface, and an array of two axes is one
/// layer, for tex2DLayered and surf2DLayeredread, as PyCUDA makes it. An array on a device is read
/// in the order of its stream.
template <HostArray H>
CudaArray np_to_array(const H& array, Order order, bool allow_surface_bind = false,
                      const Device& device = {}) {
  return detail::np_to_array(host_ref(array), order, allow_surface_bind, device);
}
CudaArray gpuarray_to_array(const DeviceNDArrayBase& array, Order order,
                            bool allow_surface_bind = false);
///@}

/// Three axes, of which one is that of 1, 2 or 4 channels: (height, width, channels) for Order::c,
/// (channels, width, height) for Order::f. The result has two dimensions.
template <HostArray H>
CudaArray make_multichannel_2d_array(const H& matrix, Order order, const Device& device = {}) {
  return detail::make_multichannel_2d_array(host_ref(matrix), order, device);
}

}  // namespace quarry
