// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/captures.hpp>
#include <quarry/memory/resource.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace quarry {

/// Memory with a home stream: on a device, or host memory that belongs to one. Freed memory is
/// reused in the order of the home stream, and only after the work of every other stream passed to
/// `used_on`.
class Buffer {
 public:
  ///@{
  /// From the current resource of the stream's device. 0 bytes allocate nothing. Throws MemoryError
  /// with the bytes requested and free.
  static std::shared_ptr<Buffer> allocate(std::size_t bytes, const Stream& home);
  static std::shared_ptr<Buffer> allocate(std::size_t bytes, const Stream& home,
                                          const Resource& resource);
  ///@}
  /// Foreign memory, kept alive by `owner`, which is released when the buffer is destroyed and
  /// the work of all streams that used it is done: with the buffer, or in a later call of the
  /// library. Throws LogicError for bytes at a null address or beyond the last one, and on a
  /// GPU for memory that the driver does not report as accessible to the device, if `space`
  /// is.
  static std::shared_ptr<Buffer> adopt(void* memory, std::size_t bytes, const Stream& home,
                                       std::shared_ptr<void> owner,
                                       MemorySpace space = MemorySpace::device);

  /// For allocate() and adopt(): arguments are not checked.
  Buffer(void* memory, std::size_t bytes, const Stream& home, std::shared_ptr<void> owner,
         MemorySpace space);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// The address for kernels; for host-only memory the host address. The buffer is no longer
  /// private.
  std::byte* data() const {
    is_private_.store(false, std::memory_order_relaxed);
    return data_;
  }
  /// The same, for the library itself: the buffer stays private.
  std::byte* address() const { return data_; }
  /// Whether no other code has the address: device memory of the standard resource of which nobody
  /// has asked for it. Kernels may begin to read it while kernels before them that write something
  /// else are running.
  bool is_private() const { return is_private_.load(std::memory_order_relaxed); }
  std::size_t bytes() const { return bytes_; }      ///< the size
  const Stream& stream() const { return home_; }    ///< the home stream
  Device device() const { return home_.device(); }  ///< of the home stream
  MemorySpace space() const { return space_; }      ///< where the memory lies
  /// The host address; nullptr for device memory of a GPU.
  std::byte* host_data() const;
  /// Whether both are on one device and have bytes in common: buffers may be made from the same
  /// memory.
  bool shares_memory(const Buffer& other) const {
    const auto begin = [](const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data_); };
    return this == &other ||
           (begin(*this) < begin(other) + other.bytes_ && begin(other) < begin(*this) + bytes_);
  }

  /// Whether the memory ends with the buffer, or later; else whoever has made it ends it.
  bool holds_memory() const { return resource_ || (owner_ && bytes_ > 0); }

  /// Keeps the first `bytes` only. False, and nothing has changed, where its resource cannot give
  /// back a part, or another stream than the home has used it.
  bool shrink(std::size_t bytes);

  /// To be called before work on the buffer is queued in `stream`. If that work is captured
  /// (GraphMemory), the memory is kept for the graph.
  void used_on(const Stream& stream) {
    if (stream == home_ && !is_per_thread_ && !detail::is_capturing()) [[likely]]
      return;
    remember(stream);
  }
  /// The streams passed to used_on that may still be using the buffer, without the home
  /// stream.
  std::vector<Stream> other_streams();
  /// The same for a deleter: it does not fail (if it cannot allocate the list it waits for the
  /// streams and returns none), and is called without concurrent users of the buffer.
  std::vector<Stream> last_streams() noexcept;

 private:
  using User = std::shared_ptr<detail::StreamState>;  ///< does not keep the stream alive
  void give_back() noexcept;
  void give_back_later() noexcept;
  void remember(const Stream& stream);
  void add(std::vector<User>::iterator at, User user);
  void keep_for_graph(const detail::StreamState& stream);
  void keep_for_captured_users() noexcept;
  void hand_over() noexcept;

  std::byte* data_;
  std::size_t bytes_;
  MemorySpace space_ = MemorySpace::device;
  mutable std::atomic<bool> is_private_ = false;
  bool is_per_thread_ = false;  ///< the home stream is the per-thread default stream
  Stream home_;
  std::optional<Resource> resource_;
  std::shared_ptr<void> owner_;
  std::mutex mutex_;
  std::vector<User> others_;  ///< by address; ended ones are removed before it grows
  /// Empty, and kept by graphs: takes over the memory when this buffer ends.
  std::shared_ptr<Buffer> kept_;
};

}  // namespace quarry
