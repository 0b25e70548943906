// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/drawn_reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>

#include "backend/cuda/launch/geometry.hpp"

/// The reductions as a GPU runs them, over drawn layouts and splits: every element is taken once,
/// with its position, by the output that it belongs to.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::cuda::Reduce;

Extents draw_extents(Draw& draw, int rank, std::int64_t most) {
  Extents extents;
  for (int d = 0; d < rank; ++d) extents.push_back(1 + draw.below(draw.of({3, 40, 700, 9000})));
  if (rank > 0 && draw.one_in(2)) extents.back() = (extents.back() + 7) / 8 * 8;
  while (product(extents) > most) {
    auto& longest = *std::ranges::max_element(extents);
    longest = (longest + 1) / 2;
  }
  return extents;
}

/// A reduction with its variant and geometry.
template <class M>
struct Case;
template <class E, class Op, class Acc, class Out, int S, class... In>
struct Case<reduction_of<E, Op, Acc, Out, S, In...>>
    : DrawnReduction<reduction_of<E, Op, Acc, Out, S, In...>> {
  using M = reduction_of<E, Op, Acc, Out, S, In...>;
  using Drawn = DrawnReduction<M>;
  using Drawn::arena, Drawn::draw, Drawn::operands, Drawn::kept, Drawn::reduced, Drawn::whole;
  using Drawn::sizes, Drawn::widest;

  /// Those of emulated_reductions.hpp, of three elements.
  static constexpr bool has_whole_pieces = sizeof...(In) == 1 && widest > 1;

  explicit Case(std::uint64_t seed) : Drawn(seed) {
    kept = draw_extents(draw, draw.one_in(9) ? 3 : int(draw.below(3)), draw.of({1, 6, 60, 600}));
    const std::int64_t limit = kept.size() == 3 ? 4000 : draw.of({4000, 20000});
    const int reduced_rank = kept.size() == 3 ? 1 : 1 + int(draw.below(2));
    reduced = draw_extents(draw, reduced_rank, std::max<i64>(limit / product(kept), 1));
    if (has_whole_pieces && draw.one_in(3)) reduced.back() = 3;
    this->place(!kept.empty() && draw.one_in(6));
    choose();
  }

  void choose() {
    const bool is_along = kept.size() < 3 && draw.one_in(2);
    std::size_t columns = kept.empty() ? 0 : 1;  // axes of a row of outputs
    std::optional<std::size_t> tiles;
    if (kept.size() == 3 || (kept.size() == 2 && !is_along && draw.one_in(2))) {
      tiles = std::size_t(draw.below(std::int64_t(kept.size()) - 1));
      columns = kept.size() - 1 - *tiles;
    }
    in_tiles = tiles.has_value();
    backend::cuda::VectorAccess vectors;
    const backend::cuda::CallOperands call{operands.all, sizes, 1};
    if (is_along) {
      vectors = backend::cuda::row_vectors(call, reduced.size(), reduced.back());
    } else if (!kept.empty() && !tiles && draw.one_in(2)) {
      const bool are_whole = reduced.back() == 3 && has_whole_pieces;
      vectors = are_whole ? backend::cuda::whole_pieces(call, 3)
                          : backend::cuda::piece_vectors(call, reduced.back());
      in_pieces = vectors.width > 1;
    } else if (!kept.empty()) {
      vectors = backend::cuda::column_vectors(call, kept.size() - 1, kept.back());
    }
    while (vectors.width != 3 && !has_width<M>(vectors.width, widest)) vectors.width /= 2;
    variant = {.kept_rank = int(kept.size()),
               .reduced_rank = int(reduced.size()),
               .index_bytes = 4,
               .along_reduced =
                   backend::cuda::along_argument({is_along, in_pieces, tiles}, vectors.places),
               .width = vectors.width,
               .wide = vectors.wide};
    geometry = backend::cuda::reduce_geometry(
        {.kept = product(kept),
         .reduced = product(reduced),
         .span = 0,
         .along_reduced = is_along,
         .columns = product({kept.end() - std::ptrdiff_t(columns), kept.end()}),
         .vector_width = vectors.width,
         .in_tiles = in_tiles,
         .in_pieces = in_pieces},
        draw.of({1, 4, 132}));
    operands.words[2] = u64(geometry.chunk);
  }

  bool is_along() const { return variant.along_reduced == 1 || variant.along_reduced == 2; }
  bool has_gaps() const { return variant.wide >> input_access::other_step > 0; }

  ReduceKernel kernel() {
    const auto& all = kernels_of<M, widest, (1u << sizeof...(In)) - 1>();
    for (const int bytes : {4, 8}) {  // each rank is there with one width of the index
      variant.index_bytes = bytes;
      if (const auto found = all.find(variant); found != all.end()) return found->second;
    }
    return nullptr;
  }

  /// Those that finish are there without vectors, which make no difference to that.
  void choose_finish() {
    const std::size_t bytes = static_cast<std::size_t>(product(kept)) * sizeof(Acc);
    finish_shape = backend::cuda::finish_geometry(product(kept), geometry.splits);
    variant.finishes = geometry.splits > 1 && variant.width == 1 && !in_tiles &&
                       backend::cuda::can_finish(geometry, finish_shape, bytes);
    if (variant.finishes && !kernel()) variant.finishes = false;
  }

  void check() {
    choose_finish();
    const ReduceKernel run = kernel();
    ASSERT_TRUE(run) << "no kernel of width " << variant.width << ", ranks " << variant.kept_rank
                     << " and " << variant.reduced_rank;
    const Memory expected = this->expected_memory();
    const auto partials = static_cast<std::size_t>(geometry.splits * product(kept));
    std::vector<Acc> partial(partials + 64, Op::template identity<Acc>());
    std::memset(static_cast<void*>(partial.data()), 0x5a, partial.size() * sizeof(Acc));
    void* const scratch = geometry.splits > 1 ? partial.data() : nullptr;
    u32 arrived = 0;
    const auto lanes = static_cast<int>(finish_shape.block_y);
    std::vector<std::string> faults =
        launch({{geometry.grid_x, unsigned(geometry.splits)}, {geometry.block_x, geometry.block_y}},
               draw.bits(), [&] { run(operands.words.data(), scratch, &arrived, lanes); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    EXPECT_EQ(arrived, 0u);
    if (scratch && !variant.finishes) finish(scratch);
    this->expect_memory(expected);
    const auto* const guard = reinterpret_cast<const unsigned char*>(partial.data() + partials);
    EXPECT_TRUE(std::all_of(guard, guard + 64 * sizeof(Acc), [](int b) { return b == 0x5a; }));
  }

  void finish(void* scratch) {
    const auto& g = finish_shape;
    const Grid grid{{1 + unsigned(draw.below(g.grid_x))}, {g.block_x, g.block_y}};
    const auto& all = finishes_of<M>();
    const auto run = all.at({int(kept.size()), int(reduced.size())});
    const auto faults =
        launch(grid, draw.bits(), [&] { run(operands.words.data(), scratch, geometry.splits); });
    EXPECT_EQ(faults, std::vector<std::string>{});
  }

  bool in_tiles = false, in_pieces = false;
  Reduce variant{};
  backend::cuda::ReduceGeometry geometry{};
  backend::cuda::FinishGeometry finish_shape{};
};

template <class M>
class cuda_reduce : public ::testing::Test {};
using Reductions = ::testing::Types<
    reduction<gather_of, gathered, watched<8>, watched<4>>::type,
    reduction<gather_of, watched<8>, watched<8>>::type,
    reduction<gather_of, gathered, watched<12>, watched<12>>::type,
    reduction<gather_of, watched<4>, watched<4>>::type,
    reduction<argmin_of, located<float>, i64, float>::type,
    reduction<argmax_of, located<i8>, i64, i8>::type,
    special_reduction<argmax_of, located<float16>, i64, float16>::type,
    special_reduction<argmin_of, located<complex<float>>, i64, complex<float>>::type,
    cast_reduction<argmax_of, u16, i8>::type, cast_reduction<argmin_of, i8, u8>::type,
    reduction<moments_of, moments<double>, double, double>::type,
    special_reduction<moments_of, moments<complex<double>>, double, complex<double>>::type,
    special_reduction<exponentials_of, exponentials<double>, double, double>::type,
    reduction<exponentials_of, exponentials<double>, double, double>::type,
    reduction<sum_of, i64, i64, bool>::type, reduction<sum_of, i64, i64, i8>::type,
    reduction<mean_of, double, double, u16>::type,
    reduction<moments_of, moments<double>, double, u8>::type,
    reduction<moments_of, moments<double>, double, i16>::type,
    reduction<scaled_sum, i64, double, int>::type>;
TYPED_TEST_SUITE(cuda_reduce, Reductions);

TYPED_TEST(cuda_reduce, takes_every_element_once) {
  std::map<std::string, int> seen;
  const std::uint64_t seeds = reads_watched<TypeParam> ? 320 : 440;  // of which some have no kernel
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Case<TypeParam> c(seed);
    if (!has_ranks<TypeParam>(c.kept.size(), c.reduced.size())) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", kept " + ::testing::PrintToString(c.kept) +
                 ", reduced " + ::testing::PrintToString(c.reduced));
    c.check();
    ++seen[c.geometry.splits > 1 ? "split" : "whole"];
    ++seen[c.is_along() ? "along" : "across"];
    ++seen[c.variant.width > 1 ? "vectors" : "elements"];
    if (c.variant.width > 1 && !c.is_along() && !c.in_pieces) ++seen["vectors of columns"];
    if (c.variant.finishes) ++seen["finished by the last block"];
    if (c.geometry.block_x > 32) ++seen["several warps"];
    if (c.variant.along_reduced == 2) ++seen["shifted rows"];
    if (c.has_gaps()) ++seen["every second element"];
    if (c.in_tiles) ++seen["tiles"];
    if (c.in_pieces) ++seen["pieces"];
    if (c.variant.width == 3) ++seen["whole pieces"];
    if (c.is_reordered) ++seen["positions in another order"];
    if (!std::has_single_bit(c.geometry.block_x)) ++seen["short rows of columns"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const auto& [what, count] : seen) this->RecordProperty(what, count);
  if (seen["vectors"] > 0) {
    EXPECT_GT(seen["vectors of columns"], 1);
    EXPECT_GT(seen["shifted rows"], 1);
    EXPECT_GT(seen["pieces"], 1);
    if (Case<TypeParam>::has_whole_pieces) {
      EXPECT_GT(seen["whole pieces"], 1);
    }
  }
  if (Case<TypeParam>::widest > 2) {
    EXPECT_GT(seen["every second element"], 1);
  }
  EXPECT_GT(seen["finished by the last block"], 1);
  for (const char* const what :
       {"split", "whole", "along", "across", "several warps", "short rows of columns", "tiles"}) {
    EXPECT_GT(seen[what], 5) << what;
  }
}

}  // namespace
}  // namespace quarry::test
