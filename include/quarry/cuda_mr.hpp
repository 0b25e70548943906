// SPDX-License-Identifier: BSD-3-Clause
#pragma once
/// Memory resources from and for CCCL (cuda::mr). The program provides CCCL and the CUDA runtime
/// headers; both interfaces work: that of CCCL 3.0, as CUDA 13.0 has it (where
/// LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE must be defined), and that of 3.1 and later.
#include <quarry/memory/resource.hpp>

#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <cuda/version>

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>

#if CCCL_VERSION < 3001000 && !defined(LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE)
#error "before CCCL 3.1, cuda::mr needs LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE"
#endif

namespace quarry {

/// A stream-ordered resource of CCCL whose memory kernels can access.
#if CCCL_VERSION >= 3001000
template <class R>
concept CudaResource = ::cuda::mr::resource_with<R, ::cuda::mr::device_accessible>;
#else
template <class R>
concept CudaResource = ::cuda::mr::async_resource_with<R, ::cuda::mr::device_accessible>;
#endif

namespace detail {

template <CudaResource R>
class FromCudaMr {
 public:
  FromCudaMr(R resource, const Device& device, MemorySpace space)
      : resource_(std::make_shared<R>(std::move(resource))), device_(device), space_(space) {}

  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) {
    try {
#if CCCL_VERSION >= 3001000
      return resource_->allocate(reference(stream), bytes, alignment);
#else
      return resource_->allocate_async(bytes, alignment, reference(stream));
#endif
    } catch (const std::bad_alloc& e) {
      refuse(e.what(), bytes);
    } catch (const ::cuda::cuda_error& e) {
      refuse(e.what(), bytes);
    }
  }
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
#if CCCL_VERSION >= 3001000
    resource_->deallocate(reference(stream), memory, bytes, alignment);
#else
    resource_->deallocate_async(memory, bytes, alignment, reference(stream));
#endif
  }
  MemorySpace space() const { return space_; }
  Device device() const { return device_; }
  std::string name() const { return "cuda::mr"; }

 private:
  static ::cuda::stream_ref reference(const Stream& stream) {
    return ::cuda::stream_ref(reinterpret_cast<::cudaStream_t>(stream.handle()));
  }
  [[noreturn]] void refuse(const char* why, std::size_t bytes) const {
    throw MemoryError("cuda::mr on " + to_string(device_) + " (" + why + ")", {.requested = bytes});
  }

  std::shared_ptr<R> resource_;
  Device device_;
  MemorySpace space_;
};

/// The runtime's streams as Streams: one per handle, kept while memory allocated with it is live,
/// so that the resource recognises it, and not longer, since others destroy the stream.
class CudaStreams {
 public:
  explicit CudaStreams(const Device& device) : device_(device) {}

  Stream find(::cuda::stream_ref stream) {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream.get());
    const DeviceGuard guard(device_);
    if (device_.is_cpu() || handle == 0) return default_stream(device_);
    if (handle == 1) return legacy_default_stream();
    if (handle == 2) return per_thread_default_stream();
    const std::lock_guard lock(mutex_);
    if (auto known = by_handle_[handle].lock()) return Stream(std::move(known));
    std::erase_if(by_handle_, [](const auto& entry) { return entry.second.expired(); });
    const Stream made = external_stream(handle);
    by_handle_[handle] = made.shared();
    return made;
  }
  void hold(void* memory, const Stream& stream) {
    const std::lock_guard lock(mutex_);
    live_.insert_or_assign(memory, stream);
  }
  /// Destroy the result after the memory.
  auto release(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    return live_.extract(memory);
  }

 private:
  Device device_;
  std::mutex mutex_;
  std::map<std::uintptr_t, std::weak_ptr<StreamState>> by_handle_;
  std::map<void*, Stream> live_;
};

}  // namespace detail

/// A resource of CCCL for arrays on `device`: ResourceGuard guard(from_cuda_mr(pool)). It is copied
/// in; resource_ref and the like must not outlive what they refer to. Pass another space if the
/// host can access the memory too. It must allocate on `device` itself: the runtime's current
/// device is not changed. Its out-of-memory errors become MemoryError.
template <CudaResource R>
Resource from_cuda_mr(R resource, const Device& device = {},
                      MemorySpace space = MemorySpace::device) {
  return Resource(detail::FromCudaMr<R>(std::move(resource), device, space));
}

