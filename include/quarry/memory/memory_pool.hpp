// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>
#include <quarry/memory/device_pointer.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/host_memory.hpp>

#include <utility>
#include <vector>

namespace quarry {

/// A pool that keeps whole blocks of its upstream and reuses each for requests of the same size
/// class; every power of two has 16 classes, so at most a sixteenth is lost, and the same sequence
/// of calls makes the same blocks. (Pool, the default of arrays, splits and joins blocks.) A block
/// is reused at once in its own stream, in another one after its own stream's work. Usable from any
/// thread. A copy is a handle to the same pool; blocks keep it alive. It is a MemoryResource: with
/// ResourceGuard guard(pool) arrays allocate from it.
class MemoryPool {
 public:
  ///@{
  /// A handle to the same pool; so is a moved-from one.
  MemoryPool(const MemoryPool&) = default;
  MemoryPool& operator=(const MemoryPool&) = default;
  ///@}

  /// The class of a request: 16 * floor(log2(bytes)) plus the four bits after the first; 0 for 0.
  static int bin_number(std::size_t bytes);
  /// The largest request of class `bin`: the size of its blocks. Throws LogicError for an invalid
  /// class.
  static std::size_t alloc_size(int bin);

  std::size_t held_blocks() const;           ///< kept for later
  std::size_t active_blocks() const;         ///< handed out
  std::size_t managed_bytes() const;         ///< of all blocks
  std::size_t active_bytes() const;          ///< as requested, of the allocated blocks
  std::size_t peak_managed_bytes() const;    ///< the most it has been
  std::size_t upstream_allocations() const;  ///< since the pool was made

  /// Returns the held blocks to the upstream.
  void free_held();
  /// The same, and from now on blocks are returned as soon as they are freed.
  void stop_holding();

  /// Throws MemoryError, after held blocks have been returned, the largest first, and the device's
  /// Pool has been trimmed.
  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment);
  /// Held for a request of the same size class, or returned after stop_holding().
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept;
  MemorySpace space() const;    ///< of the upstream
  Device device() const;        ///< of the upstream
  std::string name() const;     ///< for messages
  void trim() { free_held(); }  ///< as free_held()

  /// Whether both are handles of one pool.
  friend bool operator==(const MemoryPool& a, const MemoryPool& b) { return a.state_ == b.state_; }

 protected:
  /// A pool over `upstream`, called `name` in messages.
  MemoryPool(Resource upstream, std::string name);
  /// From `resource`, which allocates from this pool. A request of 0 bytes gets a block of 1 byte.
  static std::shared_ptr<Buffer> allocate_block(std::size_t bytes, const Stream& stream,
                                                const Resource& resource);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A block of a pool: the destructor or free() returns it.
class PooledAllocation {
 public:
  std::size_t size() const { return bytes_; }  ///< in bytes, as asked for
  /// Throws LogicError after free() and after a move.
  const std::shared_ptr<Buffer>& buffer() const;
  /// Arrays over buffer() keep the block until they are destroyed. A second call throws
  /// LogicError.
  void free();

 protected:
  /// Owns a block, of which `bytes` bytes were requested.
  explicit PooledAllocation(std::shared_ptr<Buffer> buffer, std::size_t bytes)
      : buffer_(std::move(buffer)), bytes_(bytes) {}
  ~PooledAllocation() = default;
  ///@{
  /// Move-only; a moved-from object has no block.
  PooledAllocation(PooledAllocation&& other) noexcept
      : buffer_(std::move(other.buffer_)), bytes_(std::exchange(other.bytes_, 0)) {}
  PooledAllocation& operator=(PooledAllocation&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ///@}

 private:
  std::shared_ptr<Buffer> buffer_;
  std::size_t bytes_ = 0;
};

/// A block of a DeviceMemoryPool, for raw copies or as the memory of arrays.
class PooledDeviceAllocation : public PooledAllocation {
 public:
  std::byte* device_pointer() const { return buffer()->data(); }  ///< the first byte
  explicit operator std::uintptr_t() const {
    return reinterpret_cast<std::uintptr_t>(device_pointer());
  }
  Device device() const { return buffer()->device(); }  ///< that holds the memory
  /// The address `bytes` bytes further on.
  friend DevicePtr operator+(const PooledDeviceAllocation& a, std::ptrdiff_t bytes) {
    return DevicePtr(a) + bytes;
  }

