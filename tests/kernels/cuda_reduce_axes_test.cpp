// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/reduce_axes.hpp"

#include <gtest/gtest.h>

#include <quarry/kernels/reduce.hpp>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/grid.hpp"
#include "backend/cuda/launch/parameter_block.hpp"
#include "kernels/drawn_call.hpp"
#include "kernels/emulated_reductions.hpp"

/// Reductions of drawn extents by vectors that are not along one axis of the call, dense or of
/// every second element.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::KernelCall;
using backend::cuda::VectorAccess;

/// A reduction of drawn memory, whose call walks other axes than those of its operands.
template <class M>
struct Walk : DrawnCall<M> {
  using Drawn = DrawnCall<M>;
  using Drawn::call, Drawn::draw, Drawn::gaps, Drawn::size, Drawn::accumulator;
  using Drawn::Drawn;
  using typename Drawn::Acc;

  void run(const KernelCall& walked, i64 reduced, int along, const VectorAccess& vectors) {
    const bool is_along = along == -2 || along == -3;
    const i64 row = walked.kept_rank > 0 ? walked.shape[walked.kept_rank - 1] : 1;
    const i64 columns =
        is_along ? row : backend::cuda::divide_up(row, vectors.width) * vectors.width;
    const auto g = backend::cuda::reduce_geometry({.kept = walked.kept / row * columns,
                                                   .reduced = reduced,
                                                   .span = 0,
                                                   .along_reduced = is_along,
                                                   .columns = columns,
                                                   .vector_width = vectors.width},
                                                  draw.of({1, 4, 132}));
    const i64 folds = walked.kept / call.kept;
    const i64 splits = g.splits * backend::cuda::partials_of_split(folds, columns / vectors.width);
    std::vector<Acc> partial(std::size_t(splits * call.kept));
    std::memset(static_cast<void*>(partial.data()), 0x5a, partial.size() * sizeof(Acc));
    const bool is_partial = along == -1 || along == -5 || g.splits > 1;
    const auto run = kernels().at(Reduce{int(walked.kept_rank), int(walked.reduced_rank()), 4,
                                         along, vectors.width, vectors.wide});
    const auto words = backend::cuda::parameter_block(walked, true, g.chunk);
    const auto faults =
        launch({{g.grid_x, unsigned(g.splits)}, {g.block_x, g.block_y}}, draw.bits(),
               [&] { run(words.data(), is_partial ? partial.data() : nullptr, nullptr, 1); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    if (!is_partial) return;
    this->finish(backend::cuda::parameter_block(call, true, g.chunk), partial, splits);
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
      if constexpr (is_located<typename Drawn::Acc> && V * size >= 8) {
        add<M, 0, 2, i32, -3, V, 1>(all);
        add<M, 1, 3, i32, -3, V, 1>(all);
        if constexpr (V * size == 8) {
          add<M, 0, 2, i32, -3, V, gaps>(all);
          add<M, 1, 3, i32, -3, V, gaps>(all);
        }
      }
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
    if constexpr (can_fold) {
      add_folded<-1, V, Wide>(all);
      if constexpr (Wide == 1 && V == anywhere) add_folded<-5, V, Wide>(all);
    }
  }
  template <int Along, int V, unsigned Wide>
  static void add_folded(ReduceKernels& all) {
    add<M, 1, 1, i32, Along, V, Wide>(all);
    add<M, 2, 1, i32, Along, V, Wide>(all);
    add<M, 1, 2, i32, Along, V, Wide>(all);
    add<M, 2, 2, i32, Along, V, Wide>(all);
  }
  /// The vectors along the last kept axis, and those at any element that are wider than `width`.
  static VectorAccess aligned(const KernelCall& walked) {
    const std::size_t row = walked.kept_rank - 1;
    return column_vectors(backend::cuda::CallOperands(walked), row, walked.shape[row], true, most);
  }
  static VectorAccess unaligned(const KernelCall& walked, int width) {
    const std::size_t row = walked.kept_rank - 1;
    return unaligned_column_vectors(backend::cuda::CallOperands(walked), row, walked.shape[row],
                                    width, most_unaligned);
  }
  static constexpr int most = most_columns_of<M>(false), most_unaligned = most_columns_of<M>(true);
  static constexpr int anywhere =
      std::min(most_unaligned, int(8 / size));  ///< outputs of an unaligned vector
  static constexpr bool finds_positions = is_located<typename Drawn::Acc>;
  static constexpr bool can_fold = size < 8 && (accumulator <= 8 || size == 1) && !finds_positions;
};

/// Memory with the extents (others, outer, count, columns), of which the first and the third axis
/// are reduced.
template <class M>
struct Columns : Walk<M> {
  using Base = Walk<M>;
  using Base::call, Base::draw, Base::accumulator, Base::can_fold, Base::finds_positions;
  explicit Columns(std::uint64_t seed) : Base(seed) {
    const i64 others = can_fold && draw.one_in(2) ? 2 + draw.below(20) : 1;
    const i64 outer = draw.one_in(2) ? 1 : 2 + draw.below(others > 1 ? 1 : 3);
    const i64 columns = 2 + draw.below(others > 1 ? draw.of({6, 40}) : draw.of({6, 40, 200}));
    const i64 count = others > 1 ? 1 + draw.below(draw.of({60, 900}))
                                 : 64 * (1 + draw.below(20)) + draw.below(64);
    Shape shape{columns};
    Strides strides{1};
    if (outer > 1) shape.insert(0, outer), strides.insert(0, count * columns);
    const std::size_t kept_rank = shape.size();
    if (others > 1) shape.push_back(others), strides.push_back(outer * count * columns);
    shape.push_back(count), strides.push_back(columns);
    this->place(shape, kept_rank, others * outer * count * columns, strides);
    if (finds_positions) call.operands[0].strides.back() = 1;
  }
  /// Folds, if it can: in every second case for vectors that begin at any element. False if there
  /// is no kernel of several reduced axes that are not folded.
  bool run() {
    if (can_fold && draw.one_in(2)) {
      const auto folds = backend::cuda::folded_anywhere(call);
      const auto vectors = folds ? Base::unaligned(*folds, 1) : VectorAccess{};
      is_anywhere = vectors.width == Base::anywhere && vectors.width > 1;
      if (is_anywhere) return run(*folds, -5, vectors);
    }
    const auto folds = can_fold ? backend::cuda::folded(call) : std::nullopt;
    const KernelCall& walked = folds ? *folds : call;
    return run(walked, folds ? -1 : 0, Base::aligned(walked));
  }
  /// Elements behind the folded rows.
  i64 rest() const { return call.shape.back() % fold; }
  i64 fold = 1;
  bool is_folded = false, is_anywhere = false;
  int width = 1;

 private:
  bool run(const KernelCall& walked, int along, const VectorAccess& vectors) {
    if (along == 0 && call.reduced_rank() > 1) return false;
    is_folded = along != 0, width = vectors.width, fold = walked.kept / call.kept;
    Base::run(walked, walked.reduced, along, vectors);
    return true;
  }
};

/// Memory with the extents (others, apart, kept, inner, behind), of which the first and the fourth
/// axis are reduced.
template <class M>
struct InnerRows : Walk<M> {
  using Base = Walk<M>;
  using Base::call, Base::draw, Base::size, Base::accumulator;
  explicit InnerRows(std::uint64_t seed) : Base(seed) {
    const i64 enough = (16 * accumulator - 1) / size + 1;
    const bool has_many = draw.one_in(3);  // so that rows can be folded
    const i64 others = enough * (has_many ? 8 : 1) + draw.below(draw.of({40, 400}));
    const i64 apart = has_many ? 1 : draw.of({1, 1, 2, 3}), few = has_many ? 6 : 30;
    const i64 kept = 2 + draw.below(draw.of({i64{3}, few})),
              inner = 2 + draw.below(draw.of({i64{3}, few}));
    const i64 behind = draw.one_in(2) ? 1 : 2 + draw.below(6);
    const i64 row = kept * inner * behind, pitch = row + (apart > 1 ? draw.below(40) : 0);
    Shape shape{kept};
    Strides strides{inner * behind};
    if (apart > 1) shape.insert(0, apart), strides.insert(0, pitch);
    if (behind > 1) shape.push_back(behind), strides.push_back(1);
    const std::size_t kept_rank = shape.size();
    shape.push_back(others), strides.push_back(apart * pitch);
    shape.push_back(inner), strides.push_back(behind);
    this->place(shape, kept_rank, others * apart * pitch, strides);
    is_apart = pitch > row, has_behind = behind > 1;
  }
  bool run() {
    const auto inner = backend::cuda::inner_kept(call);
    if (!inner) return false;
    const auto folds = backend::cuda::folded_inner(*inner);
    is_folded = folds && draw.one_in(2);
    const KernelCall& walked = is_folded ? *folds : *inner;
    const auto aligned = Base::aligned(walked), anywhere = Base::unaligned(walked, aligned.width);
    is_anywhere = !is_folded && anywhere.width == Base::anywhere && anywhere.width > 1;
    const VectorAccess& vectors = is_anywhere ? anywhere : aligned;
    if (vectors.width == 1) return false;
    const i64 row = walked.shape[walked.kept_rank - 1];
    is_short = row / vectors.width < short_row;
    has_rest = is_folded && inner->shape.back() * inner->shape[inner->kept_rank - 1] % row != 0;
    Base::run(walked, walked.reduced, is_anywhere ? -5 : -1, vectors);
    return true;
  }
  bool is_apart, has_behind, is_anywhere = false;
  bool is_folded = false, is_short = false, has_rest = false;
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
    const std::size_t row_axis = call.rank() - 1, rows_axis = row_axis - 1;
    if (draw.one_in(2))
      this->place_along({row_axis, rows_axis});
    else
      this->place_along({rows_axis, row_axis});
  }
  bool run() {
    const auto vectors = ragged_vectors(backend::cuda::CallOperands(call), call.shape.back());
    if (vectors.width == 1) return false;
    Walk<M>::run(call, backend::cuda::places_in_vectors(call, vectors.width), -2, vectors);
    return true;
  }
};

/// Memory with the extents (kept, outer, middle, row), of which all but the first are reduced;
/// their positions are in any order.
template <class M>
struct Runs : Walk<M> {
  using Walk<M>::call, Walk<M>::draw, Walk<M>::size;
  explicit Runs(std::uint64_t seed) : Walk<M>(seed) {
    const i64 row = 1 + draw.below(draw.of({3, 30, 300})), outer = 1 + draw.below(draw.of({3, 60}));
    if (draw.one_in(3)) {
      this->place(Shape{outer, row}, 0, outer * row, Strides{row, 1});
    } else {
      const i64 kept = 1 + draw.below(7), middle = 1 + draw.below(9), rest = middle * row;
      this->place(Shape{kept, outer, middle, row}, 1, kept * outer * rest,
                  Strides{outer * rest, rest, row, 1});
    }
    std::vector<std::size_t> axes;
    for (std::size_t axis = call.kept_rank; axis < call.rank(); ++axis) {
      const i64 at = draw.below(static_cast<i64>(axes.size()) + 1);
      axes.insert(axes.begin() + at, axis);
    }
    this->place_along(axes);
  }
  bool run() {
    EXPECT_TRUE(backend::cuda::is_run(call));
    const auto vectors = run_vectors(backend::cuda::CallOperands(call), call.reduced);
    if (vectors.width * size < 8) return false;
    Walk<M>::run(call, call.reduced, -3, vectors);
    return true;
  }
};

template <class M>
class cuda_reduce_axes : public ::testing::Test {
 public:
  /// Runs drawn reductions, and calls f with those that there is a kernel for.
  template <class Drawn, class F>
  void check_drawn(std::uint64_t seeds, const F& f) {
    for (std::uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
      Drawn drawn(seed);
      SCOPED_TRACE("seed " + std::to_string(seed));
      if (!drawn.run()) continue;
      drawn.check();
      f(drawn);
    }
  }
};
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
  constexpr bool is_narrow = C::size < 8, can_fold = C::can_fold;
  constexpr bool has_anywhere = can_fold && C::anywhere >= 4;
  int folded = 0, with_rest = 0, gaps = 0, gaps_folded = 0, of_several_rows = 0;
  int anywhere = 0, anywhere_with_rest = 0, rests_of_several = 0;
  this->template check_drawn<C>(240, [&](const C& c) {
    gaps += c.gap == 2 && c.width > 1 && !c.is_folded;
    if (!c.is_folded) return;
    ++folded;
    gaps_folded += c.gap == 2;
    with_rest += c.rest() > 0;
    of_several_rows += c.call.kept_rank > 1;
    rests_of_several += c.rest() > 0 && c.call.reduced_rank() > 1;
    anywhere += c.is_anywhere;
    anywhere_with_rest += c.is_anywhere && c.rest() > 0;
  });
  EXPECT_EQ(anywhere > 5, has_anywhere) << anywhere;
  EXPECT_EQ(anywhere_with_rest > 2, has_anywhere) << anywhere_with_rest;
  EXPECT_EQ(rests_of_several > 2, has_anywhere) << rests_of_several;
  EXPECT_EQ(folded > 20, can_fold);
  EXPECT_EQ(with_rest > 5, can_fold);
  EXPECT_EQ(gaps_folded > 3, can_fold);
  EXPECT_EQ(of_several_rows > 3, can_fold);
  EXPECT_EQ(gaps > 1, is_narrow);
}

