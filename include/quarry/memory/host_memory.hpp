// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>
#include <quarry/memory/driver_resources.hpp>

#include <cstddef>
#include <optional>
#include <type_traits>

namespace quarry {

namespace detail {

/// The buffer of this library's page-locked, mapped, managed or registered memory that holds all of
/// [data, data + bytes), or nullptr. A copy that is queued with such memory calls `used_on` with
/// its stream, so that the memory is not reused before it is done.
std::shared_ptr<Buffer> find_host_buffer(const void* data, std::size_t bytes);

/// Page-locked memory, which release_pinned frees once every stream that has used it is done. 0
/// bytes are nullptr. Without a device the current one is taken.
void* allocate_pinned(std::size_t bytes, const HostMemoryOptions& options,
                      const std::optional<Device>& device);
void release_pinned(void* memory) noexcept;

/// Memory with host address `data`, and address buffer->data() for kernels of the home stream's
/// device. The host may write to it at once: it is not reused before the work on it is done.
struct HostVisibleMemory {
  std::shared_ptr<Buffer> buffer;
  std::byte* data;
};
HostVisibleMemory mapped_memory(std::size_t bytes, const Stream& home,
                                const HostMemoryOptions& options);
HostVisibleMemory managed_memory(std::size_t bytes, const Stream& home, bool attach_global);
/// Page-locked memory of one call of the driver, which the host may write to at once and which is
/// freed when the work on it is done; without the option `mapped` it belongs to the host.
HostVisibleMemory pagelocked_memory(std::size_t bytes, const Device& device,
                                    const HostMemoryOptions& options);

/// Frees the page-locked and mapped memory that is cached for `device`.
void trim_host_memory(const Device& device);

/// Throw MemoryError; LogicError unless `alignment` is a power of two.
void* allocate_aligned(std::size_t bytes, std::size_t alignment);
void release_aligned(void* memory, std::size_t alignment) noexcept;
void require_alignment(std::size_t alignment);
/// Throws SizeOverflow.
std::size_t allocation_bytes(std::size_t count, std::size_t itemsize);

}  // namespace detail

/// For standard and xtensor containers in page-locked memory: copies between it and a device run at
/// the speed of the link and, in a stream, do not block the host. A container may be dropped
/// while copies run: its memory is reused only when they are done. On the CPU device it is plain
/// memory.
template <class T>
class PinnedAllocator {
 public:
  static_assert(alignof(T) <= Resource::default_alignment);
  ///@{
  /// For std::allocator_traits: containers that are assigned or swapped take the allocator along.
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;
  ///@}

  /// Without a device: for the device that is current at allocation.
  PinnedAllocator() noexcept = default;
  /// Memory for copies with `device`.
  explicit PinnedAllocator(const HostMemoryOptions& options,
                           const std::optional<Device>& device = std::nullopt) noexcept
      : options_(options), device_(device) {}
  /// The same for elements of another type.
  template <class U>
  PinnedAllocator(const PinnedAllocator<U>& other) noexcept
      : options_(other.options()), device_(other.device()) {}

  /// Uninitialised. Throws MemoryError.
  T* allocate(std::size_t count) {
    return static_cast<T*>(
        detail::allocate_pinned(detail::allocation_bytes(count, sizeof(T)), options_, device_));
  }
  /// Reused when the copies that use it are done.
  void deallocate(T* memory, std::size_t) noexcept { detail::release_pinned(memory); }

  /// How the memory is locked.
  const HostMemoryOptions& options() const noexcept { return options_; }
  /// If empty: the device that is current at allocation.
  const std::optional<Device>& device() const noexcept { return device_; }

  /// Whether each can free what the other has allocated.
  template <class U>
  friend bool operator==(const PinnedAllocator& a, const PinnedAllocator<U>& b) noexcept {
    return a.options().portable == b.options().portable &&
           a.options().write_combined == b.options().write_combined &&
           a.options().mapped == b.options().mapped && a.device() == b.device();
  }

 private:
  HostMemoryOptions options_;
  std::optional<Device> device_;
};

/// For containers in pageable memory that begins at a multiple of `alignment` bytes.
template <class T>
class AlignedAllocator {
 public:
  ///@{
  /// For std::allocator_traits: containers that are assigned or swapped take the allocator along.
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;
  ///@}
  static constexpr std::size_t page = 4096;  ///< the default alignment, in bytes

  /// Throws LogicError unless `alignment` is a power of two.
  explicit AlignedAllocator(std::size_t alignment = page) : alignment_(alignment) {
    detail::require_alignment(alignment);
    if (alignment_ < alignof(T)) alignment_ = alignof(T);
  }
  /// The same for elements of another type.
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>& other) : AlignedAllocator(other.alignment()) {}

  /// Uninitialised. Throws MemoryError.
  T* allocate(std::size_t count) {
    return static_cast<T*>(
        detail::allocate_aligned(detail::allocation_bytes(count, sizeof(T)), alignment_));
  }
  /// Frees what allocate() gave.
  void deallocate(T* memory, std::size_t) noexcept { detail::release_aligned(memory, alignment_); }

  std::size_t alignment() const noexcept { return alignment_; }  ///< in bytes

  /// Whether each can free what the other has allocated.
  template <class U>
  friend bool operator==(const AlignedAllocator& a, const AlignedAllocator<U>& b) noexcept {
    return a.alignment() == b.alignment();
  }

 private:
  std::size_t alignment_;
};

}  // namespace quarry
