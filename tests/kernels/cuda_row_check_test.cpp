// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/drawn_operands.hpp"

/// Maps that copy rows and check their positions: the host is told whether one is outside, the
/// counter is left 0, and all rows that are inside are copied.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

enum class Kernel { strided, across, unaligned };

template <class T, class I>
using gathered = map_of<pick<T, 1, place<index_mode::from_end, 0, in<I, 0>>>, T, 1, I, side<T>>;

struct Checked {
  u32 counter = 0;
  i64 left = -1;  ///< for the host
};
/// The parameters of a map that copies rows of `columns` elements of a table with `extent` rows.
template <class T, class I>
std::vector<u64> block_of(Checked& checked, void* to, const std::vector<I>& positions,
                          const void* table, i64 extent, i64 columns) {
  const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
  const i64 rows = std::ssize(positions), size = sizeof(T);
  std::vector<u64> words{u64(rows * columns),    word(&checked.counter),
                         word(&checked.left),    word(to),
                         word(positions.data()), word(table)};
  for (const i64 w : {extent, columns * size, rows, columns, columns * size, size, i64{sizeof(I)},
                      i64{0}, i64{0}, size})
    words.push_back(u64(w));
  return words;
}

template <class M, Kernel Which, int V>
std::vector<std::string> run_kernel(const std::vector<u64>& words, i64 rows, i64 columns,
                                    Draw& draw) {
  constexpr unsigned wide = 2;
  const int backwards = static_cast<int>(draw.below(2));
  const auto pair = static_cast<unsigned>(draw.of({1, 2}));
  const Dim3 block = Which == Kernel::across ? Dim3{32 * pair} : Dim3{32, pair};
  const auto at_once = static_cast<unsigned>(1 + draw.below(2));
  const auto launched = [&](auto params, const Dim3& grid, const auto& kernel) {
    if (sizeof params != words.size() * sizeof(u64)) return std::vector<std::string>{"parameters"};
    std::memcpy(&params, words.data(), sizeof params);
    return launch({grid, block, at_once}, draw.below(1 << 20), [&] { kernel(params); });
  };
  const i64 of_row = V * block.x;
  if constexpr (Which == Kernel::across) {
    using P = typename map_across_body<M, 2, i32, V, wide, 0>::param_type;
    const i64 of_block = of_row * across_copies;
    const Dim3 grid{static_cast<unsigned>((rows * columns + of_block - 1) / of_block)};
    return launched(P{}, grid, [&](const P& p) { map_across<M, 2, 4, V, wide, 0>(p, backwards); });
  } else if constexpr (Which == Kernel::strided) {
    using P = typename map_strided_body<M, 2, i64, 2, V, wide>::param_type;
    const Dim3 grid{static_cast<unsigned>((columns + of_row - 1) / of_row),
                    static_cast<unsigned>(1 + draw.below(rows))};
    return launched(P{}, grid, [&](const P& p) { map_strided<M, 2, 8, 2, V, wide>(p, backwards); });
  } else {
    using P = typename map_unaligned_body<M, 2, i64, 2, V, wide>::param_type;
    const Dim3 grid{static_cast<unsigned>((columns + 128 + of_row - 1) / of_row),
                    static_cast<unsigned>(1 + draw.below(rows))};
    return launched(P{}, grid,
                    [&](const P& p) { map_unaligned<M, 2, 8, 2, V, wide>(p, backwards); });
  }
}

