// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace quarry {

/// The kind of memory, which decides who can access it.
enum class MemorySpace { device, pinned, mapped, managed, host };
/// "device", "pinned", ...
std::string to_string(MemorySpace space);
/// Whether the host can read and write it.
constexpr bool is_host_accessible(MemorySpace space) { return space != MemorySpace::device; }
/// Whether kernels can access it; plain host memory and unmapped pinned memory are for
/// copies.
constexpr bool is_device_accessible(MemorySpace space) {
  return space != MemorySpace::host && space != MemorySpace::pinned;
}

namespace detail {
template <class R>
concept ResourceOperations = requires(R& r, const R& c, const Stream& stream, void* memory,
                                      std::size_t n) {
  { r.allocate(stream, n, n) } -> std::same_as<void*>;
  { r.deallocate(stream, memory, n, n) }
  noexcept;
  { c.space() } -> std::same_as<MemorySpace>;
  { c.device() } -> std::same_as<Device>;
};
}  // namespace detail

/// The requirements of a memory resource. `allocate` returns memory for work queued in `stream`
/// from now on and throws MemoryError if memory runs out; `deallocate` frees it in the order of
/// `stream`, with the same size and alignment. Both may be called from any thread. Copies of a
/// resource are handles to the same memory. Alignment is a power of two.
template <class R>
concept MemoryResource = std::copy_constructible<R> && detail::ResourceOperations<R>;

/// Any memory resource, by value: copies are handles to the same one, and so is a moved-from one.
/// Optional members (name(), trim(), shrink(), and deallocate with the streams that used the
/// memory) are detected at construction.
class Resource {
 public:
  /// For memory of arrays: a multiple of 256 bytes on every device.
  static constexpr std::size_t default_alignment = 256;

  /// The type-erased interface of a MemoryResource.
  struct Interface {
    virtual ~Interface() = default;
    /// Throws MemoryError.
    virtual void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) = 0;
    /// `others` have used the memory too; it may be reused only after their work.
    virtual void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                            std::size_t bytes, std::size_t alignment) noexcept = 0;
    ///@{
    /// As the members of Resource.
    virtual MemorySpace space() const = 0;
    virtual Device device() const = 0;
    virtual std::string name() const = 0;
    virtual void trim() = 0;
    virtual bool shrink(const Stream&, void* /*memory*/, std::size_t /*bytes*/, std::size_t /*to*/,
                        std::size_t /*alignment*/) {
      return false;
    }
    ///@}
  };

  /// Of any MemoryResource. (Whether R can be copied is not part of the constraint: for adaptors
  /// made from a Resource it would be recursive.)
  template <class R>
  requires(!std::same_as<R, Resource> && detail::ResourceOperations<R>) Resource(R resource)
      : shared_(std::make_shared<Model<R>>(std::move(resource))) {
    static_assert(MemoryResource<R>, "a resource must be copyable");
  }
  /// The same for one that lives as long as the process: copies have no reference count.
  template <MemoryResource R>
  static Resource immortal(R resource) {
    return Resource(
        std::shared_ptr<Interface>(std::shared_ptr<void>(), new Model<R>(std::move(resource))));
  }
  /// For resources of the library. Throws LogicError for nullptr.
  explicit Resource(std::shared_ptr<Interface> shared) : shared_(std::move(shared)) {
    if (!shared_) [[unlikely]]
      throw_empty();
  }
  ///@{
  /// Handles to the same resource; so is a moved-from one.
  Resource(const Resource&) = default;
  Resource& operator=(const Resource&) = default;
  // A move copies. NOLINTNEXTLINE(performance-move-constructor-init)
  Resource(Resource&& other) noexcept : shared_(other.shared_) {}
  Resource& operator=(Resource&& other) noexcept {
    shared_ = other.shared_;
    return *this;
  }
  ///@}

  /// Memory for work queued in `stream` from now on. Throws MemoryError.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = default_alignment) const {
    return shared_->allocate(stream, bytes, alignment);
  }
  ///@{
  /// Frees the memory in the order of `stream`, and after the work that `others` have queued. Size
  /// and alignment are those of allocate().
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment = default_alignment) const noexcept {
    shared_->deallocate(stream, {}, memory, bytes, alignment);
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment = default_alignment) const noexcept {
    shared_->deallocate(stream, others, memory, bytes, alignment);
  }
  ///@}
  MemorySpace space() const { return shared_->space(); }  ///< where the memory lies
  Device device() const { return shared_->device(); }     ///< that can use it
  std::string name() const { return shared_->name(); }    ///< for messages
  /// Returns cached memory that is not in use to its upstream; may wait.
  void trim() const { shared_->trim(); }
  /// Memory of `bytes` that only `stream` has used becomes one of `to` bytes, for deallocate() too.
  /// False, and nothing has changed, for a resource that cannot.
  bool shrink(const Stream& stream, void* memory, std::size_t bytes, std::size_t to,
              std::size_t alignment = default_alignment) const {
    return shared_->shrink(stream, memory, bytes, to, alignment);
  }

  /// Whether both are handles of one resource.
  friend bool operator==(const Resource&, const Resource&) = default;

 private:
  template <class R>
  struct Model;
  [[noreturn]] static void throw_empty();

  std::shared_ptr<Interface> shared_;
};

namespace detail {
/// Makes `stream` wait, on the device, for the work queued in `others` so far; waits on the host if
/// that is not possible.
void join_streams(const Stream& stream, std::span<const Stream> others) noexcept;
}  // namespace detail

/// A resource of type R.
template <class R>
struct Resource::Model final : Resource::Interface {
  explicit Model(R r) : resource(std::move(r)) {}
  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) override {
    return resource.allocate(stream, bytes, alignment);
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) noexcept override {
    if constexpr (requires { resource.deallocate(stream, others, memory, bytes, alignment); }) {
      resource.deallocate(stream, others, memory, bytes, alignment);
    } else {
      detail::join_streams(stream, others);
      resource.deallocate(stream, memory, bytes, alignment);
    }
  }
  MemorySpace space() const override { return resource.space(); }
  Device device() const override { return resource.device(); }
  std::string name() const override {
    if constexpr (requires { resource.name(); }) {
      return resource.name();
    } else {
      return to_string(resource.space());
    }
  }
  void trim() override {
    if constexpr (requires { resource.trim(); }) resource.trim();
  }
  bool shrink(const Stream& stream, void* memory, std::size_t bytes, std::size_t to,
              std::size_t alignment) override {
    if constexpr (requires { resource.shrink(stream, memory, bytes, to, alignment); }) {
      return resource.shrink(stream, memory, bytes, to, alignment);
    } else {
      return false;
    }
  }
  R resource;
};

}  // namespace quarry
