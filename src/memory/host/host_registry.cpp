// SPDX-License-Identifier: BSD-3-Clause
#include "memory/host/host_registry.hpp"
#include "base/forked.hpp"

#include <algorithm>
#include <mutex>

namespace quarry::memory {
namespace {

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

HostRegistry& HostRegistry::instance() {
  static HostRegistry* const registry = new HostRegistry;  // containers may outlive static objects
  return *registry;
}

void HostRegistry::add_block(const void* data, const std::shared_ptr<Buffer>& buffer, bool keep) {
  const std::uintptr_t begin = address(data);
  const std::unique_lock lock(mutex_);
  blocks_.insert_or_assign(
      begin, Entry{begin, buffer->bytes(), buffer, buffer.get(), keep ? buffer : nullptr});
  count_.store(blocks_.size() + ranges_.size(), std::memory_order_release);
}

void HostRegistry::add_range(const void* data, std::size_t bytes,
                             const std::shared_ptr<Buffer>& buffer) {
  const std::unique_lock lock(mutex_);
  ranges_.push_back({address(data), bytes, buffer, buffer.get(), nullptr});
  count_.store(blocks_.size() + ranges_.size(), std::memory_order_release);
}

std::shared_ptr<Buffer> HostRegistry::remove_block(const void* data) noexcept {
  if (is_forked()) return nullptr;
  const std::unique_lock lock(mutex_);
  const auto found = blocks_.find(address(data));
  if (found == blocks_.end()) return nullptr;
  auto kept = std::move(found->second.kept);
  blocks_.erase(found);
  count_.store(blocks_.size() + ranges_.size(), std::memory_order_release);
  return kept;
}

void HostRegistry::remove_range(const void* data, const Buffer* buffer) noexcept {
  const std::unique_lock lock(mutex_);
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), [&](const Entry& entry) {
    return entry.begin == address(data) && entry.identity == buffer;
  });
  if (found == ranges_.end()) return;
  ranges_.erase(found);
  count_.store(blocks_.size() + ranges_.size(), std::memory_order_release);
}

std::shared_ptr<Buffer> HostRegistry::block_at(std::uintptr_t at, std::size_t bytes) const {
  const auto next = blocks_.upper_bound(at);
  if (next == blocks_.begin()) return nullptr;
  const Entry& entry = std::prev(next)->second;
  return entry.holds(at, bytes) ? entry.buffer.lock() : nullptr;
}

std::shared_ptr<Buffer> HostRegistry::find(const void* data, std::size_t bytes) const {
  if (count_.load(std::memory_order_acquire) == 0 || bytes == 0) return nullptr;
  const std::shared_lock lock(mutex_);
  if (auto block = block_at(address(data), bytes)) return block;
  for (const Entry& entry : ranges_) {
    if (!entry.holds(address(data), bytes)) continue;
    if (auto buffer = entry.buffer.lock()) return buffer;
  }
  return nullptr;
}

std::shared_ptr<Buffer> HostRegistry::find_block(const void* data, std::size_t bytes) const {
  const std::shared_lock lock(mutex_);
  return block_at(address(data), bytes);
}

namespace {

/// Removes the buffer from the registry before its memory can be reused.
struct Listed {
  Listed(const void* at, std::shared_ptr<Buffer> shared) : data(at), buffer(std::move(shared)) {}
  ~Listed() { HostRegistry::instance().remove_block(data); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  const void* data;
  std::shared_ptr<Buffer> buffer;
};

}  // namespace

std::shared_ptr<Buffer> listed(const void* data, std::shared_ptr<Buffer> buffer) {
  if (buffer->bytes() == 0) return buffer;
  Buffer* const inner = buffer.get();
  std::shared_ptr<Buffer> result(std::make_shared<Listed>(data, std::move(buffer)), inner);
  HostRegistry::instance().add_block(data, result, false);
  return result;
}

}  // namespace quarry::memory