TYPED_TEST(cuda_reduce_axes, rows_with_an_inner_axis_are_those_of_plain_loops) {
  using R = InnerRows<TypeParam>;
  if constexpr (R::can_fold) {
    int rows = 0, apart = 0, behind = 0, anywhere = 0;
    int folded = 0, folded_behind = 0, short_folded = 0, rests = 0;
    this->template check_drawn<R>(160, [&](const R& r) {
      ++rows;
      apart += r.is_apart, behind += r.has_behind, anywhere += r.is_anywhere;
      folded += r.is_folded, folded_behind += r.is_folded && r.has_behind;
      short_folded += r.is_folded && r.is_short;
      rests += r.has_rest;
    });
    EXPECT_GT(rows, 30);
    EXPECT_GT(folded, 5);
    EXPECT_GT(short_folded, 2);
    EXPECT_GT(rests, 0);
    EXPECT_GT(folded_behind, 1);
    EXPECT_GT(apart, 5);
    EXPECT_GT(behind, 5);
    EXPECT_EQ(anywhere > 2, R::anywhere >= 4) << anywhere;
  }
}

TYPED_TEST(cuda_reduce_axes, ragged_rows_are_those_of_plain_loops) {
  using R = RaggedRows<TypeParam>;
  int rows = 0, gaps = 0;
  this->template check_drawn<R>(120, [&](const R& r) {
    ++rows;
    gaps += r.gap == 2;
  });
  EXPECT_GT(rows, 40);
  EXPECT_EQ(gaps > 10, R::size < 8);
}

TYPED_TEST(cuda_reduce_axes, runs_have_the_first_positions_of_plain_loops) {
  using R = Runs<TypeParam>;
  if constexpr (is_located<typename R::Acc>) {
    int runs = 0, short_rows = 0, gaps = 0;
    this->template check_drawn<R>(200, [&](const R& r) {
      ++runs;
      short_rows += r.call.shape.back() < 16;
      gaps += r.gap == 2;
    });
    EXPECT_GT(runs, 60);
    EXPECT_GT(short_rows, 15);
    EXPECT_GT(gaps, 10);
  }
}

}  // namespace
}  // namespace quarry::test