 private:
  friend class DeviceMemoryPool;
  using PooledAllocation::PooledAllocation;
};

/// Host memory; a contiguous range of bytes.
class PooledHostAllocation : public PooledAllocation {
 public:
  std::byte* data() const { return buffer()->host_data(); }  ///< as the host sees it
  /// The address for kernels. Throws LogicError if it is not mapped.
  std::byte* device_pointer() const;

 private:
  friend class PageLockedMemoryPool;
  using PooledAllocation::PooledAllocation;
};

/// A pool of device memory, or of any memory that kernels can access.
class DeviceMemoryPool : public MemoryPool {
 public:
  /// Throws LogicError for memory that kernels cannot access.
  explicit DeviceMemoryPool(Resource upstream = device_resource());

  using MemoryPool::allocate;
  /// For work in `stream`; it may be freed before that is done.
  PooledDeviceAllocation allocate(std::size_t bytes, const Stream& stream);
  /// In the default stream of the pool's device.
  PooledDeviceAllocation allocate(std::size_t bytes);
};

/// How page-locked memory is made.
struct PageLockedAllocator {
  bool portable = false;        ///< page-locked for every GPU
  bool mapped = false;          ///< kernels can use it
  bool write_combined = false;  ///< uncached: fast to write in order, very slow to read
  std::optional<Device> device = std::nullopt;  ///< the current device if none

  /// Such memory, as a pool's upstream.
  Resource resource() const;
};

class PageLockedMemoryPool;
/// What PageLockedMemoryPool::allocate<T>(shape) makes; <quarry/pooled.hpp> defines it for xtensor.
template <class T, class Enable>
struct PooledArrayOf {
  /// Does not compile: <quarry/pooled.hpp> is not included.
  static std::vector<T> make(const PageLockedMemoryPool&, const Shape&, Order) {
    static_assert(sizeof(T) == 0, "allocate<T>(shape) needs #include <quarry/pooled.hpp>");
    return {};
  }
};

/// A pool of page-locked host memory. A freed block is reused when the copies from and to it are
/// done; until then it counts as active.
class PageLockedMemoryPool : public MemoryPool {
 public:
  /// Page-locked as `allocator` says.
  explicit PageLockedMemoryPool(const PageLockedAllocator& allocator = {});

  using MemoryPool::allocate;
  /// Uninitialised. Throws MemoryError.
  PooledHostAllocation allocate(std::size_t bytes);
  /// An xtensor array, uninitialised, whose memory is a block of the pool. Needs
  /// <quarry/pooled.hpp>.
  template <class T>
  auto allocate(const Shape& shape, Order order = Order::c) {
    return PooledArrayOf<T, void>::make(*this, shape, order);
  }

  ///@{
  /// As MemoryPool's, after the copies are done.
  void free_held() { host_.trim(); }
  void stop_holding();
  ///@}

 private:
  template <class T>
  friend class PooledAllocator;
  void* allocate_kept(std::size_t bytes);

  Resource host_;  ///< blocks in the order of the host
  Stream home_;
};

/// For standard and xtensor containers in blocks of a PageLockedMemoryPool. An allocator made
/// without a pool has its own.
template <class T>
class PooledAllocator {
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

  PooledAllocator() : PooledAllocator(PageLockedMemoryPool()) {}
  /// Blocks of `pool`.
  explicit PooledAllocator(PageLockedMemoryPool pool) : pool_(std::move(pool)) {}
  /// The same pool for elements of another type.
  template <class U>
  PooledAllocator(const PooledAllocator<U>& other) : pool_(other.pool()) {}

  /// Uninitialised. Throws MemoryError.
  T* allocate(std::size_t count) {
    return static_cast<T*>(pool_.allocate_kept(detail::allocation_bytes(count, sizeof(T))));
  }
  /// Back to the pool when the copies that use it are done.
  void deallocate(T* memory, std::size_t) noexcept { detail::release_pinned(memory); }

  const PageLockedMemoryPool& pool() const { return pool_; }  ///< that the blocks come from

  /// Whether both allocate from one pool.
  template <class U>
  friend bool operator==(const PooledAllocator& a, const PooledAllocator<U>& b) {
    return a.pool() == b.pool();
  }

 private:
  PageLockedMemoryPool pool_;
};

}  // namespace quarry
