// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <map>
#include <unordered_map>

#include "backend/cuda/launch/parameter_block.hpp"
#include "backend/cuda/launch/reduce_staged.hpp"
#include "kernels/drawn_call.hpp"
#include "kernels/emulated_reductions.hpp"

/// Reductions of short rows as a GPU runs them by way of shared memory, over drawn extents.
namespace quarry::test {
namespace {

using backend::cuda::ReduceStaged;
using StagedKernels =
    std::unordered_map<Variant, void (*)(const u64* words, void* partial), HashOfVariant>;

template <class M, int Rk, int Rr, int Bytes, unsigned Wide, int Lanes, int Segments, int Count>
void add(StagedKernels& all) {
  const ReduceStaged variant{Rk, Rr, Bytes, int{Wide}, Lanes, Segments, Count};
  all[variant] = [](const u64* words, void* partial) {
    typename reduce_staged_body<exact_t<M>, Rk, Rr, index_of<Bytes>, Wide, Lanes, Segments,
                                Count>::param_type p;
    std::memcpy(&p, words, sizeof p);
    reduce_staged<M, Rk, Rr, Bytes, Wide, Lanes, Segments, Count>(p, partial, 0);
  };
}
/// Dense rows, and those with gaps.
template <class M, int Lanes, int Segments, int Count>
void add_shape(StagedKernels& all) {
  constexpr unsigned gaps = 1u | 1u << input_access::other_step;
  add<M, 1, 1, 4, 1, Lanes, Segments, Count>(all);
  if constexpr (is_located<typename DrawnCall<M>::Acc>) {
    add<M, 1, 1, 4, gaps, Lanes, Segments, Count>(all);
  } else {
    add<M, 1, 3, 4, 1, Lanes, Segments, Count>(all);
    add<M, 2, 2, 8, 1, Lanes, Segments, Count>(all);
    add<M, 2, 2, 8, gaps, Lanes, Segments, Count>(all);
  }
}
template <class M>
const StagedKernels& staged_kernels_of() {
  static const StagedKernels found = [] {
    StagedKernels all;
    add_shape<M, 1, 4, 1>(all);
    add_shape<M, 1, 2, 1>(all);
    add_shape<M, 1, 2, 2>(all);
    add_shape<M, 1, 1, 1>(all);
    add_shape<M, 1, 1, 2>(all);
    add_shape<M, 1, 1, 3>(all);
    add_shape<M, 1, 1, 4>(all);
    add_shape<M, 2, 1, 3>(all);
    add_shape<M, 2, 1, 4>(all);
    add_shape<M, 4, 1, 4>(all);
    add_shape<M, 8, 1, 3>(all);
    return all;
  }();
  return found;
}

/// Never called for what is no element.
struct half_of_element {
  static constexpr float none = 12345;
  static inline bool has_seen_none = false;
  float operator()(float x) const {
    has_seen_none |= x == none;
    return x / 2;
  }
};

using moments_of_halves =
    reduction_of<call<half_of_element, in<float, 0>>, moments_of, moments<float>, float, 0, float>;

/// Memory with the extents (outer, kept, row) or (kept, row), and others ahead of them, in which
/// there may be something between rows.
template <class M>
struct StagedCase : DrawnCall<M> {
  using Drawn = DrawnCall<M>;
  using Drawn::call, Drawn::draw;
  using typename Drawn::Acc;

  explicit StagedCase(std::uint64_t seed) : Drawn(seed) {
    const i64 longest = 300 / (Drawn::size * this->gap);
    const i64 length = 1 + draw.below(std::max<i64>(2, longest / draw.of({1, 2, 4, 16})));
    const bool has_many_places = draw.one_in(3);
    const i64 columns = 1 + draw.below(has_many_places ? 60 : draw.of({40, 150, 400}));
    const i64 pitch = length + (draw.one_in(3) ? draw.below(1 + length / 5) : 0);
    const i64 places = 1 + draw.below(has_many_places ? 60 : 6), more = 1 + draw.below(3);
    const i64 line = columns * pitch + draw.below(4);
    switch (draw.below(is_located<Acc> ? 1 : 3)) {
      case 0:
        this->place({columns, length}, 1, line, {pitch, 1});
        break;
      case 1:
        this->place({columns, more, places, length}, 1, more * places * line,
                    {pitch, places * line, line, 1});
        break;
      default:
        this->place({more, columns, places, length}, 2, more * places * line,
                    {line, pitch, more * line, 1});
    }
    call.along_reduced = true;
    if constexpr (is_same<M, moments_of_halves>) this->mark_others(half_of_element::none);
  }

