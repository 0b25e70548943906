// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/map_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "backend/cpu/vectors.hpp"
#include "base/small_array.hpp"

namespace quarry::backend::cpu_backend {
namespace {

using kernels::map_loops;

using Pointers = SmallArray<char*>;

constexpr i64 block = map_loops::block;
constexpr i64 least_dense = 8;          // fewer elements are not worth a copy into a block
constexpr std::size_t most_bytes = 16;  // of an element that is copied
constexpr std::size_t staged_bytes = std::size_t{32} << 10;
constexpr std::size_t block_bytes = most_bytes * block;
constexpr auto most_staged = static_cast<int>(staged_bytes / block_bytes);

map_loops::loop* dense_loop(const map_loops& loops) {
  const Vectors longest = vectors();
  if (longest == Vectors::bytes_16) return nullptr;
  return loops.dense[longest == Vectors::bytes_64 ? 1 : 0];
}

template <std::size_t Size>
void repeat_of(char* to, const char* element, i64 n) {
  char value[Size];
  std::memcpy(value, element, Size);
  for (i64 i = 0; i < n; ++i) std::memcpy(to + static_cast<std::size_t>(i) * Size, value, Size);
}

void repeat(char* to, const char* element, std::size_t size, i64 n) {
  if (size == 1) return repeat_of<1>(to, element, n);
  if (size == 2) return repeat_of<2>(to, element, n);
  if (size == 4) return repeat_of<4>(to, element, n);
  if (size == 8) return repeat_of<8>(to, element, n);
  for (i64 i = 0; i < n; ++i) std::memcpy(to + static_cast<std::size_t>(i) * size, element, size);
}

}  // namespace

// Side operands are neither dense nor the same element everywhere.
MapRun::MapRun(const map_loops& loops, const i64* stride)
    : loops_(loops), stride_(stride), operands_(loops.outputs + loops.inputs) {
  can_stage_ = operands_ <= most_staged;
  for (int k = 0; k < operands_; ++k) {
    if (loops.own[k].count > 0) return;
    const bool is_small = loops.size[k] <= most_bytes;
    can_stage_ = can_stage_ && is_small;
    if (stride[k] == static_cast<i64>(loops.size[k])) continue;
    if (stride[k] != 0 || k < loops.outputs || !is_small) return;
    ++repeated_;
  }
  if (repeated_ <= most_staged) dense_ = dense_loop(loops);
}

void MapRun::operator()(i64 n, char* const* pointer, const u64* scalars, i64 first) const {
  if (!dense_ || n < least_dense)
    loops_.run(n, pointer, stride_, scalars, first);
  else if (repeated_ == 0 || n < block)
    dense(n, pointer, scalars, first);
  else
    repeated(n, pointer, scalars, first);
}

bool MapRun::changes_inputs(char* const* pointer) const {
  for (int out = 0; out < loops_.outputs; ++out) {
    for (int in = loops_.outputs; in < operands_; ++in) {
      if (pointer[out] == pointer[in]) return true;
    }
  }
  return false;
}

// The last block may begin among the elements of the one before, unless these were changed.
void MapRun::dense(i64 n, char* const* pointer, const u64* scalars, i64 first) const {
  const i64 whole = n / block * block;
  if (whole > 0) dense_(whole, pointer, stride_, scalars, first);
  if (whole == n) return;
  const bool again = whole > 0 && !changes_inputs(pointer);
  const i64 last = again ? n - block : whole;
  Pointers at(operands_);
  for (int k = 0; k < operands_; ++k) at[k] = pointer[k] + last * stride_[k];
  if (again)
    dense_(block, at.data(), stride_, scalars, first + last);
  else if (n - last >= least_dense && can_stage_)
    rest(n - last, at.data(), scalars, first + last);
  else
    loops_.run(n - last, at.data(), stride_, scalars, first + last);
}

// A block of copies is enough: the loop reads it again and again.
void MapRun::repeated(i64 n, char* const* pointer, const u64* scalars, i64 first) const {
  alignas(64) char staged[staged_bytes];
  Pointers at(operands_);
  char* next = staged;
  for (int k = 0; k < operands_; ++k) {
    at[k] = pointer[k];
    if (stride_[k] != 0) continue;
    repeat(next, pointer[k], loops_.size[k], block);
    at[k] = next;
    next += block_bytes;
  }
  dense(n, at.data(), scalars, first);
}

// Less than a block: the inputs are copied, and their last elements repeated.
void MapRun::rest(i64 n, char* const* pointer, const u64* scalars, i64 first) const {
  alignas(64) char staged[staged_bytes];
  Pointers at(operands_);
  for (int k = 0; k < operands_; ++k) {
    const std::size_t size = loops_.size[k];
    at[k] = staged + static_cast<std::size_t>(k) * block_bytes;
    if (k < loops_.outputs) continue;
    const std::size_t bytes = stride_[k] == 0 ? 0 : size * static_cast<std::size_t>(n);
    std::memcpy(at[k], pointer[k], bytes);
    const char* const last = pointer[k] + (n - 1) * stride_[k];
    repeat(at[k] + bytes, last, size, stride_[k] == 0 ? block : block - n);
  }
  dense_(block, at.data(), stride_, scalars, first);
  for (int k = 0; k < loops_.outputs; ++k) {
    std::memcpy(pointer[k], at[k], loops_.size[k] * static_cast<std::size_t>(n));
  }
}

}  // namespace quarry::backend::cpu_backend
