// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include <quarry/kernels/node.hpp>

#include "backend/cuda/jit/variant.hpp"
#include "backend/kernel_call.hpp"
#include "kernels/drawn_operands.hpp"

/// The operands of one launch, and what a kernel has to leave in their memory: by loops over
/// positions.
namespace quarry::test {

using kernels::i64;
using kernels::u64;

inline i64 mixes = 0;  ///< so many have been called

/// A function whose result is different for every position, scalar and element.
template <class Out>
struct mix {
  template <class... A>
  Out operator()(const A&... a) const {
    ++mixes;
    u64 hash = 0;
    ((hash = (hash ^ number(a)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29), ...);
    Out out;
    for (unsigned char& byte : out.bytes) {
      byte = static_cast<unsigned char>(hash >> 56);
      hash *= 0x9e3779b97f4a7c15u;
    }
    return out;
  }
  template <class A>
  static u64 number(const A& a) {
    u64 words[2] = {};
    std::memcpy(words, static_cast<const void*>(&a), sizeof(A));
    return words[0] ^ (words[1] << 32 | words[1] >> 32);
  }
};

/// Of an expression that is stored where a condition is true.
template <class E>
inline constexpr bool is_partial = false;
template <class P, class E>
inline constexpr bool is_partial<kernels::guarded<P, E>> = true;

/// Of tables of kernels.
struct HashOfVariant {
  std::size_t operator()(const backend::cuda::Variant& variant) const { return variant.hash(); }
};

/// An element of every input at one position, and what a reduction finds at its end.
struct PlainContext {
  const std::byte* const* at;  ///< of the inputs
  const u64* scalars;
  i64 position;
  template <class T, int K>
  T input() const {
    return kernels::load<T>(at[K]);
  }
  template <class T, int K>
  T input_at(i64 offset) const {
    return kernels::load<T>(at[K] + offset);
  }
  template <class T, int S>
  T scalar() const {
    return *reinterpret_cast<const T*>(scalars + 2 * S);
  }
  i64 index() const { return position; }
  i64 count() const { return position; }
};

using Memory = std::vector<std::byte>;
/// Says where they differ.
::testing::AssertionResult equal_bytes(std::span<const std::byte> got,
                                       std::span<const std::byte> expected);

class Operands {
 public:
  Operands(Draw& draw, Arena& arena) : draw_(draw), arena_(arena) {}

  template <class T>
  void output(const Extents& extents, bool is_dense, bool is_partial = false) {
    place(extents, sizeof(T), alignof(T), is_dense, false);
    const std::size_t k = outputs_++;
    if constexpr (!is_watched<T>) return;
    for (i64 i = 0; i < product(extents); ++i) {
      std::byte* const element = arena_.begin() + place(k, i);
      is_partial ? arena_.allow_update(element) : arena_.require_write(element);
    }
  }
  template <class T>
  void input(const Extents& extents, bool is_dense, bool may_be_output, bool has_gaps = false) {
    if (may_be_output && draw_.one_in(4)) {
      operands_.push_back(operands_[0]);
    } else {
      place(extents, sizeof(T), alignof(T), is_dense, true, has_gaps);
    }
    draw_elements<T>();
  }
  /// The same, dense with consecutive elements along `axis`.
  template <class T>
  void input_along(const Extents& extents, std::size_t axis) {
    Extents order = extents;
    const auto first = static_cast<std::ptrdiff_t>(axis);
    std::rotate(order.begin() + first, order.begin() + first + 1, order.end());
    place(order, sizeof(T), alignof(T), true, false);
    auto& [layout, placed, lowest] = operands_.back();
    std::rotate(layout.strides.begin() + first, layout.strides.end() - 1, layout.strides.end());
    placed = extents;
    draw_elements<T>();
  }
  /// The same for all of a row.
  template <class T>
  void input_of_rows(const Extents& extents) {
    Extents rows = extents;
    rows.back() = 1;
    place(rows, sizeof(T), alignof(T), draw_.one_in(2), true);
    operands_.back().layout.strides.back() = 0;
    operands_.back().extents = extents;
    draw_elements<T>();
  }
  /// Its own axes are drawn; those of the side operands are the first scalars.
  template <class T>
  void side(const Extents& extents, int own) {
    Extents all;
    for (int d = 0; d < own; ++d) all.push_back(1 + draw_.below(own > 1 ? 3 : 5));
    all.insert(all.end(), extents.begin(), extents.end());
    place(all, sizeof(T), alignof(T), false, true);
    draw_elements<T>();
    for (int d = 0; d < own; ++d) split_own_axis(operands_.back());
  }
  /// The head, pointers, drawn scalars, shape and strides: a kernel's parameter block.
  void pack(i64 kept, i64 reduced, int scalars, const Extents& extents);

  /// Of operand k's element at a position, from the begin of the arena.
  std::size_t place(std::size_t k, i64 position) const;
  /// E of the inputs at a position, as they are in `memory`; it is told to be at `index`.
  template <class E>
  auto value(const Memory& memory, i64 position, i64 index) const {
    std::vector<const std::byte*> at;
    for (std::size_t k = outputs_; k < operands_.size(); ++k) {
      at.push_back(memory.data() + place(k, position));
    }
    return E{}(PlainContext{at.data(), scalars(), index});
  }

  /// Element i of an output, and of all of them: what a map stores there.
  template <class Each, class T>
  void store(Memory& expected, const Memory& before, std::size_t k, i64 i) const {
    const T stored = kernels::convert<T>(value<Each>(before, i, i));
    std::memcpy(expected.data() + place(k, i), static_cast<const void*>(&stored), sizeof(T));
  }
  template <class... Es, class... T>
  void store_all(Memory& expected, const Memory& before, i64 i,
                 const kernels::several<kernels::several<Es...>>*,
                 const kernels::several<kernels::several<T...>>*) const {
    std::size_t k = 0;
    (store<Es, T>(expected, before, k++, i), ...);
  }
  template <class Each, class T>
  void store_all(Memory& expected, const Memory& before, i64 i, const kernels::several<Each>*,
                 const kernels::several<T>*) const {
    store<Each, T>(expected, before, 0, i);
  }
  template <class P, class E, class T>
  void store_all(Memory& expected, const Memory& before, i64 i,
                 const kernels::several<kernels::guarded<P, E>>*,
                 const kernels::several<T>*) const {
    if (value<P>(before, i, i)) store<E, T>(expected, before, 0, i);
  }

  std::vector<u64> words;
  /// As the backend takes them.
  std::vector<backend::Operand> all;
  std::vector<backend::Scalar> call_scalars;
  const u64* scalars() const { return words.data() + 3 + operands_.size(); }
  std::size_t outputs() const { return outputs_; }

 private:
  struct Operand {
    DrawnLayout layout;
    Extents extents;
    std::byte* lowest;
  };
  void place(const Extents& extents, std::size_t size, std::size_t alignment, bool is_dense,
             bool can_repeat, bool has_gaps = false);
  /// The elements of the last operand, which may be read.
  template <class T>
  void draw_elements() {
    const std::size_t k = operands_.size() - 1;
    for (i64 i = 0; i < product(operands_[k].extents); ++i) {
      std::byte* const element = arena_.begin() + place(k, i);
      draw_element<T>(draw_, element);
      arena_.allow_read(element);
    }
  }
  void split_own_axis(Operand& operand);

  Draw& draw_;
  Arena& arena_;
  std::vector<Operand> operands_;
  std::vector<kernels::side_axis> own_axes_;
  std::size_t outputs_ = 0;
};

}  // namespace quarry::test
