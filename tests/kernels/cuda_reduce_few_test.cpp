// SPDX-License-Identifier: BSD-3-Clause

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/reduce_axes.hpp"
#include "kernels/drawn_reduction.hpp"

/// Reductions of few elements as a GPU runs them, over drawn layouts.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::cuda::ReduceFew;

using FewKernels = std::unordered_map<Variant, void (*)(const u64* words), HashOfVariant>;

template <class M, int Rk, int Rr, int Bytes, int Along, int V, unsigned Wide, int Count>
void add(FewKernels& all) {
  all[ReduceFew{{Rk, Rr, Bytes, Along, V, int{Wide}}, Count}] = [](const u64* words) {
    typename reduce_few_body<M, Rk, Rr, index_of<Bytes>, Along, V, Wide, Count>::param_type p;
    std::memcpy(&p, words, sizeof p);
    reduce_few<M, Rk, Rr, Bytes, Along, V, Wide, Count>(p, 0);
  };
}
template <class M, int V, unsigned Wide, int Count>
void add_columns(FewKernels& all) {
  add<M, 1, 1, 4, 0, V, Wide, Count>(all);
  add<M, 2, 1, 8, 0, V, Wide, Count>(all);
  add<M, 1, 2, 4, 0, V, Wide, Count>(all);
  add<M, 2, 1, 4, 4, V, Wide, Count>(all);
}
template <class M, int V, unsigned Wide, int Count>
void add_pieces(FewKernels& all) {
  add<M, 1, 1, 8, 3, V, Wide, Count>(all);
  add<M, 2, 1, 4, 3, V, Wide, Count>(all);
  add<M, 1, 2, 8, 3, V, Wide, Count>(all);
}
template <class M, int Columns, int Piece, int Count>
void add_count(FewKernels& all) {
  add_columns<M, 1, 0, Count>(all);
  add_pieces<M, 1, 0, Count>(all);
  if constexpr (Columns > 1) add_columns<M, Columns, 1, Count>(all);
  if constexpr (Piece > 1) add_pieces<M, Piece, 1, Count>(all);
}
template <class M, int Columns, int Piece>
const FewKernels& few_kernels_of() {
  static const FewKernels found = [] {
    FewKernels all;
    add_count<M, Columns, Piece, 1>(all);
    add_count<M, Columns, Piece, 2>(all);
    add_count<M, Columns, Piece, 3>(all);
    add_count<M, Columns, Piece, 8>(all);
    return all;
  }();
  return found;
}

template <class M>
struct FewCase : DrawnReduction<M> {
  using Drawn = DrawnReduction<M>;
  using Drawn::arena, Drawn::draw, Drawn::operands, Drawn::kept, Drawn::reduced;
  static constexpr int piece = Drawn::widest, columns = std::min(piece, most_columns_of<M>(false));

  explicit FewCase(std::uint64_t seed) : Drawn(seed) {
    this->slack = 1e-12;
    order.along_reduced = false;
    order.pieces = draw.one_in(2);
    const int widest = order.pieces ? piece : columns;
    draw_shape(draw.of({1, 2, 3, 8}), draw.one_in(2) ? widest : 1);
    if (!order.pieces && kept.size() == 2 && !draw.one_in(3)) order.tile_axis = 0;
    this->place(draw.one_in(4));
    const backend::cuda::CallOperands call{operands.all, Drawn::sizes, 1};
    vectors = order.pieces ? backend::cuda::piece_vectors(call, reduced.back())
                           : backend::cuda::column_vectors(call, kept.size() - 1, kept.back(),
                                                           false, columns);
    if (vectors.width < widest) vectors = {};
    order.accesses = static_cast<int>(product(reduced) / (order.pieces ? vectors.width : 1));
  }

