// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/pointer_info.hpp>
#include <quarry/memory/buffer.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace quarry {

/// Owners of device memory: arrays, DeviceAllocation, PooledDeviceAllocation.
template <class M>
concept DeviceMemory = requires(const M& memory) {
  { memory.device_pointer() } -> std::same_as<std::byte*>;
  { memory.buffer() } -> std::convertible_to<std::shared_ptr<Buffer>>;
};

/// An address in device memory, for the raw calls; not an owner. If made from an array or an
/// allocation it knows its device and the extent of the memory, and calls that use it after the
/// memory has been freed throw LogicError. On the CPU device it is a host address.
class DevicePtr {
 public:
  DevicePtr() = default;
  ///@{
  /// A bare address: its memory is unknown.
  explicit DevicePtr(std::uintptr_t address) : address_(address) {}
  explicit DevicePtr(const void* address) : address_(reinterpret_cast<std::uintptr_t>(address)) {}
  ///@}
  /// Of an array or an allocation.
  template <DeviceMemory M>
  DevicePtr(const M& memory) : DevicePtr(memory.device_pointer()) {
    buffer_ = memory.buffer();
    knows_ = true;
  }

  std::uintptr_t address() const { return address_; }  ///< 0 if null
  explicit operator std::uintptr_t() const { return address_; }
  explicit operator bool() const { return address_ != 0; }         ///< whether it is not null
  void* get() const { return reinterpret_cast<void*>(address_); }  ///< the address

  ///@{
  /// Adds bytes; nothing is checked before the pointer is used.
  friend DevicePtr operator+(DevicePtr p, std::ptrdiff_t bytes) {
    p.address_ += static_cast<std::uintptr_t>(bytes);
    return p;
  }
  friend DevicePtr operator-(DevicePtr p, std::ptrdiff_t bytes) {
    p.address_ -= static_cast<std::uintptr_t>(bytes);
    return p;
  }
  ///@}
  /// Whether the addresses are equal.
  friend bool operator==(const DevicePtr& a, const DevicePtr& b) {
    return a.address_ == b.address_;
  }

  /// The memory that the pointer was made from, nullptr for a bare address. Throws LogicError if it
  /// has been freed.
  std::shared_ptr<Buffer> buffer() const;

 private:
  std::uintptr_t address_ = 0;
  bool knows_ = false;
  std::weak_ptr<Buffer> buffer_;
};

/// "0x7f0012345600".
std::string to_string(const DevicePtr& p);

/// "pageable host memory", "device memory", ...
std::string to_string(PointerKind kind);

/// What the driver knows about an address.
struct PointerInfo : AddressInfo {
  std::optional<Device> device = std::nullopt;  ///< that the memory lies on
};
///@{
/// Any address, of host or device memory. The memory of the CPU device is pageable.
PointerInfo pointer_info(const void* address, const Device& device = {});
PointerInfo pointer_info(const DevicePtr& p, const Device& device = {});
///@}

}  // namespace quarry
