// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <vector>

namespace quarry::memory {

/// The host memory known to the library, by address. If it is empty a lookup costs one atomic
/// load.
class HostRegistry {
 public:
  static HostRegistry& instance();

  /// A block of the library with host address `data`; blocks do not overlap. With `keep` the
  /// registry shares the ownership.
  void add_block(const void* data, const std::shared_ptr<Buffer>& buffer, bool keep);
  /// Memory of the program that is page-locked; such ranges may overlap.
  void add_range(const void* data, std::size_t bytes, const std::shared_ptr<Buffer>& buffer);
  /// Returns the owner that was kept, for the caller to release.
  std::shared_ptr<Buffer> remove_block(const void* data) noexcept;
  void remove_range(const void* data, const Buffer* buffer) noexcept;

  std::shared_ptr<Buffer> find(const void* data, std::size_t bytes) const;
  /// As find, among the blocks of the library alone.
  std::shared_ptr<Buffer> find_block(const void* data, std::size_t bytes) const;

 private:
  struct Entry {
    std::uintptr_t begin;
    std::size_t bytes;
    std::weak_ptr<Buffer> buffer;
    const Buffer* identity;
    std::shared_ptr<Buffer> kept;
    bool holds(std::uintptr_t at, std::size_t size) const {
      return at >= begin && size <= bytes && at - begin <= bytes - size;
    }
  };
  std::shared_ptr<Buffer> block_at(std::uintptr_t at, std::size_t bytes) const;

  std::atomic<std::size_t> count_ = 0;
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, Entry> blocks_;
  std::vector<Entry> ranges_;
};

/// The buffer, with host address `data`, registered for as long as it lives.
std::shared_ptr<Buffer> listed(const void* data, std::shared_ptr<Buffer> buffer);

}  // namespace quarry::memory
