// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/drawn_operands.hpp"
#include "kernels/emulated_reductions.hpp"

/// Reductions over drawn layouts, and what plain loops make of them.
namespace quarry::test {

/// A sum over elements and their positions that no other set of elements has.
struct gathered {
  u64 sum;
  i64 count, last;
};
struct gather_of {
  static constexpr bool takes_batches = false;
  template <class Acc>
  static Acc identity() {
    return {0, 0, -1};
  }
  template <class V>
  static void take(gathered& a, V v, i64 i) {
    const auto bytes = mix<watched<8>>()(v, i);
    a.sum += mix<watched<8>>::number(bytes);
    a.count += i > a.last ? 1 : 1000000;  // positions ascend
    a.last = i;
  }
  static gathered combine(gathered a, gathered b) {
    return {a.sum + b.sum, a.count + b.count, std::max(a.last, b.last)};
  }
  template <class Out, class C>
  static Out finish(gathered a, const C& c) {
    return mix<Out>()(a.sum, a.count, c.count(), c.template scalar<u64, 0>());
  }
};

/// Whether results depend on the order of the elements, by rounding.
template <class Op>
inline constexpr bool is_rounded = is_same<Op, moments_of> || is_same<Op, exponentials_of>;

/// Some elements as values that are none, or without bounds.
struct with_specials {
  template <class T>
  T operator()(T x) const {
    const int i = convert<int>(x);
    if (i % 97 == 5) return limits<T>::nan();
    if (i % 89 == 7) return limits<T>::highest();
    return i % 53 == 11 ? limits<T>::lowest() : x;
  }
};

/// One reduction: its memory and its parameter block.
template <class M>
struct DrawnReduction;
template <class E, class Op, class Acc, class Out, int S, class... In>
struct DrawnReduction<reduction_of<E, Op, Acc, Out, S, In...>> {
  static constexpr std::uint32_t sizes[] = {sizeof(Out), sizeof(In)...};
  static constexpr bool has_vectors = std::has_single_bit(std::max({sizeof(In)...}));
  static constexpr int widest = has_vectors ? int(16 / std::max({sizeof(In)...})) : 1;

  explicit DrawnReduction(std::uint64_t seed) : draw(seed), arena(seed), operands(draw, arena) {}

  /// The extents are drawn. With `along_kept` inputs are dense along the last kept axis.
  void place(bool along_kept) {
    whole = kept;
    whole.insert(whole.end(), reduced.begin(), reduced.end());
    operands.template output<Out>(kept, draw.one_in(2));
    const bool has_gaps = draw.one_in(4);
    const auto add_input = [&]<class T>(const several<T>*) {
      if (along_kept && !has_gaps) return operands.template input_along<T>(whole, kept.size() - 1);
      operands.template input<T>(whole, !has_gaps && draw.one_in(2), false, has_gaps);
    };
    (add_input(static_cast<several<In>*>(nullptr)), ...);
    operands.pack(product(kept), product(reduced), S, whole);
    draw_positions();
    allow_gaps();
  }

  /// The reduced axes of an extreme may be in any order.
  void draw_positions() {
    if (!is_located<Acc> || reduced.size() < 2) return;
    is_reordered = draw.one_in(2);
    const block_places at{1 + sizeof...(In), S, int(whole.size())};
    u64* const strides = &operands.words[std::size_t(at.strides()) + kept.size()];
    strides[0] = is_reordered ? 1 : u64(reduced[1]);
    strides[1] = is_reordered ? u64(reduced[0]) : 1;
  }
  /// The reduced element whose position is the i-th.
  i64 element_at(i64 i) const {
    return is_reordered ? i % reduced[0] * reduced[1] + i / reduced[0] : i;
  }

  /// What is between two elements of a row may be read with them.
  void allow_gaps() {
    for (std::size_t k = 1; k < operands.all.size(); ++k) {
      const auto size = static_cast<std::int64_t>(sizes[k]);
      if (operands.all[k].strides.back() != 2 * size) continue;
      for (i64 i = 0; i < product(whole); ++i) {
        if (i % whole.back() < whole.back() - 1)
          arena.allow_read(arena.begin() + operands.place(int(k), i) + size);
      }
    }
  }

  Memory expected_memory() const {
    Memory expected(arena.all().begin(), arena.all().end());
    const Memory before = expected;
    const i64 count = product(reduced);
    for (i64 k = 0; k < product(kept); ++k) {
      Acc acc = Op::template identity<Acc>();
      for (i64 i = 0; i < count; ++i) {
        Op::take(acc, operands.template value<E>(before, k * count + element_at(i), i), i);
      }
      const PlainContext total{nullptr, operands.scalars(), count};
      const Out value = Op::template finish<Out>(acc, total);
      std::memcpy(expected.data() + operands.place(0, k), static_cast<const void*>(&value),
                  sizeof(Out));
    }
    return expected;
  }

  /// Results that are near enough are made equal.
  void check_results(const Memory& expected) {
    for (i64 k = 0; k < product(kept); ++k) {
      Out got, want;
      std::byte* const at = arena.begin() + operands.place(0, k);
      std::memcpy(&got, at, sizeof(Out));
      std::memcpy(&want, expected.data() + operands.place(0, k), sizeof(Out));
      const auto apart = std::abs(got - want);
      if (apart <= slack + 1e-12 * std::abs(want) || (got != got && want != want)) {
        std::memcpy(at, &want, sizeof(Out));
      }
    }
  }

  /// That the memory is what is expected, and no access has gone wrong.
  void expect_memory(const Memory& expected) {
    EXPECT_EQ(arena.faults(), std::vector<std::string>{});
    if constexpr (is_rounded<Op>) check_results(expected);
    EXPECT_TRUE(equal_bytes(arena.all(), expected));
  }

  Draw draw;
  Arena arena;
  Operands operands;
  Extents kept, reduced, whole;
  bool is_reordered = false;
  double slack = 0;  ///< of rounded results, where all elements are equal
};

template <class Op, class Acc, class Out, class... In>
struct reduction;
template <class Op, class Acc, class Out, class A>
struct reduction<Op, Acc, Out, A> {
  using type = reduction_of<in<A, 0>, Op, Acc, Out, 1, A>;
};
template <class Op, class Acc, class Out, class A>
struct special_reduction {
  using type = reduction_of<call<with_specials, in<A, 0>>, Op, Acc, Out, 1, A>;
};
template <class Op, class T, class A>
struct cast_reduction {
  using type = reduction_of<cast<T, in<A, 0>>, Op, located<T>, i64, 1, A>;
};
template <class A, class B>
struct reduction<gather_of, A, B> {
  using type = reduction_of<call<mix<watched<8>>, iota<i64>, in<A, 0>, in<B, 1>>, gather_of,
                            gathered, watched<8>, 1, A, B>;
};

/// A sum times a number of the call.
using scaled_sum =
    applied_to<sum_of, i64, op<multiply_op, double, result<i64>, cast<double, val<u32, 0>>>>;

}  // namespace quarry::test
