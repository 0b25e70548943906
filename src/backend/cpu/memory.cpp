// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/memory.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include <quarry/base/error.hpp>

#include "backend/cpu/limits.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr std::size_t page_bytes = std::size_t{2} << 20;  // a huge page
constexpr std::size_t small_alignment = 256;

// the bits of CU_MEMHOSTALLOC_*
constexpr unsigned portable = 1, mapped = 2, write_combined = 4;

unsigned bits(const HostMemoryFlags& flags) {
  return (flags.portable ? portable : 0) | (flags.mapped ? mapped : 0) |
         (flags.write_combined ? write_combined : 0);
}

std::atomic<std::size_t> granted = 0;    ///< bytes that are allocated, touched or not
std::atomic<std::size_t> unchecked = 0;  ///< of these, since the limits were last read
constexpr std::size_t most_unchecked = std::size_t{16} << 20;

/// Linux overcommits, and kills the process when the memory is used. Reading the limits is slow:
/// small requests pass unchecked until their sum is as large as a large request.
bool is_available(std::size_t bytes) {
  if (bytes < most_unchecked && unchecked.fetch_add(bytes) + bytes < most_unchecked) return true;
  unchecked = 0;
  const MemoryInfo system = memory_limits();
  if (system.total == 0) return true;  // unknown
  const std::size_t given = granted, used = resident_bytes();
  const std::size_t untouched = given - std::min(given, used);
  return bytes <= system.free - std::min(system.free, untouched);
}

std::string unknown(const void* memory, const char* what) {
  return fmt::format("{} is no {}", memory, what);
}

}  // namespace

void* aligned_memory(std::size_t bytes) {
  const std::size_t alignment = bytes < 2 * page_bytes ? small_alignment : page_bytes;
  if (bytes > PTRDIFF_MAX - page_bytes || !is_available(bytes)) return nullptr;
  const std::size_t size = (bytes + (bytes == 0) + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, size);
  if (!memory) return nullptr;
  granted += malloc_usable_size(memory);
  if (alignment == page_bytes) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

void release_memory(void* memory) noexcept {
  if (memory) granted -= malloc_usable_size(memory);
  std::free(memory);
}

Device::Pitched pitched_memory(std::size_t width, std::size_t height) {
  const std::size_t filled = std::max<std::size_t>(width, 1) + (small_alignment - 1);
  const std::size_t pitch = filled / small_alignment * small_alignment;
  std::size_t bytes = 0;
  if (filled < width || __builtin_mul_overflow(pitch, height, &bytes)) return {};
  void* const memory = aligned_memory(bytes);
  return memory ? Device::Pitched{memory, pitch} : Device::Pitched{};
}

void* KnownMemory::add(void* memory, const Block& block) {
  if (!memory) return nullptr;
  std::unique_ptr<void, decltype(&release_memory)> until_known(memory, &release_memory);
  const std::lock_guard lock(mutex_);
  blocks_.insert_or_assign(static_cast<const std::byte*>(memory), block);
  return until_known.release();
}

void* KnownMemory::allocate_host(std::size_t bytes, const HostMemoryFlags& flags) {
  return add(aligned_memory(bytes), {Origin::allocated, bytes, bits(flags)});
}

void KnownMemory::free_host(void* memory) noexcept {
  {
    const std::lock_guard lock(mutex_);
    blocks_.erase(static_cast<const std::byte*>(memory));
  }
  release_memory(memory);
}

void* KnownMemory::allocate_managed(std::size_t bytes) {
  void* const memory = add(aligned_memory(bytes), {Origin::managed, bytes, 0});
  if (memory) ++managed_;
  return memory;
}

void KnownMemory::free(void* memory) noexcept {
  if (managed_.load(std::memory_order_relaxed) != 0) {
    const std::lock_guard lock(mutex_);
    managed_ -= blocks_.erase(static_cast<const std::byte*>(memory));
  }
  release_memory(memory);
}

void KnownMemory::register_host(void* memory, std::size_t bytes, const HostMemoryFlags& flags) {
  auto* const first = static_cast<const std::byte*>(memory);
  const std::lock_guard lock(mutex_);
  const auto after = blocks_.lower_bound(first);
  const bool is_known = containing(memory) != blocks_.end() ||
                        (after != blocks_.end() && after->first < first + bytes);
  require<LogicError>(!is_known, [&] {
    return fmt::format("host memory [{}, {}) is page-locked already", memory,
                       fmt::ptr(first + bytes));
  });
  blocks_.insert_or_assign(first, Block{Origin::registered, bytes, bits(flags)});
}

void KnownMemory::unregister_host(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<const std::byte*>(memory));
  require<LogicError>(found != blocks_.end() && found->second.origin == Origin::registered, [&] {
    return fmt::format("no host memory that begins at {} is registered", memory);
  });
  blocks_.erase(found);
}

KnownMemory::Blocks::const_iterator KnownMemory::containing(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  const std::size_t bytes = std::max<std::size_t>(found->second.bytes, 1);
  return static_cast<std::size_t>(at - found->first) < bytes ? found : blocks_.end();
}

const KnownMemory::Block& KnownMemory::page_locked(const void* memory) const {
  const auto found = containing(memory);
  require<LogicError>(found != blocks_.end() && found->second.origin != Origin::managed,
                      [&] { return unknown(memory, "page-locked memory"); });
  return found->second;
}

unsigned KnownMemory::flags(const void* memory) const {
  const std::lock_guard lock(mutex_);
  return page_locked(memory).flags;
}

void* KnownMemory::device_pointer(void* memory) const {
  const std::lock_guard lock(mutex_);
  page_locked(memory);
  return memory;
}

PointerInfo KnownMemory::info(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = containing(address);
  if (found == blocks_.end()) return {};
  const bool is_managed = found->second.origin == Origin::managed;
  return {{.kind = is_managed ? PointerKind::managed : PointerKind::page_locked,
           .device_pointer = reinterpret_cast<std::uintptr_t>(address),
           .host_pointer = reinterpret_cast<std::uintptr_t>(address),
           .base = reinterpret_cast<std::uintptr_t>(found->first),
           .bytes = found->second.bytes}};
}

void KnownMemory::require_managed(const void* memory) const {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<const std::byte*>(memory));
  require<LogicError>(found != blocks_.end() && found->second.origin == Origin::managed,
                      [&] { return unknown(memory, "start of managed memory"); });
}

void PooledBytes::add(std::size_t bytes) {
  const std::size_t used = used_ += bytes;
  std::size_t high = high_;
  while (high < used && !high_.compare_exchange_weak(high, used)) {
  }
}

DriverPoolInfo PooledBytes::info() const {
  const std::size_t used = used_, high = high_;
  return {.reserved = used, .reserved_high = high, .used = used, .used_high = high};
}

}  // namespace quarry::backend::cpu_backend
