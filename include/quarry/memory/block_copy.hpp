// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/cuda_array.hpp>
#include <quarry/runtime/context.hpp>

#include <span>
#include <type_traits>
#include <variant>

/// Copies of rectangles and boxes between blocks of memory, as cuMemcpy2D and cuMemcpy3D. A block
/// is rows of `pitch` bytes, `height` rows a plane; the box begins `x_in_bytes`, `y` rows and `z`
/// planes into it. A pitch of 0 is the width of the box, a height of 0 its height. Before the
/// driver is called, LogicError is thrown for boxes that exceed their block or the known memory,
/// for a side that was not set, and for host memory given as device memory or the reverse;
/// AliasError is thrown for boxes that overlap partly. Memory is not kept alive, but freed memory
/// is detected if a side was set from a device array or allocation.
///
/// A side that is a CUDA array has the extents of the array, with its layers as planes: its pitch,
/// height and context are ignored. `x_in_bytes` and `width_in_bytes` are multiples of its element
/// size, which must be equal for two arrays.
namespace quarry {

namespace detail {

template <class H>
concept LastingHostArray = HostArray<std::remove_reference_t<H>> &&
    (std::is_lvalue_reference_v<H> || std::ranges::borrowed_range<H>);
template <class H>
concept LastingWritableHostArray =
    LastingHostArray<H> && WritableHostArray<std::remove_reference_t<H>>;

/// The memory of a side of a block copy; initially not set.
struct HostSide {
  std::span<std::byte> memory;
};
struct DeviceSide {
  DevicePtr memory;
};
struct UnifiedSide {  ///< managed memory, by its host or device address
  std::variant<std::span<std::byte>, DevicePtr> memory;
};
struct ArraySide {
  std::weak_ptr<ArrayState> memory;
};
using CopySide = std::variant<std::monostate, HostSide, DeviceSide, UnifiedSide, ArraySide>;

/// The sides of a block copy. Host memory is one contiguous block.
class CopySides {
 public:
  template <LastingHostArray H>
  void set_src_host(H&& from) {
    src_ = HostSide{host_bytes(from)};
  }
  void set_src_device(const DevicePtr& from) { src_ = DeviceSide{from}; }
  template <LastingHostArray H>
  void set_src_unified(H&& from) {
    src_ = UnifiedSide{host_bytes(from)};
  }
  void set_src_unified(const DevicePtr& from) { src_ = UnifiedSide{from}; }
  void set_src_array(const CudaArray& from) { src_ = ArraySide{from.state()}; }

  template <LastingWritableHostArray H>
  void set_dst_host(H&& to) {
    dst_ = HostSide{host_bytes(to)};
  }
  void set_dst_device(const DevicePtr& to) { dst_ = DeviceSide{to}; }
  template <LastingWritableHostArray H>
  void set_dst_unified(H&& to) {
    dst_ = UnifiedSide{host_bytes(to)};
  }
  void set_dst_unified(const DevicePtr& to) { dst_ = UnifiedSide{to}; }
  void set_dst_array(const CudaArray& to) { dst_ = ArraySide{to.state()}; }

 protected:
  CopySide src_, dst_;
};

}  // namespace detail

/// Copies nothing while width_in_bytes or height is 0.
class Memcpy2D : public detail::CopySides {
 public:
  ///@{
  /// Where the box begins in its block, and bytes from one row to the next.
  std::size_t src_x_in_bytes = 0, src_y = 0, src_pitch = 0;
  std::size_t dst_x_in_bytes = 0, dst_y = 0, dst_pitch = 0;
  ///@}
  ///@{
  /// The box: bytes of a row, and rows.
  std::size_t width_in_bytes = 0, height = 0;
  ///@}

  /// In the default stream; returns when the copy is done. `aligned = false` is for pitches that
  /// the driver's plain copy refuses.
  void operator()(bool aligned = true) const;
  /// In `stream`; page-locked host memory must live until the copy is done.
  void operator()(const Stream& stream) const;
};

/// Copies nothing while width_in_bytes, height or depth is 0. `lod` must be 0.
class Memcpy3D : public detail::CopySides {
 public:
  ///@{
  /// Where the box begins in its block, bytes from one row to the next, and rows of a plane.
  std::size_t src_x_in_bytes = 0, src_y = 0, src_z = 0, src_lod = 0, src_pitch = 0, src_height = 0;
  std::size_t dst_x_in_bytes = 0, dst_y = 0, dst_z = 0, dst_lod = 0, dst_pitch = 0, dst_height = 0;
  ///@}
  ///@{
  /// The box: bytes of a row, rows, and planes.
  std::size_t width_in_bytes = 0, height = 0, depth = 0;
  ///@}

  /// In the default stream; returns when the copy is done.
  void operator()() const;
  /// In `stream`; page-locked host memory must live until the copy is done.
  void operator()(const Stream& stream) const;

 protected:
  /// On the given devices, the current one for those that are missing; without a stream it waits.
  void run(const Stream* stream, const std::optional<Device>& src_device,
           const std::optional<Device>& dst_device) const;
};

/// Between two GPUs. A CUDA array is on its own device; another side whose context was not set is
/// on the device of its memory, if that is known, else on the current one.
class Memcpy3DPeer : public Memcpy3D {
 public:
  ///@{
  /// The device of a side.
  void set_src_context(const Device& device) { src_device_ = device; }
  void set_src_context(const Context& context) { src_device_ = context.device(); }
  void set_dst_context(const Device& device) { dst_device_ = device; }
  void set_dst_context(const Context& context) { dst_device_ = context.device(); }
  ///@}

  /// In the default stream of the destination; returns when the copy is done.
  void operator()() const;
  /// `stream` is one of the destination's device.
  void operator()(const Stream& stream) const;

 private:
  std::optional<Device> src_device_, dst_device_;
};

}  // namespace quarry
