// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/host_array.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/managed.hpp>

#include <cstddef>
#include <memory>
#include <span>

/// Blocks of host memory in bytes, each one call of the driver, as PyCUDA has them. Arrays in such
/// memory: pagelocked_empty, aligned_empty (<quarry/pinned.hpp>), mapped_array, managed_array.
///
///     qy::PagelockedHostAllocation block(1 << 20, {.mapped = true});
///     kernel.launch({.block = 256}, block);  // the host's memory, over the link
///
namespace quarry {

/// Host memory that a GPU can use. Copies share it. It is also device memory for raw calls and
/// kernels (DeviceMemory), where it is mapped or managed.
class HostPointer {
 public:
  /// The first byte. Throws LogicError after free().
  std::byte* data() const { return buffer(), data_; }
  std::size_t size() const { return buffer(), bytes_; }  ///< in bytes; the same exception
  Device device() const { return device_; }              ///< that it was made for
  /// All of the allocation: arrays over it keep it alive. Throws LogicError after free().
  const std::shared_ptr<Buffer>& buffer() const;
  /// The address by which kernels of the device see the memory. Throws LogicError where they
  /// cannot.
  std::byte* get_device_pointer() const;
  /// The same.
  std::byte* device_pointer() const { return get_device_pointer(); }
  /// How the driver has made page-locked memory, which may be more than what was asked for. Throws
  /// LogicError for memory of other kinds.
  HostMemoryOptions get_flags() const;

  /// For the library itself.
  HostPointer(detail::HostVisibleMemory memory, std::size_t bytes, const Device& device)
      : buffer_(std::move(memory.buffer)), data_(memory.data), bytes_(bytes), device_(device) {}

 protected:
  /// Gives the memory up; it is freed when the work on it that is queued is done.
  void release();

 private:
  std::shared_ptr<Buffer> buffer_;
  std::byte* data_;
  std::size_t bytes_;
  Device device_;
};

/// What a host array lies in: the page-locked, mapped or managed memory of this library, or memory
/// of the program that it has registered. PyCUDA's `array.base`. Throws LogicError for other
/// memory.
template <HostArray H>
HostPointer base_of(H& array, const Device& device = {});

/// Page-locked memory. It is freed by the destructor or by free(), at once or when the copies that
/// use it are done.
class PagelockedHostAllocation : public HostPointer {
 public:
  /// Uninitialised. Throws MemoryError.
  explicit PagelockedHostAllocation(std::size_t bytes, const HostMemoryOptions& options = {},
                                    const Device& device = {})
      : HostPointer(detail::pagelocked_memory(bytes, device, options), bytes, device) {}
  ///@{
  /// Move-only; a moved-from object has no memory.
  PagelockedHostAllocation(PagelockedHostAllocation&&) noexcept = default;
  PagelockedHostAllocation& operator=(PagelockedHostAllocation&&) noexcept = default;
  ///@}
  /// Arrays over buffer() keep the memory until they are destroyed. A second call throws
  /// LogicError.
  void free() { release(); }
};

/// Managed memory, whose pages migrate to the processor that uses them: one address for the host
/// and all GPUs. Freed by the destructor or by free(), which wait for the streams that have used
/// it.
class ManagedAllocation : public HostPointer {
 public:
  /// Uninitialised. With `how` = Attach::host no kernel can use it before it is attached to a
  /// stream or to all. Throws MemoryError, and LogicError for Attach::single.
  explicit ManagedAllocation(std::size_t bytes, Attach how = Attach::global,
                             const Device& device = {});
  ///@{
  /// Move-only; a moved-from object has no memory.
  ManagedAllocation(ManagedAllocation&&) noexcept = default;
  ManagedAllocation& operator=(ManagedAllocation&&) noexcept = default;
  ///@}
  /// Who can use the memory from here on in the order of `stream`: everybody, the host alone, or
  /// with Attach::single that stream alone.
  void attach(Attach how, const Stream& stream = current_stream()) const;
  /// Moves the pages to `to`, a GPU or the host (Device::cpu()), in the order of `stream`. Throws
  /// LogicError on GPUs without the attribute CONCURRENT_MANAGED_ACCESS.
  void prefetch(const Device& to, const Stream& stream = current_stream()) const;
  /// Tells the driver how `about` will use the memory; see Advice.
  void advise(Advice advice, const Device& about) const;
  /// As PagelockedHostAllocation::free().
  void free() { release(); }

 private:
  std::span<std::byte> bytes() const { return {data(), size()}; }
};

/// Pageable host memory that begins at a multiple of `alignment` bytes. It is freed by the
/// destructor or by free(); queued copies must be done.
class AlignedHostAllocation {
 public:
  /// Uninitialised. Throws MemoryError; LogicError unless `alignment` is a power of two.
  explicit AlignedHostAllocation(std::size_t bytes,
                                 std::size_t alignment = AlignedAllocator<char>::page);
  std::byte* data() const;                              ///< throws LogicError after free()
  std::size_t size() const { return data(), bytes_; }   ///< in bytes; the same exception
  std::size_t alignment() const { return alignment_; }  ///< in bytes
  void free();                                          ///< a second call throws LogicError

 private:
  struct Release {
    std::size_t alignment;
    void operator()(std::byte* memory) const noexcept {
      detail::release_aligned(memory, alignment);
    }
  };
  std::unique_ptr<std::byte, Release> memory_;
  std::size_t bytes_, alignment_;
};

namespace detail {
/// Throws LogicError where [data, data + bytes) is in no memory that the library knows.
HostPointer base_of(void* data, std::size_t bytes, const Device& device);
}  // namespace detail

template <HostArray H>
HostPointer base_of(H& array, const Device& device) {
  const HostRef ref = host_ref(array);
  const auto bytes =
      static_cast<std::size_t>(element_count(ref.layout.shape)) * ref.dtype.itemsize();
  return detail::base_of(ref.data, bytes, device);
}

}  // namespace quarry
