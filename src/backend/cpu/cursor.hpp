// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>

#include <quarry/kernels/types.hpp>

#include "backend/kernel_call.hpp"
#include "base/small_array.hpp"

/// Positions in strided operands that are iterated together.
namespace quarry::backend::cpu_backend {

using kernels::i64;
using kernels::u64;

using Pointers = SmallArray<char*>;
using Steps = SmallArray<i64>;

/// Some neighbouring axes of a call.
class Axes {
 public:
  Axes(const KernelCall& call, std::size_t first, std::size_t count)
      : call_(&call), first_(first), rank_(count) {}

  std::size_t rank() const { return rank_; }
  std::size_t operands() const { return call_->operands.size(); }
  i64 extent(std::size_t d) const { return call_->shape[first_ + d]; }
  i64 stride(std::size_t k, std::size_t d) const { return call_->operands[k].strides[first_ + d]; }
  /// Without the last one.
  Axes outer() const { return {*call_, first_, rank_ > 0 ? rank_ - 1 : 0}; }
  /// Extent of the last axis; 1 when there is none.
  i64 last_extent() const { return rank_ > 0 ? extent(rank_ - 1) : 1; }
  /// Every operand's stride along the last axis; 0 when there is none.
  Steps last_steps() const {
    Steps steps(operands());
    for (std::size_t k = 0; k < operands(); ++k) steps[k] = rank_ > 0 ? stride(k, rank_ - 1) : 0;
    return steps;
  }

 private:
  const KernelCall* call_;
  std::size_t first_, rank_;
};

/// The operands' addresses at position 0.
inline Pointers pointers_of(const KernelCall& call) {
  Pointers pointers(call.operands.size());
  for (std::size_t k = 0; k < pointers.size(); ++k) {
    pointers[k] = reinterpret_cast<char*>(call.operands[k].data);
  }
  return pointers;
}

/// As the loops take them.
inline const u64* scalars_of(const KernelCall& call) {
  return reinterpret_cast<const u64*>(call.scalars.data());
}

/// The operands' addresses at one position of `axes`, moved on in C order.
class Cursor {
 public:
  Cursor(const Axes& axes, const Pointers& base, i64 position)
      : axes_(axes), index_(axes.rank()), pointers_(base), last_steps_(axes.last_steps()) {
    for (std::size_t d = axes.rank(); d-- > 0;) {
      index_[d] = position % axes.extent(d);
      position /= axes.extent(d);
      move(d, index_[d]);
    }
    if (axes.rank() > 0) left_ = axes.last_extent() - index_[axes.rank() - 1];
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  const Pointers& pointers() const { return pointers_; }
  /// Moves to the next position; after the last one to the first.
  void next() {
    if (--left_ <= 0) return next_row();
    char** const at = pointers_.data();
    const i64* const steps = last_steps_.data();
    for (std::size_t k = 0; k < pointers_.size(); ++k) at[k] += steps[k];
  }

 private:
  void next_row() {
    left_ = axes_.last_extent();
    if (axes_.rank() > 0) index_[axes_.rank() - 1] = left_ - 1;
    for (std::size_t d = axes_.rank(); d-- > 0;) {
      if (++index_[d] < axes_.extent(d)) return move(d, 1);
      move(d, 1 - index_[d]);
      index_[d] = 0;
    }
  }
  void move(std::size_t d, i64 by) {
    for (std::size_t k = 0; k < pointers_.size(); ++k) pointers_[k] += by * axes_.stride(k, d);
  }

  const Axes axes_;
  SmallArray<i64> index_;  ///< along the last axis only where a row begins
  Pointers pointers_;
  const Steps last_steps_;
  i64 left_ = 1;  ///< positions along the last axis, with this one
};

/// Every operand `by` steps further than `from`.
inline void advance(Pointers& to, const Pointers& from, const Steps& steps, i64 by) {
  for (std::size_t k = 0; k < to.size(); ++k) to[k] = from[k] + by * steps[k];
}

}  // namespace quarry::backend::cpu_backend
