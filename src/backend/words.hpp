// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace quarry::backend {

/// A parameter block: 64-bit words in a fixed place up to the size that nearly every call has.
class Words {
 public:
  explicit Words(std::size_t size) : size_(size) {
    if (size > inline_size) heap_ = std::make_unique<std::uint64_t[]>(size);
  }
  Words(const Words& other) : Words(other.size_) { std::memcpy(data(), other.data(), 8 * size_); }
  Words(Words&& other) noexcept : size_(other.size_), heap_(std::move(other.heap_)) {
    if (!heap_) std::memcpy(inline_, other.inline_, 8 * size_);
  }
  Words& operator=(const Words&) = delete;
  ~Words() = default;

  std::size_t size() const { return size_; }
  std::uint64_t* data() { return heap_ ? heap_.get() : inline_; }
  const std::uint64_t* data() const { return heap_ ? heap_.get() : inline_; }
  std::uint64_t& operator[](std::size_t i) { return data()[i]; }
  std::uint64_t operator[](std::size_t i) const { return data()[i]; }

 private:
  static constexpr std::size_t inline_size = 64;
  std::size_t size_;
  std::unique_ptr<std::uint64_t[]> heap_;
  std::uint64_t inline_[inline_size];  // deliberately left uninitialised
};

}  // namespace quarry::backend
