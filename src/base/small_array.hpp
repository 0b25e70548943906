// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace quarry {

/// `size` values, in place up to `inline_size`: one for every operand, scalar or axis of a call.
template <class T, std::size_t inline_size = 8>
class SmallArray {
 public:
  explicit SmallArray(std::size_t size) : size_(size) {
    if (size > inline_size) heap_ = std::make_unique<T[]>(size);
  }
  explicit SmallArray(int size) : SmallArray(static_cast<std::size_t>(size)) {}
  SmallArray(const SmallArray& other) : SmallArray(other.size_) {
    std::copy_n(other.data(), size_, data());
  }
  SmallArray(SmallArray&& other) noexcept : size_(other.size_), heap_(std::move(other.heap_)) {
    if (!heap_) std::move(other.inline_, other.inline_ + size_, inline_);
  }
  SmallArray& operator=(const SmallArray&) = delete;
  ~SmallArray() = default;

  std::size_t size() const { return size_; }
  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& operator[](int i) { return data()[i]; }
  const T& operator[](int i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  std::size_t size_;
  std::unique_ptr<T[]> heap_;
  T inline_[inline_size];
};

}  // namespace quarry
