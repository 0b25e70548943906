// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/cuda_array.hpp>
#include <quarry/base/texture_options.hpp>
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace quarry {
namespace {

void require_axes(const char* call, const Shape& shape, std::size_t least, std::size_t most) {
  require<ShapeError>(shape.size() >= least && shape.size() <= most, [&] {
    const std::string axes =
        least == most ? fmt::format("{}", least) : fmt::format("1 to {}", most);
    return fmt::format("{}: an array of shape {}; it must have {} axes", call, to_string(shape),
                       axes);
  });
  require<ShapeError>(element_count(shape) > 0, [&] {
    return fmt::format("{}: an array of shape {} has no elements", call, to_string(shape));
  });
}

/// With the axis of x last.
Layout turned(const char* call, Layout layout, Order order) {
  require<LogicError>(order != Order::a,
                      [&] { return fmt::format("{}: the order is c or f, not a", call); });
  if (order == Order::f) {
    std::reverse(layout.shape.begin(), layout.shape.end());
    std::reverse(layout.strides.begin(), layout.strides.end());
  }
  return layout;
}

/// `shape` is (z, y, x), (y, x) or (x).
ArrayDescriptor descriptor_of(const Shape& shape, const TextureFormat& format,
                              bool allow_surface_bind) {
  const auto extent = [&](std::size_t from_last) {
    const std::size_t rank = shape.size();
    return from_last < rank ? static_cast<std::size_t>(shape[rank - 1 - from_last]) : 0;
  };
  ArrayDescriptor d{.width = extent(0),
                    .height = extent(1),
                    .depth = extent(2),
                    .dtype = format.dtype,
                    .num_channels = format.num_channels,
                    .surface_load_store = allow_surface_bind};
  if (allow_surface_bind && shape.size() == 2) d.depth = 1, d.layered = true;
  return d;
}

/// All of the array from rows without gaps, which are the source of the copy.
Memcpy3D whole(Memcpy3D copy, const CudaArray& array) {
  const ArrayDescriptor& d = array.descriptor();
  copy.set_dst_array(array);
  copy.width_in_bytes = copy.src_pitch = d.row_bytes();
  copy.height = copy.src_height = d.rows();
  copy.depth = d.planes();
  return copy;
}

void pack(const std::byte* from, const Layout& layout, std::size_t axis, std::size_t itemsize,
          std::vector<std::byte>& to) {
  for (std::int64_t i = 0; i < layout.shape[axis]; ++i, from += layout.strides[axis]) {
    if (axis + 1 == layout.rank()) {
      to.insert(to.end(), from, from + itemsize);
    } else {
      pack(from, layout, axis + 1, itemsize, to);
    }
  }
}

CudaArray filled(const ArrayDescriptor& descriptor, const HostRef& from, const Layout& layout,
                 const Device& device) {
  const std::size_t itemsize = from.dtype.itemsize();
  CudaArray array(descriptor, device);
  std::vector<std::byte> packed;
  if (!is_c_contiguous(layout, itemsize)) {
    packed.reserve(descriptor.bytes());
    pack(from.data, layout, 0, itemsize, packed);
  }
  const std::span<const std::byte> rows(packed.empty() ? from.data : packed.data(),
                                        descriptor.bytes());
  Memcpy3D copy;
  copy.set_src_host(rows);
  whole(copy, array)();
  return array;
}

/// The elements of `array` in the order of `layout`, without gaps.
DeviceAllocation dense(const DeviceNDArrayBase& array, const Layout& layout, const Stream& stream) {
  const Layout wanted{layout.shape, c_strides(layout.shape, array.dtype().itemsize())};
  auto buffer = Buffer::allocate(array.nbytes(), stream);
  copy_elements({buffer->address(), array.dtype(), wanted, buffer.get()},
                {array.address(), array.dtype(), layout, array.buffer().get()}, stream);
  return DeviceAllocation(std::move(buffer));
}

}  // namespace

CudaArray detail::matrix_to_array(const HostRef& matrix, Order order, bool allow_double_hack,
                                  const Device& device) {
  require_axes("matrix_to_array", matrix.layout.shape, 2, 2);
  const bool is_double = matrix.dtype == TypeId::float64;
  require<DTypeError>(is_texture_type(matrix.dtype) || (is_double && allow_double_hack), [&] {
    return fmt::format("matrix_to_array: a CUDA array has no elements of {}{}",
                       to_string(matrix.dtype),
                       is_double ? ": allow_double_hack makes it two channels of int32" : "");
  });
  const Layout layout = turned("matrix_to_array", matrix.layout, order);
  return filled(descriptor_of(layout.shape, texture_format(matrix.dtype), false), matrix, layout,
                device);
}

CudaArray detail::np_to_array(const HostRef& array, Order order, bool allow_surface_bind,
                              const Device& device) {
  require_axes("np_to_array", array.layout.shape, 1, 3);
  const Layout layout = turned("np_to_array", array.layout, order);
  const auto format = texture_format(array.dtype);
  return filled(descriptor_of(layout.shape, format, allow_surface_bind), array, layout, device);
}

CudaArray gpuarray_to_array(const DeviceNDArrayBase& array, Order order, bool allow_surface_bind) {
  require_axes("gpuarray_to_array", array.shape(), 1, 3);
  const Layout layout = turned("gpuarray_to_array", array.layout(), order);
  const Stream stream = detail::stream_for(array);
  CudaArray made(descriptor_of(layout.shape, texture_format(array.dtype()), allow_surface_bind),
                 array.device());
  Memcpy3D copy;
  DeviceAllocation packed;
  if (is_c_contiguous(layout, array.dtype().itemsize())) {
    copy.set_src_device(array);
  } else {
    packed = dense(array, layout, stream);
    copy.set_src_device(packed);
  }
  whole(copy, made)(stream);
  stream.synchronize();
  return made;
}

CudaArray detail::make_multichannel_2d_array(const HostRef& matrix, Order order,
                                             const Device& device) {
  require_axes("make_multichannel_2d_array", matrix.layout.shape, 3, 3);
  const Layout layout = turned("make_multichannel_2d_array", matrix.layout, order);
  const auto channels = static_cast<unsigned>(layout.shape[2]);
  const ArrayDescriptor d =
      descriptor_of({layout.shape[0], layout.shape[1]}, {matrix.dtype, channels}, false);
  return filled(d, matrix, layout, device);
}

}  // namespace quarry
