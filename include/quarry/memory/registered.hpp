// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/host_array.hpp>
#include <quarry/memory/host_memory.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace quarry {

/// How host memory is registered.
struct RegisterOptions {
  std::optional<Device> device = std::nullopt;  ///< the current device if none
  bool portable = false;                        ///< page-locked for every GPU
  bool mapped = false;                          ///< kernels can use it too
  bool read_only = false;                       ///< the device does not write to it
};

/// Memory of the program that is page-locked while this lives: any address, any size. Exactly these
/// bytes are registered; bytes shared by several registrations stay locked until the last one ends.
/// A registration that overlaps a non-portable one on another device, or a writable one that
/// overlaps a read-only one, throws LogicError. On the CPU device nothing is locked.
class RegisteredHostMemory {
 public:
  /// `base`, if given, is kept alive. Throws MemoryError if the system refuses to lock the memory.
  RegisteredHostMemory(void* data, std::size_t bytes, const RegisterOptions& options = {},
                       std::shared_ptr<void> base = nullptr);
  ///@{
  /// Move-only; a moved-from object has nothing registered.
  RegisteredHostMemory(RegisteredHostMemory&&) noexcept = default;
  RegisteredHostMemory& operator=(RegisteredHostMemory&&) noexcept = default;
  ///@}
  /// As unregister(), if that has not been called.
  ~RegisteredHostMemory();

  std::byte* data() const { return data_; }                    ///< the first byte
  std::size_t bytes() const { return bytes_; }                 ///< the size
  const std::shared_ptr<void>& base() const { return base_; }  ///< what is kept alive
  bool is_registered() const { return buffer_ != nullptr; }    ///< whether it is locked now

  /// Waits for the streams that have used the memory and unlocks it. A second call throws
  /// LogicError.
  void unregister();

  /// The address for kernels. Throws LogicError if it was not registered as mapped, or no longer
  /// is.
  std::byte* device_pointer() const;

 private:
  std::byte* data_;
  std::size_t bytes_;
  bool is_mapped_;
  std::shared_ptr<void> base_;
  std::shared_ptr<Buffer> buffer_;
};

namespace detail {

/// The bytes from the first to the last element.
struct HostSpan {
  std::byte* data;
  std::size_t bytes;
};
HostSpan span_of(const HostRef& array);

/// Page-locks the memory until the buffer, which kernels can access with the option `mapped`, is
/// destroyed and the streams that have used it are done. `base` is kept as long.
std::shared_ptr<Buffer> registered_buffer(const HostSpan& span, const Stream& home,
                                          const RegisterOptions& options,
                                          std::shared_ptr<void> base);

}  // namespace detail

/// Page-locks host arrays for the scope.
class [[nodiscard]] PinnedScope {
 public:
  /// Registers all of the arrays, or throws and registers none.
  PinnedScope(const std::vector<HostRef>& arrays, const RegisterOptions& options);

 private:
  std::vector<RegisteredHostMemory> arrays_;
};

/// auto scope = pinned(a, b):  copies of these host arrays run at the speed of the link, and in a
/// stream without blocking the host, until the scope ends; it then waits for the streams that
/// have copied them. If one array cannot be locked, none is. Scopes may nest, also over the same
/// array.
template <HostArray... H>
PinnedScope pinned(H&... arrays) {
  return PinnedScope({host_ref(arrays)...}, {});
}

}  // namespace quarry
