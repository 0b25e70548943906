// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <memory>

#include <quarry/kernels/types.hpp>

#include "backend/words.hpp"

/// Positions in strided operands that are walked together.
namespace quarry::backend::cpu_backend {

using kernels::i64;
using kernels::u64;

/// `size` values, zero at first; in place up to 8.
template <class T>
class SmallArray {
 public:
  explicit SmallArray(int size) {
    if (size > inline_size) heap_ = std::make_unique<T[]>(static_cast<std::size_t>(size));
  }
  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  T& operator[](int i) { return data()[i]; }
  const T& operator[](int i) const { return data()[i]; }

 private:
  static constexpr int inline_size = 8;
  T inline_[inline_size] = {};
  std::unique_ptr<T[]> heap_;
};

using Pointers = SmallArray<char*>;
using Steps = SmallArray<i64>;

/// Some neighbouring axes of a parameter block: extents, and the byte strides of every operand.
struct Axes {
  int rank, operands;
  const i64* shape;
  const i64* strides;  ///< of operand k along axis d at [k * pitch + d]
  int pitch;

  i64 stride(int k, int d) const { return strides[k * pitch + d]; }
  Axes slice(int first, int count) const {
    return {count, operands, shape + first, strides + first, pitch};
  }
  Axes outer() const { return slice(0, rank > 0 ? rank - 1 : 0); }
  /// Extent of the last axis; 1 when there is none.
  i64 last_extent() const { return rank > 0 ? shape[rank - 1] : 1; }
  /// Every operand's stride along the last axis; 0 when there is none.
  Steps last_steps() const {
    Steps steps(operands);
    for (int k = 0; k < operands && rank > 0; ++k) steps[k] = stride(k, rank - 1);
    return steps;
  }
};

/// The operands' addresses in a parameter block, from word `first` on.
inline Pointers pointers_in(const Words& words, int first, int operands) {
  Pointers pointers(operands);
  auto word = static_cast<std::size_t>(first);
  for (int k = 0; k < operands; ++k) pointers[k] = reinterpret_cast<char*>(words[word++]);
  return pointers;
}

inline const i64* signed_words(const Words& words, int first) {
  return reinterpret_cast<const i64*>(words.data() + first);
}

/// The operands' addresses at one position of `axes`, moved on in C order.
class Cursor {
 public:
  Cursor(const Axes& axes, const Pointers& base, i64 position)
      : axes_(axes), index_(axes.rank), pointers_(axes.operands) {
    for (int k = 0; k < axes.operands; ++k) pointers_[k] = base[k];
    for (int d = axes.rank - 1; d >= 0; --d) {
      index_[d] = position % axes.shape[d];
      position /= axes.shape[d];
      move(d, index_[d]);
    }
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  const Pointers& pointers() const { return pointers_; }
  /// After the last position comes the first.
  void next() {
    for (int d = axes_.rank - 1; d >= 0; --d) {
      if (++index_[d] < axes_.shape[d]) return move(d, 1);
      move(d, 1 - index_[d]);
      index_[d] = 0;
    }
  }

 private:
  void move(int d, i64 by) {
    for (int k = 0; k < axes_.operands; ++k) pointers_[k] += by * axes_.stride(k, d);
  }

  const Axes axes_;
  SmallArray<i64> index_;
  Pointers pointers_;
};

/// Every operand `by` steps further than `from`.
inline void advance(Pointers& to, const Pointers& from, const Steps& steps, i64 by, int operands) {
  for (int k = 0; k < operands; ++k) to[k] = from[k] + by * steps[k];
}

}  // namespace quarry::backend::cpu_backend
