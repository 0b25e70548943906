// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/reduce_axes.hpp"

#include <gtest/gtest.h>

#include <quarry/kernels/reduce.hpp>

#include <cmath>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/parameter_block.hpp"
#include "kernels/emulated_reductions.hpp"

/// Reductions of drawn extents by vectors that are not along one axis of the call, dense or of
/// every second element.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::KernelCall;
using backend::cuda::VectorAccess;

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

/// A reduction of drawn memory, whose call walks other axes than those of its operands.
template <class M>
struct Walk;
template <class E, class Op, class Acc, class Out, class A>
struct Walk<reduction_of<E, Op, Acc, Out, 0, A>> {
  using M = reduction_of<E, Op, Acc, Out, 0, A>;
  static constexpr i64 size = sizeof(A), written = sizeof(Out), accumulator = sizeof(Acc);
  static constexpr unsigned gaps = 1u | 1u << input_access::other_step;
  static constexpr bool are_moments = is_same<Acc, moments<double>> || is_same<Acc, moments<float>>;

  explicit Walk(std::uint64_t seed) : draw(seed), call(program_for<M>::value) {
    gap = draw.one_in(3) ? 2 : 1;
  }

  /// Operands with these extents, the kept ones first; the input's strides are in elements.
  void place(const Shape& shape, std::size_t kept_rank, i64 elements, const Strides& strides) {
    memory.resize(std::size_t(elements * gap + 64));
    // the squares of the largest numbers are infinite, whatever is beside them
    const bool has_squares = are_moments && is_floating<A>;
    const bool has_specials = !has_squares || draw.one_in(4);
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

  /// Of an output, one element after another in the order of their positions.
  Acc expected(i64 output) const {
    Acc acc = Op::template identity<Acc>();
    const auto& strides = call.operands[1].strides;
    const std::size_t last = call.rank() - 1;
    const i64 inner = call.shape[last];
    for (i64 n = 0; n < call.reduced; ++n) {
      const i64 rows = call.reduced / inner;
      const i64 i = is_reordered ? n % rows : n / inner, j = is_reordered ? n / rows : n % inner;
      i64 offset = j * strides[last] + (call.reduced_rank() > 1 ? i * strides[last - 1] : 0);
      i64 rest = output;
      for (std::size_t d = call.kept_rank; d-- > 0; rest /= call.shape[d]) {
        offset += rest % call.shape[d] * strides[d];
      }
      const std::byte* const at[] = {call.operands[1].data + offset};
      Op::take(acc, E{}(PlainContext{at, nullptr, n}), n);
    }
    return acc;
  }

  void run(const KernelCall& walked, i64 reduced, int along, const VectorAccess& vectors) {
    const auto g = backend::cuda::reduce_geometry(
        {.kept = walked.kept,
         .reduced = reduced,
         .span = 0,
         .along_reduced = along == -2,
         .columns = walked.kept_rank > 0 ? walked.shape[walked.kept_rank - 1] : 1,
         .vector_width = vectors.width},
        draw.of({1, 4, 132}));
    const i64 splits = walked.kept / call.kept * g.splits;
    std::vector<Acc> partial(std::size_t(splits * call.kept), Op::template identity<Acc>());
    std::memset(static_cast<void*>(partial.data()), 0x5a, partial.size() * sizeof(Acc));
    const bool is_partial = along == -1 || g.splits > 1;
    const auto run = kernels().at(Reduce{int(walked.kept_rank), int(walked.reduced_rank()), 4,
                                         along, vectors.width, vectors.wide});
    const auto words = backend::cuda::parameter_block(walked, true, g.chunk);
    auto faults =
        launch({{g.grid_x, unsigned(g.splits)}, {g.block_x, g.block_y}}, draw.bits(),
               [&] { run(words.data(), is_partial ? partial.data() : nullptr, nullptr, 1); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    if (!is_partial) return;
    const auto f = backend::cuda::finish_geometry(call.kept, splits);
    const auto end = finishes_of<M>().at({int(call.kept_rank), int(call.reduced_rank())});
    const auto total = backend::cuda::parameter_block(call, true, g.chunk);
    faults = launch({{f.grid_x}, {f.block_x, f.block_y}}, draw.bits(),
                    [&] { end(total.data(), partial.data(), splits); });
    EXPECT_EQ(faults, std::vector<std::string>{});
  }

  static const ReduceKernels& kernels() {
    static const ReduceKernels found = [] {
      ReduceKernels all;
      add_width<16 / size>(all);
      add<M, 1, 1, i32, 0, 1, 0>(all);
      add<M, 2, 1, i32, 0, 1, 0>(all);
      return all;
    }();
    return found;
  }
  template <int V>
  static void add_width(ReduceKernels& all) {
    if constexpr (V > 1) {
      add<M, 0, 2, i32, -2, V, 1>(all);
      add<M, 1, 2, i32, -2, V, 1>(all);
      if constexpr (V * size <= 8) {
        add<M, 0, 2, i32, -2, V, gaps>(all);
        add<M, 1, 2, i32, -2, V, gaps>(all);
      }
      if constexpr (V <= 4 || (V == 8 && accumulator <= 16)) {
        add_columns<V, 1>(all);
        add_columns<V, gaps>(all);
      }
      add_width<V / 2>(all);
    }
  }
  template <int V, unsigned Wide>
  static void add_columns(ReduceKernels& all) {
    add<M, 1, 1, i32, 0, V, Wide>(all);
    add<M, 2, 1, i32, 0, V, Wide>(all);
    add<M, 1, 1, i32, -1, V, Wide>(all);
    add<M, 2, 1, i32, -1, V, Wide>(all);
  }

  void check() const {
    for (i64 k = 0; k < call.kept; ++k) {
      const Out got = out[std::size_t(k)];
      const Out want =
          Op::template finish<Out>(expected(k), PlainContext{nullptr, nullptr, call.reduced});
      constexpr double share = sizeof(Out) == 4 ? 1e-5 : 1e-12;
      const bool is_near = std::abs(double(got) - double(want)) <= share * std::abs(double(want));
      const bool are_none = got != got && want != want;
      ASSERT_TRUE(got == want || are_none || (are_moments && is_near))
          << "output " << k << ": " << double(got) << ", not " << double(want);
    }
  }

  Draw draw;
  KernelCall call;
  i64 gap = 1;
  bool is_reordered = false;  ///< positions are first those along the outer reduced axis
  std::vector<A> memory;
  std::vector<Out> out;
};

/// Memory with the extents (outer, count, columns), of which the middle axis is reduced.
template <class M>
struct Columns : Walk<M> {
  using Walk<M>::call, Walk<M>::draw, Walk<M>::accumulator;
  explicit Columns(std::uint64_t seed) : Walk<M>(seed) {
    const i64 outer = draw.one_in(2) ? 1 : 2 + draw.below(3);
    const i64 columns = 2 + draw.below(draw.of({6, 40, 200}));
    const i64 count = 64 * (1 + draw.below(20)) + draw.below(64);
    const bool is_matrix = outer == 1;
    this->place(is_matrix ? Shape{columns, count} : Shape{outer, columns, count}, is_matrix ? 1 : 2,
                outer * count * columns,
                is_matrix ? Strides{1, columns} : Strides{count * columns, 1, columns});
    if (is_located<decltype(this->expected(0))>) call.operands[0].strides.back() = 1;
  }
  void run() {
    const auto folds = backend::cuda::folded(call, accumulator);
    const KernelCall& walked = folds ? *folds : call;
    const std::size_t row = walked.kept_rank - 1;
    const auto vectors = column_vectors(backend::cuda::CallOperands(walked), row, walked.shape[row],
                                        true, backend::cuda::most_columns(accumulator));
    is_folded = folds.has_value(), width = vectors.width;
    Walk<M>::run(walked, walked.reduced, is_folded ? -1 : 0, vectors);
  }
  bool is_folded = false;
  int width = 1;
};

/// Memory with the extents (outer, kept, row), in which rows are apart: the others are reduced.
template <class M>
struct RaggedRows : Walk<M> {
  using Walk<M>::call, Walk<M>::draw;
  explicit RaggedRows(std::uint64_t seed) : Walk<M>(seed) {
    const i64 kept = draw.one_in(3) ? 1 : 2 + draw.below(6), outer = 2 + draw.below(40);
    const i64 row = 8 + draw.below(draw.of({30, 300, 900}));
    const i64 pitch = row + draw.below(5);
    this->place(kept > 1 ? Shape{kept, outer, row} : Shape{outer, row}, kept > 1 ? 1 : 0,
                outer * kept * pitch,
                kept > 1 ? Strides{pitch, kept * pitch, 1} : Strides{pitch, 1});
    if (!is_located<decltype(this->expected(0))>) return;
    Strides& places = call.operands[0].strides;
    this->is_reordered = draw.one_in(2);
    places[call.rank() - 2] = this->is_reordered ? 1 : row;
    places[call.rank() - 1] = this->is_reordered ? outer : 1;
  }
  bool run() {
    const auto vectors = ragged_vectors(backend::cuda::CallOperands(call), call.shape.back());
    if (vectors.width == 1) return false;
    Walk<M>::run(call, backend::cuda::places_in_vectors(call, vectors.width), -2, vectors);
    return true;
  }
};

template <class Op, class Acc, class Out, class A>
using reduction_in = reduction_of<in<A, 0>, Op, Acc, Out, 0, A>;

template <class M>
class cuda_reduce_axes : public ::testing::Test {};
using Reductions =
    ::testing::Types<reduction_in<sum_of, i64, i64, i8>, reduction_in<mean_of, double, double, u16>,
                     reduction_in<argmax_of, located<i8>, i64, i8>,
                     reduction_in<argmin_of, located<float16>, i64, float16>,
                     reduction_in<moments_of, moments<double>, double, i8>,
                     reduction_in<moments_of, moments<double>, double, i16>,
                     reduction_in<moments_of, moments<double>, double, double>,
                     reduction_in<moments_of, moments<float>, float, float>,
                     reduction_in<max_of, float, float, float>>;
TYPED_TEST_SUITE(cuda_reduce_axes, Reductions);

TYPED_TEST(cuda_reduce_axes, columns_are_those_of_plain_loops) {
  using C = Columns<TypeParam>;
  constexpr bool is_narrow = C::size < 8, can_fold = is_narrow && C::accumulator <= 8;
  int folded = 0, with_rest = 0, gaps = 0, gaps_folded = 0, of_several_rows = 0;
  for (std::uint64_t seed = 0; seed < 120 && !this->HasFailure(); ++seed) {
    C c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    c.run();
    c.check();
    gaps += c.gap == 2 && c.width > 1 && !c.is_folded;
    if (!c.is_folded) continue;
    ++folded;
    gaps_folded += c.gap == 2;
    with_rest += c.call.reduced % 2 == 1;
    of_several_rows += c.call.kept_rank > 1;
  }
  EXPECT_EQ(folded > 20, can_fold);
  EXPECT_EQ(with_rest > 5, can_fold);
  EXPECT_EQ(gaps_folded > 3, can_fold);
  EXPECT_EQ(of_several_rows > 3, can_fold);
  EXPECT_EQ(gaps > 1, is_narrow);
}

TYPED_TEST(cuda_reduce_axes, ragged_rows_are_those_of_plain_loops) {
  int rows = 0, gaps = 0;
  for (std::uint64_t seed = 0; seed < 120 && !this->HasFailure(); ++seed) {
    RaggedRows<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (!c.run()) continue;
    c.check();
    ++rows;
    gaps += c.gap == 2;
  }
  EXPECT_GT(rows, 40);
  EXPECT_EQ(gaps > 10, RaggedRows<TypeParam>::size < 8);
}

}  // namespace
}  // namespace quarry::test
