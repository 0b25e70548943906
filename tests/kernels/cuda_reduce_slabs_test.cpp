// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <map>

#include "backend/cuda/launch/parameter_block.hpp"
#include "backend/cuda/launch/reduce_slabs.hpp"
#include "kernels/drawn_call.hpp"
#include "kernels/emulated_reductions.hpp"

/// Reductions of short rows of outputs as a GPU runs them by way of shared memory, over drawn
/// extents.
namespace quarry::test {
namespace {

/// Memory with the extents (lines, slabs, rows, columns), of which the rows are reduced, and in
/// which there may be something between rows, and between slabs.
template <class M>
struct SlabCase : DrawnCall<M> {
  using Drawn = DrawnCall<M>;
  using Drawn::call, Drawn::draw;

  explicit SlabCase(std::uint64_t seed) : Drawn(seed) {
    const i64 room = i64{slab_stage_bytes} / (Drawn::size * this->gap);
    const i64 columns = 1 + draw.below(draw.of({4, 20, 60}));
    const i64 rows = 16 + draw.below(std::max<i64>(1, room / columns / draw.of({1, 4, 16}) - 16));
    const i64 row = columns + (draw.one_in(3) ? draw.below(1 + columns / 5) : 0);
    const i64 slab = rows * row + (draw.one_in(3) ? draw.below(1 + rows * row / 8) : 0);
    const i64 count = 1 + draw.below(draw.of({3, 40, 90})), lines = 1 + draw.below(3);
    if (draw.one_in(2)) {
      this->place({count, columns, rows}, 2, count * slab, {slab, 1, row});
    } else {
      const i64 line = count * slab + draw.below(5);
      this->place({lines, count, columns, rows}, 3, lines * line, {line, slab, 1, row});
    }
  }

  /// Whether it is reduced so.
  bool run() {
    const auto slabs = backend::cuda::slabs_of(call);
    const int multiprocessors = static_cast<int>(draw.of({1, 2, 132}));
    const auto by = slabs ? backend::cuda::slab_stages(*slabs, multiprocessors) : std::nullopt;
    if (!by) return false;
    of = by->of, stages = by->stages, blocks = by->blocks;
    const auto words = backend::cuda::parameter_block(call, true, stages);
    const auto faults =
        launch({{unsigned(blocks), 1}, {unsigned(slab_threads), 1}}, draw.bits(), [&] {
          if (call.kept_rank == 2)
            run_kernel<2, 4>(words.data());
          else
            run_kernel<3, 8>(words.data());
        });
    EXPECT_EQ(faults, std::vector<std::string>{});
    return true;
  }
  template <int Rk, int Bytes>
  void run_kernel(const u64* words) const {
    typename reduce_slabs_body<exact_t<M>, Rk, index_of<Bytes>>::param_type p;
    std::memcpy(static_cast<void*>(&p), words, sizeof p);
    reduce_slabs<M, Rk, Bytes>(p, of, 0);
  }

  slab_stages of;
  i64 stages = 0, blocks = 0;
};

template <class M>
class cuda_reduce_slabs : public ::testing::Test {};
using Reductions =
    ::testing::Types<reduction_in<sum_of, i64, i64, i8>, reduction_in<max_of, u8, u8, u8>,
                     reduction_in<sum_of, i64, i64, i16>,
                     reduction_in<argmin_of, located<float>, i64, float>,
                     reduction_in<moments_of, moments<double>, double, u8>,
                     reduction_in<moments_of, moments<float>, float, float16>,
                     reduction_in<sum_of, float, float, float>>;
TYPED_TEST_SUITE(cuda_reduce_slabs, Reductions);

TYPED_TEST(cuda_reduce_slabs, rows_are_those_of_plain_loops) {
  std::map<std::string, int> seen;
  // most slabs of wide elements are few in a stage
  const std::uint64_t seeds = SlabCase<TypeParam>::size < 4 ? 250 : 800;
  for (std::uint64_t seed = 0; seed < seeds && !this->HasFailure(); ++seed) {
    SlabCase<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", shape " +
                 ::testing::PrintToString(c.call.shape));
    if (!c.run()) continue;
    c.check();
    ++seen[c.of.lanes.constant == 1 ? "one lane" : "several lanes"];
    ++seen[c.of.slabs == 1 ? "one slab" : "several slabs"];
    ++seen[c.stages > c.blocks ? "several stages of a block" : "one stage of a block"];
    ++seen[c.call.kept_rank == 2 ? "one line" : "several lines"];
    if (c.gap == 2) ++seen["gaps"];
    if (c.call.shape[c.call.kept_rank - 2] % c.of.slabs != 0) ++seen["incomplete stages"];
  }
  for (const char* const what :
       {"one lane", "several lanes", "one slab", "several slabs", "several stages of a block",
        "one stage of a block", "one line", "several lines", "gaps", "incomplete stages"}) {
    EXPECT_GT(seen[what], 5) << what;
  }
}

}  // namespace
}  // namespace quarry::test
