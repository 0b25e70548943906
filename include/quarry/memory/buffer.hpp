// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace quarry {

/// Memory on one device with a home stream. Freed memory is used again in the order of the home
/// stream, and only after the work of every other stream that `used_on` has named.
class Buffer {
 public:
  /// From the device's pool. 0 bytes take no memory. Throws MemoryError with what was asked and
  /// what is free.
  static std::shared_ptr<Buffer> allocate(std::size_t bytes, const Stream& home);
  /// Memory of somebody else, kept alive by `owner`.
  static std::shared_ptr<Buffer> adopt(void* memory, std::size_t bytes, const Stream& home,
                                       std::shared_ptr<void> owner);

  Buffer(void* memory, std::size_t bytes, const Stream& home, std::shared_ptr<void> owner);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  const Stream& stream() const { return home_; }
  Device device() const { return home_.device(); }

  /// To be called before work on the buffer is queued in `stream`.
  void used_on(const Stream& stream) {
    if (stream == home_) [[likely]]
      return;
    remember(stream);
  }

 private:
  void remember(const Stream& stream);

  std::byte* data_;
  std::size_t bytes_;
  Stream home_;
  std::shared_ptr<void> owner_;
  std::mutex mutex_;
  std::vector<Stream> others_;
};

/// What the library's pool holds on a device, in bytes.
struct PoolStatistics {
  std::size_t active_bytes = 0;  ///< in arrays
  std::size_t held_bytes = 0;    ///< cached, free to be used again
  std::size_t allocations = 0;   ///< calls that had to ask the device
};
PoolStatistics pool_statistics(const Device& device);
/// Waits for the device and gives cached memory back to it.
void trim_pool(const Device& device);

}  // namespace quarry
