// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <quarry/kernels/access.hpp>
#include <quarry/kernels/reduce.hpp>

#include <cmath>
#include <vector>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/parameter_block.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/emulated_reductions.hpp"

namespace quarry::test {

using namespace quarry::kernels;
using backend::KernelCall;

/// Values with all that is extreme for their type.
template <class T>
T drawn_value(Draw& draw, bool has_specials) {
  if (has_specials && draw.one_in(50)) return limits<T>::lowest();
  if (has_specials && draw.one_in(50)) return limits<T>::highest();
  if constexpr (is_floating<T>) {
    if (has_specials && draw.one_in(3000)) return limits<T>::nan();
    return convert<T>(static_cast<int>(draw.below(1000)) - 500);
  } else {
    return static_cast<T>(draw.bits());
  }
}

template <class Op, class Acc, class Out, class A>
using reduction_in = reduction_of<in<A, 0>, Op, Acc, Out, 0, A>;

/// The call of a reduction of drawn memory, and what plain loops make of it.
template <class M>
struct DrawnCall;
template <class E, class Op, class AccOf, class Out, class A>
struct DrawnCall<reduction_of<E, Op, AccOf, Out, 0, A>> {
  using Acc = AccOf;
  using M = reduction_of<E, Op, Acc, Out, 0, A>;
  static constexpr i64 size = sizeof(A), written = sizeof(Out),
                       accumulator = sizeof(accumulator_of<M>);
  static constexpr unsigned gaps = 1u | 1u << input_access::other_step;
  static constexpr bool are_moments = is_same<Acc, moments<double>> || is_same<Acc, moments<float>>;
  static constexpr bool are_rounded = are_moments || is_same<Op, exponentials_of>;

  explicit DrawnCall(std::uint64_t seed) : draw(seed), call(program_for<M>::value) {
    gap = draw.one_in(3) ? 2 : 1;
  }

  /// Operands with these extents, the kept ones first; the input's strides are in elements.
  void place(const Shape& shape, std::size_t kept_rank, i64 elements, const Strides& strides) {
    memory.resize(std::size_t(elements * gap + 64));
    // the squares of the largest numbers are infinite, whatever is beside them, and sums of them
    // depend on their order
    const bool has_squares = are_moments && is_floating<A>;
    const bool has_sums = is_same<Op, sum_of> && is_floating<A>;
    const bool has_specials = !has_sums && (!has_squares || draw.one_in(4));
    for (A& value : memory) value = drawn_value<A>(draw, has_specials);
    call.shape = shape, call.kept_rank = kept_rank;
    call.operands[0].strides = call.operands[1].strides = strides;
    for (i64& stride : call.operands[1].strides) stride *= size * gap;
    i64 step = written;
    for (std::size_t d = shape.size(); d-- > 0;) {
      call.operands[0].strides[d] = d < kept_rank ? step : 0;
      if (d < kept_rank) step *= shape[d];
      (d < kept_rank ? call.kept : call.reduced) *= shape[d];
    }
    out.resize(std::size_t(call.kept));
    call.operands[0].data = reinterpret_cast<std::byte*>(out.data());
    // seldom at a vector
    A* const first = memory.data() + (draw.one_in(4) ? 1 + draw.below(7) : 0) * gap;
    call.operands[1].data = reinterpret_cast<std::byte*>(first);
  }

  /// The positions of an extreme: along these reduced axes, the slowest first.
  void place_along(const std::vector<std::size_t>& axes) {
    positions = axes;
    i64 step = 1;
    for (std::size_t n = axes.size(); n-- > 0; step *= call.shape[axes[n]]) {
      call.operands[0].strides[axes[n]] = step;
    }
  }
  /// The n-th element of an output in the order of their positions.
  const A* element(i64 output, i64 n) const {
    i64 offset = offset_of(output, 0, call.kept_rank);
    if (positions.empty()) offset += offset_of(n, call.kept_rank, call.rank());
    for (const std::size_t axis : positions) {
      const i64 step = call.operands[0].strides[axis];
      offset += n / step * call.operands[1].strides[axis], n %= step;
    }
    return reinterpret_cast<const A*>(call.operands[1].data + offset);
  }
  /// Of position `i` along the axes [first, last).
  i64 offset_of(i64 i, std::size_t first, std::size_t last) const {
    i64 offset = 0;
    for (std::size_t d = last; d-- > first; i /= call.shape[d]) {
      offset += i % call.shape[d] * call.operands[1].strides[d];
    }
    return offset;
  }
  /// Sets what is no element to a number that none is.
  void mark_others(A other) {
    std::vector<bool> is_element(memory.size());
    for (i64 k = 0; k < call.kept; ++k) {
      for (i64 n = 0; n < call.reduced; ++n)
        is_element[std::size_t(element(k, n) - memory.data())] = true;
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (!is_element[i]) memory[i] = other;
    }
  }

  /// Of an output, one element after another.
  Acc expected(i64 output) const {
    Acc acc = Op::template identity<Acc>();
    for (i64 n = 0; n < call.reduced; ++n) {
      const std::byte* const at[] = {reinterpret_cast<const std::byte*>(element(output, n))};
      Op::take(acc, E{}(PlainContext{at, nullptr, n}), n);
    }
    return acc;
  }

  /// What a second kernel makes of `splits` partial accumulators of every output.
  void finish(const backend::cuda::ParameterBlock& words, std::vector<Acc>& partial, i64 splits) {
    const auto g = backend::cuda::finish_geometry(call.kept, splits);
    const auto run = finishes_of<M>().at({int(call.kept_rank), int(call.reduced_rank())});
    const auto faults = launch({{g.grid_x}, {g.block_x, g.block_y}}, draw.bits(),
                               [&] { run(words.data(), partial.data(), splits); });
    EXPECT_EQ(faults, std::vector<std::string>{});
  }

  void check() const {
    for (i64 k = 0; k < call.kept; ++k) {
      const Out got = out[std::size_t(k)];
      const Out want =
          Op::template finish<Out>(expected(k), PlainContext{nullptr, nullptr, call.reduced});
      constexpr double share = sizeof(Out) == 4 ? 1e-5 : 1e-12;
      const bool is_near = std::abs(double(got) - double(want)) <= share * std::abs(double(want));
      const bool are_none = got != got && want != want;
      ASSERT_TRUE(got == want || are_none || (are_rounded && is_near))
          << "output " << k << ": " << double(got) << ", not " << double(want);
    }
  }

  Draw draw;
  KernelCall call;
  i64 gap = 1;
  std::vector<std::size_t> positions;  ///< place_along()
  std::vector<A> memory;
  std::vector<Out> out;
};

}  // namespace quarry::test
