// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/parted.hpp"

/// How side operands are cut into parts.
namespace quarry::backend::cuda {
namespace {

TEST(cuda_parted_geometry, parts_have_all_places_and_the_cache_has_a_part) {
  int cut = 0;
  for (const std::int64_t cache :
       {std::int64_t{6} << 20, std::int64_t{50} << 20, std::int64_t{126} << 20}) {
    for (const std::int64_t size : {1, 2, 4, 8, 16}) {
      for (std::int64_t bytes = 16; bytes < std::int64_t{1} << 36;
           bytes += bytes / 3 / size * size + size) {
        const std::int64_t count = bytes / size;
        const auto of = cut_of_elements(bytes, size, count, cache);
        if (!of) continue;
        ++cut;
        const std::int64_t part = (std::int64_t{1} << of->shift) * size;
        ASSERT_GE(of->parts * part, bytes);
        ASSERT_LT((of->parts - 1) * part, bytes) << "a part has no places";
        ASSERT_LE(of->parts, std::int64_t{kernels::most_parts});
        ASSERT_LE(part, std::max(std::int64_t{4} << 20, cache / 4));
        ASSERT_GT(bytes, cache);
        ASSERT_LT(count - 1, 0xffffffff) << "the last place is none";
        EXPECT_FALSE(cut_of_elements(bytes, size, bytes / 33, cache)) << "for few accesses";
      }
    }
  }
  EXPECT_GT(cut, 100);
  constexpr std::int64_t large = std::int64_t{126} << 20, words = std::int64_t{1} << 32;
  EXPECT_TRUE(cut_of_elements(words - 1, 1, words, large));
  EXPECT_FALSE(cut_of_elements(words, 1, words, large)) << "places are words";
  EXPECT_TRUE(cut_of_elements(words, 2, words, large));
}

TEST(cuda_parted_geometry, parts_of_bits_are_whole_words_and_fit_a_block) {
  for (std::int64_t bits = 1; bits < std::int64_t{1} << 34; bits += bits / 3 + 1) {
    const auto of = cut_of_bits(bits);
    ASSERT_EQ(of.has_value(),
              bits <= std::int64_t{kernels::most_parts} << kernels::most_marks_log2);
    if (!of) continue;
    ASSERT_TRUE(of->shift >= 5 && of->shift <= int(kernels::most_marks_log2)) << of->shift;
    ASSERT_LE(of->parts, std::int64_t{kernels::most_parts});
    ASSERT_GE(of->parts << of->shift, bits);
    ASSERT_LT((of->parts - 1) << of->shift, bits);
  }
}

}  // namespace
}  // namespace quarry::backend::cuda