  /// Whether there is a kernel for it.
  bool run() {
    const auto found = backend::cuda::staged_rows(call);
    const auto shape = found ? backend::cuda::stage_shape(*found) : std::nullopt;
    if (!shape) return false;
    rows = *found, stage = *shape;
    const bool has_gaps = rows.unit != rows.itemsize;
    const ReduceStaged variant{int(call.kept_rank),
                               int(call.reduced_rank()),
                               call.kept_rank == 2 ? 8 : 4,
                               has_gaps ? 0x10001 : 1,
                               stage.lanes,
                               stage.segments,
                               stage.accesses};
    const auto& all = staged_kernels_of<M>();
    const auto kernel = all.find(variant);
    if (kernel == all.end()) return false;
    const auto g = backend::cuda::staged_geometry(rows, stage, call.kept, 1 + draw.below(6),
                                                  draw.of({1, 4, 132}));
    std::vector<Acc> partial(std::size_t(g.splits * call.kept));
    std::memset(static_cast<void*>(partial.data()), 0x5a, partial.size() * sizeof(Acc));
    const auto words = backend::cuda::parameter_block(call, true, g.chunk);
    const auto faults =
        launch({{g.grid_x, unsigned(g.splits)}, {g.block_x, g.block_y}}, draw.bits(),
               [&] { kernel->second(words.data(), g.splits > 1 ? partial.data() : nullptr); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    has_splits = g.splits > 1, shares_rows = g.block_y > 1;
    if (!has_splits) return true;
    this->finish(words, partial, g.splits);
    return true;
  }

  backend::cuda::StagedRows rows{};
  backend::cuda::StageShape stage{};
  bool has_splits = false, shares_rows = false;
};

template <class M>
class cuda_reduce_staged : public ::testing::Test {};
using Reductions =
    ::testing::Types<reduction_in<sum_of, i64, i64, i8>, reduction_in<max_of, u8, u8, u8>,
                     reduction_in<argmax_of, located<i8>, i64, i8>,
                     reduction_in<argmin_of, located<float16>, i64, float16>,
                     reduction_in<moments_of, moments<double>, double, u8>,
                     reduction_in<moments_of, moments<double>, double, i16>,
                     reduction_in<moments_of, moments<float>, float, float16>,
                     reduction_in<sum_of, float, float, float>,
                     reduction_in<exponentials_of, exponentials<float>, float, float>,
                     reduction_in<moments_of, moments<double>, double, double>, moments_of_halves>;
TYPED_TEST_SUITE(cuda_reduce_staged, Reductions);

TYPED_TEST(cuda_reduce_staged, rows_are_those_of_plain_loops) {
  std::map<std::string, int> seen;
  half_of_element::has_seen_none = false;
  // most rows of wide elements are read by vectors
  const std::uint64_t seeds = StagedCase<TypeParam>::size < 8 ? 500 : 1000;
  for (std::uint64_t seed = 0; seed < seeds && !this->HasFailure(); ++seed) {
    StagedCase<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", shape " +
                 ::testing::PrintToString(c.call.shape));
    if (!c.run()) continue;
    EXPECT_FALSE(half_of_element::has_seen_none);
    c.check();
    ++seen[c.stage.lanes == 1 ? "one lane" : "several lanes"];
    ++seen[c.stage.segments == 1 ? "one segment" : "several segments"];
    ++seen[c.rows.has_places ? "several reduced axes" : "one reduced axis"];
    if (c.gap == 2) ++seen["gaps"];
    if (c.rows.pitch > c.rows.length * c.rows.unit) ++seen["rows apart"];
    if (c.has_splits) ++seen["splits"];
    if (c.shares_rows) ++seen["shared rows"];
  }
  for (const char* const what : {"one lane", "several lanes", "one segment", "several segments",
                                 "one reduced axis", "gaps", "rows apart"}) {
    EXPECT_GT(seen[what], 10) << what;
  }
  if (is_located<typename StagedCase<TypeParam>::Acc>) return;
  for (const char* const what : {"several reduced axes", "splits", "shared rows"}) {
    EXPECT_GT(seen[what], 10) << what;
  }
}

/// So many that their squares do not fit into 32 bits, all by one warp.
TEST(cuda_reduce_staged, many_places_of_bytes_are_added_up_exactly) {
  using M = reduction_in<moments_of, moments<double>, double, u8>;
  constexpr i64 columns = 32, places = 1100, length = 63;
  DrawnCall<M> c(0);
  c.gap = 1;
  c.place({1, columns, places, length}, 2, columns * places * length,
          {columns * places * length, length, columns * length, 1});
  c.call.along_reduced = true;
  for (u8& value : c.memory) value = value % 2 == 0 ? 255 : 254;
  const auto shape = backend::cuda::stage_shape(*backend::cuda::staged_rows(c.call));
  ASSERT_TRUE(shape);
  const ReduceStaged variant{2, 2, 8, 1, shape->lanes, shape->segments, shape->accesses};
  const auto kernel = staged_kernels_of<M>().at(variant);
  const auto words = backend::cuda::parameter_block(c.call, true, places);
  const auto faults = launch({{1, 1}, {256, 1}}, 0, [&] { kernel(words.data(), nullptr); });
  EXPECT_EQ(faults, std::vector<std::string>{});
  c.check();
}

}  // namespace
}  // namespace quarry::test