/// A resource of Quarry for CCCL, with the given cuda::mr properties, in both interfaces. A copy is
/// a handle to the same one. Streams are identified by their handles: before a stream is destroyed,
/// it must be idle and its memory deallocated.
template <class... Properties>
class BasicCudaMr {
 public:
  /// Throws LogicError if the memory does not have the properties.
  explicit BasicCudaMr(Resource resource)
      : resource_(std::move(resource)),
        streams_(std::make_shared<detail::CudaStreams>(resource_.device())) {
    const MemorySpace space = resource_.space();
    const bool has_all =
        ((!std::is_same_v<Properties, ::cuda::mr::host_accessible> || is_host_accessible(space)) &&
         ...) &&
        ((!std::is_same_v<Properties, ::cuda::mr::device_accessible> ||
          is_device_accessible(space)) &&
         ...);
    require<LogicError>(has_all, [&] {
      return "CudaMr: " + resource_.name() + " has " + to_string(space) +
             " memory, which is not accessible as its properties say";
    });
  }
  const Resource& resource() const { return resource_; }  ///< under it

  ///@{
  /// In the order of a stream: CCCL 3.1 and later (allocate), and before (allocate_async).
  void* allocate(::cuda::stream_ref stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) {
    const Stream home = streams_->find(stream);
    void* const memory = resource_.allocate(home, bytes, alignment);
    try {
      streams_->hold(memory, home);
    } catch (...) {
      resource_.deallocate(home, memory, bytes, alignment);
      throw;
    }
    return memory;
  }
  void deallocate(::cuda::stream_ref stream, void* memory, std::size_t bytes,
                  std::size_t alignment = Resource::default_alignment) noexcept {
    const auto held = streams_->release(memory);
    resource_.deallocate(streams_->find(stream), memory, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, std::size_t alignment, ::cuda::stream_ref stream) {
    return allocate(stream, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, ::cuda::stream_ref stream) {
    return allocate(stream, bytes);
  }
  void deallocate_async(void* memory, std::size_t bytes, std::size_t alignment,
                        ::cuda::stream_ref stream) noexcept {
    deallocate(stream, memory, bytes, alignment);
  }
  void deallocate_async(void* memory, std::size_t bytes, ::cuda::stream_ref stream) noexcept {
    deallocate(stream, memory, bytes);
  }
  ///@}

  ///@{
  /// Usable in any stream at once; before deallocation the work on the memory must be done.
  void* allocate_sync(std::size_t bytes, std::size_t alignment = Resource::default_alignment) {
    const Stream stream = default_stream(resource_.device());
    void* const memory = resource_.allocate(stream, bytes, alignment);
    try {
      stream.synchronize();
    } catch (...) {  // of work queued before
      resource_.deallocate(stream, memory, bytes, alignment);
      throw;
    }
    return memory;
  }
  void deallocate_sync(void* memory, std::size_t bytes,
                       std::size_t alignment = Resource::default_alignment) noexcept {
    const auto held = streams_->release(memory);
    resource_.deallocate(default_stream(resource_.device()), memory, bytes, alignment);
  }
  void* allocate(std::size_t bytes, std::size_t alignment = Resource::default_alignment) {
    return allocate_sync(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes,
                  std::size_t alignment = Resource::default_alignment) noexcept {
    deallocate_sync(memory, bytes, alignment);
  }
  ///@}

  /// Whether both are handles to one resource.
  friend bool operator==(const BasicCudaMr& a, const BasicCudaMr& b) {
    return a.resource_ == b.resource_;
  }
  /// CCCL's query whether the memory has property P.
  template <class P>
  requires(std::is_same_v<P, Properties> || ...) friend void get_property(const BasicCudaMr&,
                                                                          P) noexcept {}

 private:
  Resource resource_;
  std::shared_ptr<detail::CudaStreams> streams_;
};

/// For memory that kernels can access.
using CudaMr = BasicCudaMr<::cuda::mr::device_accessible>;
/// For mapped and managed memory, which the host can access too.
using CudaHostMr = BasicCudaMr<::cuda::mr::device_accessible, ::cuda::mr::host_accessible>;

}  // namespace quarry
