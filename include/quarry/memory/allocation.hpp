// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/deferred_cleanup.hpp>
#include <quarry/memory/device_pointer.hpp>

#include <limits>

/// Device memory in bytes: every call here is one call of the driver.
namespace quarry {

/// Bytes of the device that are free, and all of them.
MemoryInfo mem_get_info(const Device& device = {});

/// Device memory, or a part of it. Copies and views share it; it is freed with the last of them, or
/// by free(). Using freed memory throws LogicError.
class DeviceAllocation {
 public:
  /// As `stop` of view(): the end of the memory.
  static constexpr std::size_t to_end = std::numeric_limits<std::size_t>::max();

  /// No memory.
  DeviceAllocation() = default;
  /// All of `buffer`.
  explicit DeviceAllocation(std::shared_ptr<Buffer> buffer);

  std::size_t size() const { return bytes_; }  ///< in bytes
  /// nullptr without memory.
  std::byte* device_pointer() const;
  explicit operator std::uintptr_t() const {
    return reinterpret_cast<std::uintptr_t>(device_pointer());
  }
  Device device() const { return buffer()->device(); }  ///< that holds the memory
  /// All of the memory, also when this is a part.
  std::shared_ptr<Buffer> buffer() const;
  /// Copies and views that share the memory, this one included; 0 without memory.
  std::size_t use_count() const { return static_cast<std::size_t>(shared_.use_count()); }

  /// The address `bytes` bytes further on.
  friend DevicePtr operator+(const DeviceAllocation& a, std::ptrdiff_t bytes) {
    return DevicePtr(a) + bytes;
  }

  /// Bytes [start, stop). Throws IndexError if they are not within this.
  DeviceAllocation view(std::size_t start, std::size_t stop = to_end) const;
  /// `bytes` from `offset` on, as the buffer of an array, which keeps the memory alive. Throws
  /// IndexError.
  std::shared_ptr<Buffer> as_buffer(std::size_t bytes, std::size_t offset = 0) const;

  /// Frees the memory for all copies and views: a second call throws LogicError, and so does a call
  /// on a view. Buffers from as_buffer() keep the memory until they are destroyed.
  void free();

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::size_t offset_ = 0, bytes_ = 0;
};

/// Uninitialised memory; 0 bytes allocate none. If memory runs out, the device's caches are freed
/// before MemoryError is thrown.
DeviceAllocation mem_alloc(std::size_t bytes, const Device& device = {});

/// As many bytes as the elements of a device or host array have.
template <class A>
DeviceAllocation mem_alloc_like(const A& array, const Device& device = {}) {
  if constexpr (requires { array.nbytes(); }) {
    return mem_alloc(array.nbytes(), device);
  } else {
    return mem_alloc(array.size() * sizeof(*array.data()), device);
  }
}

/// Rows that start at multiples of `pitch` bytes.
struct PitchedAllocation {
  DeviceAllocation allocation;  ///< all rows
  std::size_t pitch = 0;        ///< bytes from one row to the next
};
/// `height` rows of `width` bytes, at the pitch that suits reads of `access_size` (4, 8 or 16)
/// bytes. Throws LogicError for another one.
PitchedAllocation mem_alloc_pitch(std::size_t width, std::size_t height, unsigned access_size = 4,
                                  const Device& device = {});

/// A block of device memory.
struct AddressRange {
  DevicePtr base;         ///< its first address
  std::size_t bytes = 0;  ///< its size
};
/// The allocation that contains `p`: that of the array or allocation it was made from, for a bare
/// address the driver's. Throws LogicError if there is none.
AddressRange mem_get_address_range(const DevicePtr& p);

}  // namespace quarry
