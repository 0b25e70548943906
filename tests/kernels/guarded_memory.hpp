// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace quarry::test {

/// Pages of memory between two that nobody may read.
class GuardedMemory {
 public:
  static constexpr std::size_t page = 4096;

  explicit GuardedMemory(std::size_t bytes = page)
      : size_((bytes + page - 1) / page * page),
        memory_(mmap(nullptr, all(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED || mprotect(begin(), size_, PROT_READ | PROT_WRITE) != 0) {
      throw std::system_error(errno, std::generic_category(), "no guarded memory");
    }
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(memory_, all()); }
  char* begin() const { return static_cast<char*>(memory_) + page; }
  char* end() const { return begin() + size_; }

 private:
  std::size_t all() const { return size_ + 2 * page; }

  std::size_t size_;
  void* memory_;
};

}  // namespace quarry::test