  /// Of `count` accesses of vectors of `width` elements of each output.
  void draw_shape(std::int64_t count, std::int64_t width) {
    const std::int64_t outputs = 8000 / (count * width);
    reduced = {count};
    if (order.pieces && draw.one_in(2)) {
      reduced.push_back(width);
    } else if (order.pieces) {
      reduced[0] *= width;
    } else if (draw.one_in(3)) {
      reduced = count == 8 ? Extents{2, 4} : Extents{count, 1};
    }
    const std::initializer_list<std::int64_t> most = {3, 20, outputs};
    kept = {1 + draw.below(draw.of(most))};
    if (reduced.size() == 1 && draw.one_in(2)) {
      kept = {1 + draw.below(20), 1 + draw.below(1 + outputs / 20)};
    }
    if (!order.pieces) kept.back() *= width;
  }

  ReduceFew variant(int index_bytes) const {
    return {{.kept_rank = int(kept.size()),
             .reduced_rank = int(reduced.size()),
             .index_bytes = index_bytes,
             .along_reduced = backend::cuda::along_argument(order, vectors.places),
             .width = vectors.width,
             .wide = vectors.wide},
            order.accesses};
  }

  /// Whether there is a kernel: a piece that is read one by one may be of more accesses.
  bool check() {
    const auto& all = few_kernels_of<M, columns, piece>();
    auto found = all.find(variant(4));
    if (found == all.end()) found = all.find(variant(8));
    if (found == all.end()) return false;
    auto g = backend::cuda::few_geometry({.kept = product(kept),
                                          .reduced = product(reduced),
                                          .span = 0,
                                          .columns = kept.back(),
                                          .vector_width = vectors.width,
                                          .in_tiles = order.tile_axis.has_value(),
                                          .in_pieces = order.pieces},
                                         draw.of({1, 2, 8}));
    if (!order.tile_axis && draw.one_in(3)) g.grid_x = 1 + unsigned(draw.below(g.grid_x));
    const Memory expected = this->expected_memory();
    const auto faults = launch({{g.grid_x, 1}, {g.block_x, g.block_y}}, draw.bits(),
                               [&] { found->second(operands.words.data()); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    this->expect_memory(expected);
    return true;
  }

  backend::cuda::ReduceOrder order{};
  backend::cuda::VectorAccess vectors;
};

template <class M>
class cuda_reduce_few : public ::testing::Test {};
using FewReductions =
    ::testing::Types<reduction<gather_of, gathered, watched<8>, watched<4>>::type,
                     special_reduction<argmin_of, located<float>, i64, float>::type,
                     reduction<argmax_of, located<i8>, i64, i8>::type,
                     reduction<argmin_of, located<u8>, i64, u8>::type,
                     reduction<argmin_of, located<bool>, i64, bool>::type,
                     reduction<moments_of, moments<double>, double, double>::type,
                     reduction<moments_of, moments<double>, double, u8>::type,
                     reduction<sum_of, i64, i64, i16>::type,
                     reduction<exponentials_of, exponentials<double>, double, double>::type>;
TYPED_TEST_SUITE(cuda_reduce_few, FewReductions);

TYPED_TEST(cuda_reduce_few, takes_every_element_once) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    FewCase<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", kept " + ::testing::PrintToString(c.kept) +
                 ", reduced " + ::testing::PrintToString(c.reduced));
    if (!c.check()) continue;
    ++seen[c.order.pieces ? "pieces" : c.order.tile_axis ? "tiles" : "columns"];
    const bool are_vectors = c.vectors.width > 1;
    ++seen[!are_vectors ? "elements" : c.order.pieces ? "vector pieces" : "vectors of columns"];
    ++seen[c.order.accesses == 1 ? "one access" : "several accesses"];
    if (c.reduced.size() > 1) ++seen["two reduced axes"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const char* const what : {"pieces", "tiles", "columns", "elements", "one access",
                                 "several accesses", "two reduced axes"}) {
    EXPECT_GT(seen[what], 10) << what;
  }
  if (FewCase<TypeParam>::piece > 1) {
    EXPECT_GT(seen["vector pieces"], 10);
    EXPECT_GT(seen["vectors of columns"], 10);
  }
}

}  // namespace
}  // namespace quarry::test
