// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/memory/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#endif

namespace quarry::fake {
namespace {

constexpr std::size_t page = 4096;
constexpr int poison = 0xFB;

/// A block begins this far into its first page; what is before it says whether the block is there.
constexpr std::size_t head = Arena::alignment;

std::size_t pages(std::size_t bytes) { return (head + bytes + page - 1) / page * page; }

/// Large blocks are poisoned at both ends only, so that they cost no memory until they are used.
void fill_with_poison(std::byte* memory, std::size_t bytes) {
  constexpr std::size_t whole = std::size_t{8} << 20, part = std::size_t{2} << 20;
  if (bytes <= whole) {
    std::memset(memory, poison, bytes);
  } else {
    std::memset(memory, poison, part);
    std::memset(memory + bytes - part, poison, part);
  }
}

void* map_nothing(std::size_t bytes) {
  return mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/// The bytes [offset, offset + bytes) of a file; at `where` unless that is null.
void* map_file(int file, void* where, std::size_t offset, std::size_t bytes) {
  const int fixed = where ? MAP_FIXED : 0;
  return mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, file,
              static_cast<off_t>(offset));
}

std::uint64_t serial_of(int file, std::size_t offset) {
  std::uint64_t serial = 0;
  const bool is_read =
      pread(file, &serial, sizeof serial, static_cast<off_t>(offset)) == sizeof serial;
  return is_read ? serial : 0;
}

}  // namespace

void Arena::open() {
  if (view_) return;
  file_ = memfd_create("quarry-fake-device-memory", MFD_CLOEXEC);
  for (size_ = std::size_t{1} << 40; size_ >= std::size_t{1} << 32; size_ /= 4) {
    void* const addresses = map_nothing(size_);
    void* view = MAP_FAILED;
    if (addresses != MAP_FAILED && ftruncate(file_, static_cast<off_t>(size_)) == 0) {
      view = map_file(file_, nullptr, 0, size_);
    }
    if (view != MAP_FAILED) {
      first_ = next_ = reinterpret_cast<CUdeviceptr>(addresses);
      view_ = static_cast<std::byte*>(view);
      return;
    }
    if (addresses != MAP_FAILED) munmap(addresses, size_);
  }
  throw std::runtime_error("the fake driver finds no room for its device memory");
}

void Arena::part_from_parent() {
  const int file = memfd_create("quarry-fake-device-memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size_)) != 0 ||
      map_file(file, view_, 0, size_) == MAP_FAILED) {
    std::abort();
  }
  ::close(file_);
  file_ = file;
}

CUdeviceptr Arena::take_addresses(std::size_t bytes) {
  if (bytes > size_ || pages(bytes) > size_ - (next_ - first_)) return 0;
  const CUdeviceptr address = next_ + head;
  next_ += pages(bytes);
  return address;
}

CUdeviceptr Arena::take(std::size_t bytes) {
  const CUdeviceptr address = take_addresses(bytes);
  if (!address) return 0;
  fill_with_poison(memory(address), bytes);
  ASAN_POISON_MEMORY_REGION(memory(address) - head, head);
  ASAN_POISON_MEMORY_REGION(memory(address) + bytes, pages(bytes) - head - bytes);
  return address;
}

void Arena::give_back(CUdeviceptr address, std::size_t bytes) {
  std::byte* const start = memory(address) - head;
  madvise(start, pages(bytes), MADV_REMOVE);
#ifdef __SANITIZE_THREAD__
  // Mapped anew: ThreadSanitizer gives back what it has noted of the block, four times its bytes.
  map_file(file_, start, address - first_ - head, pages(bytes));
#endif
  ASAN_POISON_MEMORY_REGION(start, pages(bytes));
}

SharedBlock Arena::share(CUdeviceptr address, std::size_t bytes, std::uint64_t serial) {
  const std::size_t offset = address - first_ - head;
  ASAN_UNPOISON_MEMORY_REGION(memory(address) - head, head);
  std::memcpy(memory(address) - head, &serial, sizeof serial);
  ASAN_POISON_MEMORY_REGION(memory(address) - head, head);
  return {getpid(), file_, 0, 0, offset, bytes, serial};
}

CUdeviceptr Arena::map(const SharedBlock& block) {
  const std::string path =
      "/proc/" + std::to_string(block.process) + "/fd/" + std::to_string(block.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return 0;
  CUdeviceptr address = 0;
  if (serial_of(file, block.offset) == block.serial) address = take_addresses(block.bytes);
  if (address) {
    void* const start = memory(address) - head;
    if (map_file(file, start, block.offset, pages(block.bytes)) == MAP_FAILED) address = 0;
  }
  close(file);
  return address;
}

void Arena::unmap(CUdeviceptr address, std::size_t bytes) {
  std::byte* const start = memory(address) - head;
  map_file(file_, start, address - first_ - head, pages(bytes));
  ASAN_POISON_MEMORY_REGION(start, pages(bytes));
}

}  // namespace quarry::fake
