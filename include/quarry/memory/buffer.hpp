// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace quarry {

/// Memory with a home stream: on a device, or host memory that belongs to one. Freed memory is used
/// again in the order of the home stream, and only after the work of every other stream that
/// `used_on` has named.
class Buffer {
 public:
  ///@{
  /// From the current resource of the stream's device. 0 bytes take no memory. Throws MemoryError
  /// with what was asked and what is free.
  static std::shared_ptr<Buffer> allocate(std::size_t bytes, const Stream& home);
  static std::shared_ptr<Buffer> allocate(std::size_t bytes, const Stream& home,
                                          const Resource& resource);
  ///@}
  /// Memory of somebody else, kept alive by `owner`, which is dropped once the buffer has gone and
  /// the work of all streams that used it is done: with the buffer, or in a later call of the
  /// library. Throws LogicError for bytes at a null address or beyond the last one, and on a GPU
  /// for what the driver does not know as memory that the device can use, if `space` says that it
  /// is.
  static std::shared_ptr<Buffer> adopt(void* memory, std::size_t bytes, const Stream& home,
                                       std::shared_ptr<void> owner,
                                       MemorySpace space = MemorySpace::device);

  /// For allocate() and adopt(): what it is given is not checked.
  Buffer(void* memory, std::size_t bytes, const Stream& home, std::shared_ptr<void> owner,
         MemorySpace space);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Where kernels see it; for memory of the host alone, where the host does.
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }      ///< the size
  const Stream& stream() const { return home_; }    ///< the home stream
  Device device() const { return home_.device(); }  ///< of the home stream
  MemorySpace space() const { return space_; }      ///< where the memory lies
  /// Where the host sees it, nullptr for device memory of a GPU.
  std::byte* host_data() const;
  /// Whether a byte of it, on the same device, is in the other one too: buffers may have been made
  /// of the same memory.
  bool shares_memory(const Buffer& other) const {
    const auto begin = [](const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data_); };
    return this == &other ||
           (begin(*this) < begin(other) + other.bytes_ && begin(other) < begin(*this) + bytes_);
  }

  /// To be called before work on the buffer is queued in `stream`.
  void used_on(const Stream& stream) {
    if (stream == home_ && !is_per_thread_) [[likely]]
      return;
    remember(stream);
  }
  /// The streams that used_on has named so far and that may still be at work in the buffer, without
  /// the home stream.
  std::vector<Stream> other_streams();
  /// The same for a deleter: it does not fail (without memory for the list it waits for the streams
  /// instead and names none), and nobody else uses the buffer any more.
  std::vector<Stream> last_streams() noexcept;

 private:
  using User = std::shared_ptr<detail::StreamState>;  ///< does not keep the stream from its end
  void give_back() noexcept;
  void give_back_later() noexcept;
  void remember(const Stream& stream);
  void add(std::vector<User>::iterator at, User user);

  std::byte* data_;
  std::size_t bytes_;
  MemorySpace space_ = MemorySpace::device;
  bool is_per_thread_ = false;  ///< the home stream's handle is another queue in each thread
  Stream home_;
  std::optional<Resource> resource_;
  std::shared_ptr<void> owner_;
  std::mutex mutex_;
  std::vector<User> others_;  ///< by address; those that have ended go when it would grow
};

}  // namespace quarry
