// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace quarry {

/// Device memory that a class of the program provides; PyCUDA's name. Derive and say where the
/// memory is; the destructor may free it. Raw calls take the object as a bare address, arrays its
/// as_buffer():
///
///     auto mine = std::make_shared<MyMemory>(4000);
///     qy::DeviceNDArray<float> a({qy::Shape{1000}, qy::Strides{4}}, mine->device_pointer(),
///                                mine->as_buffer(4000));
///
class PointerHolderBase : public std::enable_shared_from_this<PointerHolderBase> {
 public:
  PointerHolderBase() = default;
  virtual ~PointerHolderBase() = default;
  PointerHolderBase(const PointerHolderBase&) = delete;
  PointerHolderBase& operator=(const PointerHolderBase&) = delete;

  /// The address of the first byte, on a device.
  virtual std::uintptr_t get_pointer() const = 0;
  ///@{
  /// The same.
  std::byte* device_pointer() const { return reinterpret_cast<std::byte*>(get_pointer()); }
  operator DevicePtr() const { return DevicePtr(get_pointer()); }
  ///@}
  /// `bytes` from `offset` on, as the memory of arrays whose home is `home`: they keep this object
  /// alive, and with it the memory until the work on it is done. Throws LogicError unless a
  /// std::shared_ptr owns this, and what Buffer::adopt() throws.
  std::shared_ptr<Buffer> as_buffer(std::size_t bytes, std::size_t offset = 0,
                                    const Stream& home = current_stream());
};

}  // namespace quarry
