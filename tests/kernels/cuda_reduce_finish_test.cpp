// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/launch/geometry.hpp"
#include "kernels/emulated_kernels.hpp"

/// Partial accumulators are combined in the same order by the block that is done last and by a
/// second kernel, so that it does not matter for the bits of a sum which of them does it.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

using M = reduction_of<in<float, 0>, sum_of, float, float, 0, float>;
using Body = reduce_finish_body<M, 1, 1>;

struct Partials {
  Partials(i64 kept, i64 splits, std::uint64_t seed) : kept(kept), splits(splits) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (i64 n = 0; n < kept * splits; ++n) partial.push_back(normal(random));
  }
  std::vector<float> run(const Grid& grid, const std::function<void(const Body::param_type&)>& f) {
    std::vector<float> results(std::size_t(kept), -1.f);
    const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
    const u64 words[] = {u64(kept),
                         u64(splits),
                         1,
                         word(results.data()),
                         word(partial.data()),
                         u64(kept),
                         u64(splits),
                         4,
                         0,
                         0,
                         4};
    Body::param_type p;
    static_assert(sizeof p == sizeof words);
    std::memcpy(&p, words, sizeof p);
    const auto faults = launch(grid, 1, [&] { f(p); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    return results;
  }

  i64 kept, splits;
  std::vector<float> partial;
};

TEST(cuda_reduce_finish, combines_alike_in_the_last_block_and_in_a_second_kernel) {
  for (const i64 kept : {1, 2, 3, 7}) {
    for (const i64 splits : {2, 3, 9, 31, 64, 100, 257, 400, 600, 1000}) {
      SCOPED_TRACE(std::to_string(kept) + " outputs of " + std::to_string(splits) + " splits");
      Partials all(kept, splits, std::uint64_t(kept * 1000 + splits));
      const auto g = backend::cuda::finish_geometry(kept, splits);
      ASSERT_LE(g.block_y, 256u);
      u32 arrived = 0;
      const auto last = all.run({{1, unsigned(splits)}, {256, 1}}, [&](const auto& p) {
        Body::run_in_last_block(p, all.partial.data(), &arrived, int(g.block_y));
      });
      EXPECT_EQ(arrived, 0u);
      const auto second = all.run({{g.grid_x, 1}, {g.block_x, g.block_y}}, [&](const auto& p) {
        reduce_finish<M, 1, 1>(p, all.partial.data(), splits);
      });
      for (std::size_t k = 0; k < std::size_t(kept); ++k) {
        EXPECT_EQ(std::memcmp(&last[k], &second[k], sizeof(float)), 0) << last[k] << second[k];
        double sum = 0;
        for (i64 s = 0; s < splits; ++s) sum += all.partial[std::size_t(s * kept) + k];
        EXPECT_NEAR(last[k], sum, 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace quarry::test
