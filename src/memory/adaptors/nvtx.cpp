// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/nvtx.hpp>

#include <fmt/format.h>

#include <exception>

#include "backend/annotation.hpp"

namespace quarry {
namespace {

class Range {
 public:
  /// "allocate 1024 bytes from pool of device"
  Range(const char* action, const char* word, std::size_t bytes, const Resource& resource) noexcept
      : is_open_(backend::has_annotations()) {
    if (!is_open_) return;
    try {
      backend::begin_annotation(
          fmt::format("{} {} bytes {} {}", action, bytes, word, resource.name()), bytes);
    } catch (const std::exception&) {
      is_open_ = false;
    }
  }
  ~Range() {
    if (is_open_) backend::end_annotation();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  bool is_open_;
};

}  // namespace

void* Nvtx::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) const {
  const Range range("allocate", "from", bytes, upstream());
  return upstream().allocate(stream, bytes, alignment);
}

void Nvtx::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                      std::size_t bytes, std::size_t alignment) const noexcept {
  const Range range("free", "to", bytes, upstream());
  upstream().deallocate(stream, others, memory, bytes, alignment);
}

bool Nvtx::is_active() { return backend::has_annotations(); }

}  // namespace quarry
