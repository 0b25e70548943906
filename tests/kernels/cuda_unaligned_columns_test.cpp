// SPDX-License-Identifier: BSD-3-Clause

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/grid.hpp"
#include "backend/cuda/launch/reduce_axes.hpp"
#include "kernels/drawn_reduction.hpp"

/// Reductions of columns by vectors that begin at any element, as a GPU runs them: rows of outputs
/// of any length, whose last vectors overlap.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

constexpr int few = 3;  ///< elements of each output of reduce_few

template <class M, int V, unsigned Wide>
const ReduceKernels& column_kernels() {
  static const ReduceKernels found = [] {
    ReduceKernels all;
    add<M, 1, 1, i32, -4, V, Wide>(all);
    add<M, 2, 1, i64, -4, V, Wide>(all);
    add<M, 1, 2, i64, -4, V, Wide>(all);
    add<M, 2, 2, i32, -4, V, Wide>(all);
    return all;
  }();
  return found;
}

template <class M, int Rk, int V, unsigned Wide>
void run_few(const u64* words) {
  typename reduce_few_body<M, Rk, 1, i32, -4, V, Wide, few>::param_type p;
  std::memcpy(&p, words, sizeof p);
  reduce_few<M, Rk, 1, 4, -4, V, Wide, few>(p, 0);
}

template <class M>
struct Columns;
template <class E, class Op, class Acc, class Out, int S, class... In>
struct Columns<reduction_of<E, Op, Acc, Out, S, In...>>
    : DrawnReduction<reduction_of<E, Op, Acc, Out, S, In...>> {
  using M = reduction_of<E, Op, Acc, Out, S, In...>;
  using Drawn = DrawnReduction<M>;
  using Drawn::draw, Drawn::operands, Drawn::kept, Drawn::reduced, Drawn::sizes;
  static constexpr int most = most_columns_of<M>(true),
                       widest = std::min({most, int(8 / std::min({sizeof(In)...})),
                                          int(16 / std::max({sizeof(In)...}))});
  static constexpr unsigned wide = (1u << sizeof...(In)) - 1;

  explicit Columns(std::uint64_t seed) : Drawn(seed) {
    is_few = draw.one_in(3);
    kept = {4 * widest + draw.below(draw.of({40, 300, 2500}))};
    if (draw.one_in(2)) kept.insert(kept.begin(), 1 + draw.below(3000 / kept[0] + 1));
    const std::int64_t elements = std::max<i64>(draw.of({4000, 20000}) / product(kept), 1);
    reduced = {is_few ? few : 1 + draw.below(elements)};
    if (!is_few && draw.one_in(2)) reduced.push_back(1 + draw.below(4));
    this->place(true);
    const backend::cuda::CallOperands call{operands.all, sizes, 1};
    vectors = backend::cuda::unaligned_column_vectors(call, kept.size() - 1, kept.back(), 1, most);
  }

  /// Whether rows have other vectors than aligned ones.
  bool are_unaligned() const {
    return vectors.width == widest && vectors.wide == int(wide) &&
           vectors.places == backend::cuda::VectorPlaces::unaligned;
  }

  backend::cuda::ReduceShape shape() const {
    const std::int64_t row = backend::cuda::divide_up(kept.back(), vectors.width) * vectors.width;
    return {.kept = product(kept) / kept.back() * row,
            .reduced = product(reduced),
            .span = 0,
            .along_reduced = false,
            .columns = row,
            .vector_width = vectors.width};
  }

  void check() {
    const Memory expected = this->expected_memory();
    is_few ? check_few() : check_all();
    this->expect_memory(expected);
  }
  void check_few() {
    const auto g = backend::cuda::few_geometry(shape(), draw.of({1, 2, 8}));
    const auto run = kept.size() == 1 ? run_few<M, 1, widest, wide> : run_few<M, 2, widest, wide>;
    const Grid grid{{1 + unsigned(draw.below(g.grid_x)), 1}, {g.block_x, g.block_y}};
    const auto faults = launch(grid, draw.bits(), [&] { run(operands.words.data()); });
    EXPECT_EQ(faults, std::vector<std::string>{});
  }
  void check_all() {
    const auto g = backend::cuda::reduce_geometry(shape(), draw.of({1, 4, 132}));
    operands.words[2] = u64(g.chunk);
    splits = g.splits, block_x = g.block_x;
    const int ranks[] = {int(kept.size()), int(reduced.size())};
    const auto& all = column_kernels<M, widest, wide>();
    const int bytes = ranks[0] == ranks[1] ? 4 : 8;
    const auto run = all.at(Reduce{ranks[0], ranks[1], bytes, -4, widest, vectors.wide});
    std::vector<Acc> partial(static_cast<std::size_t>(splits * product(kept)),
                             Op::template identity<Acc>());
    void* const scratch = splits > 1 ? partial.data() : nullptr;
    const Grid grid{{g.grid_x, unsigned(splits)}, {g.block_x, g.block_y}};
    auto faults = launch(grid, draw.bits(), [&] { run(operands.words.data(), scratch, 0, 0); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    if (!scratch) return;
    const auto finish = backend::cuda::finish_geometry(product(kept), splits);
    const auto end = finishes_of<M>().at({ranks[0], ranks[1]});
    faults = launch({{finish.grid_x}, {finish.block_x, finish.block_y}}, draw.bits(),
                    [&] { end(operands.words.data(), scratch, splits); });
    EXPECT_EQ(faults, std::vector<std::string>{});
  }

  bool is_few = false;
  backend::cuda::VectorAccess vectors;
  std::int64_t splits = 1;
  unsigned block_x = 0;
};

template <class M>
class cuda_unaligned_columns : public ::testing::Test {};
using Reductions =
    ::testing::Types<reduction<sum_of, i64, i64, i8>::type,
                     reduction<argmax_of, located<i8>, i64, i8>::type,
                     reduction<moments_of, moments<double>, double, u8>::type,
                     special_reduction<argmax_of, located<float16>, i64, float16>::type,
                     reduction<mean_of, double, double, u16>::type,
                     reduction_of<op<add_op, i64, cast<i64, in<i8, 0>>, cast<i64, in<i16, 1>>>,
                                  sum_of, i64, i64, 1, i8, i16>>;
TYPED_TEST_SUITE(cuda_unaligned_columns, Reductions);

TYPED_TEST(cuda_unaligned_columns, take_every_element_once) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Columns<TypeParam> c(seed);
    if (!c.are_unaligned()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", kept " + ::testing::PrintToString(c.kept) +
                 ", reduced " + ::testing::PrintToString(c.reduced));
    c.check();
    ++seen[c.is_few ? "few elements" : c.splits > 1 ? "split" : "whole"];
    ++seen[c.kept.back() % c.widest == 0 ? "whole vectors" : "vectors that overlap"];
    if (c.kept.size() > 1) ++seen["several rows"];
    if (c.block_x % 32 != 0) ++seen["short rows"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const char* const what : {"few elements", "split", "whole", "whole vectors",
                                 "vectors that overlap", "several rows", "short rows"}) {
    EXPECT_GT(seen[what], 3) << what;
  }
}

}  // namespace
}  // namespace quarry::test