template <class T, class I, Kernel Which, int V>
void check_rows(Draw& draw) {
  constexpr i64 size = sizeof(T);
  const i64 rows = 1 + draw.below(draw.of({5, 300}));
  const i64 columns =
      Which == Kernel::strided ? V * (1 + draw.below(4)) : 4 * V + draw.below(draw.of({3, 30}));
  const i64 extent = 1 + draw.below(100), n = rows * columns;
  std::vector<I> positions(static_cast<std::size_t>(rows));
  for (I& p : positions) p = static_cast<I>(draw.below(2 * extent) - extent);
  const i64 bad = draw.of({0, 0, 1, 3});
  for (i64 k = 0; k < bad; ++k) {
    const auto outside = static_cast<I>(draw.of({i64{-1}, i64{1}}) * (extent + 1 + draw.below(20)));
    positions[static_cast<std::size_t>(draw.below(rows))] = outside;
  }
  const auto is_outside = [&](I p) { return p < -extent || p >= extent; };
  alignas(16) static char table[128 * 128 * 16], to[512 * 128 * 16];
  std::iota(std::begin(table), std::end(table), static_cast<char>(draw.below(100)));
  std::memset(to, 99, sizeof to);
  Checked checked;
  const std::vector<u64> words = block_of<T>(checked, to, positions, table, extent, columns);
  const auto faults = run_kernel<gathered<T, I>, Which, V>(words, rows, columns, draw);
  ASSERT_EQ(faults, std::vector<std::string>{});
  ASSERT_EQ(checked.counter, 0u);
  const bool has_outside = std::any_of(positions.begin(), positions.end(), is_outside);
  ASSERT_EQ(checked.left == 0, !has_outside) << checked.left;
  ASSERT_GE(checked.left, 0);
  for (i64 row = 0; row < rows; ++row) {
    const i64 at = positions[static_cast<std::size_t>(row)];
    if (is_outside(static_cast<I>(at))) continue;
    const char* const from = table + (at < 0 ? at + extent : at) * columns * size;
    ASSERT_EQ(std::memcmp(to + row * columns * size, from, std::size_t(columns * size)), 0) << row;
  }
  ASSERT_EQ(to[n * size], 99);
}

TEST(cuda_row_check, the_map_finds_positions_outside) {
  Draw draw(31);
  for (int i = 0; i < 60; ++i) {
    check_rows<u8, i64, Kernel::across, 16>(draw);
    check_rows<u16, i32, Kernel::across, 8>(draw);
    check_rows<u32, i64, Kernel::across, 4>(draw);
    check_rows<u32, i16, Kernel::strided, 4>(draw);
    check_rows<u8, i64, Kernel::strided, 8>(draw);
    check_rows<u64, i64, Kernel::strided, 2>(draw);
    check_rows<u8, i64, Kernel::unaligned, 16>(draw);
    check_rows<u32, i32, Kernel::unaligned, 4>(draw);
  }
}

/// More rows than the blocks that check have threads.
TEST(cuda_row_check, counts_the_warps_of_many_blocks) {
  static_assert(most_that_check * (1024 / 32) < (1 << 16));
  EXPECT_EQ(blocks_that_check(1, 256), 1u);
  EXPECT_EQ(blocks_that_check(257, 256), 2u);
  EXPECT_EQ(blocks_that_check(i64{1} << 40, 256), most_that_check);
  constexpr i64 rows = 40000, columns = 8, extent = 5;
  for (const i64 bad : {i64{-1}, i64{0}, rows / 2, rows - 1}) {
    std::vector<i64> positions(rows, 3);
    if (bad >= 0) positions[static_cast<std::size_t>(bad)] = extent;
    std::vector<u32> to(rows * columns), table(extent * columns, 7);
    Checked checked;
    const auto words = block_of<u32>(checked, to.data(), positions, table.data(), extent, columns);
    using M = gathered<u32, i64>;
    typename map_across_body<M, 2, i32, 4, 2, 0>::param_type params;
    ASSERT_EQ(sizeof params, words.size() * sizeof(u64));
    std::memcpy(&params, words.data(), sizeof params);
    const auto faults = launch({{unsigned(rows * columns / (4 * 32 * across_copies))}, {32}}, 5,
                               [&] { map_across<M, 2, 4, 4, 2, 0>(params, 0); });
    ASSERT_EQ(faults, std::vector<std::string>{});
    EXPECT_EQ(checked.left, bad < 0 ? 0 : 1) << bad;
    EXPECT_EQ(checked.counter, 0u);
  }
}

}  // namespace
}  // namespace quarry::test
