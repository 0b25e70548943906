// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulated_blocks.hpp"

#define __device__
#define __global__
#define __shared__ static thread_local
#define threadIdx (::quarry::test::position().thread)
#define blockIdx (::quarry::test::position().block)
#define gridDim (::quarry::test::position().grid_size)
#define __shfl_up_sync(mask, value, apart, width)                     \
  ::quarry::test::shuffle_up(mask, static_cast<std::uint32_t>(value), \
                             static_cast<unsigned>(apart), width)
#define __syncthreads() ::quarry::test::barrier()

/// The kernels of scans over emulated blocks: results of plain loops, in the order of the elements,
/// for rows of any length.
namespace quarry::test {
namespace {

using value_type = std::uint32_t;
bool is_exclusive = false;
/// Of maps x -> p x + q, mod 2^16: what applies the second after the first. Not commutative.
value_type combined(value_type a, value_type b) {
  return (a * b & 0xffffu) | (((a >> 16) * b + (b >> 16)) << 16);
}
value_type neutral() { return 1; }

#define QUARRY_SCAN_KERNELS(...) __VA_ARGS__
#include "ops/scan_kernels.inc"

constexpr std::int64_t tile = 2048;

std::vector<value_type> by_plain_loops(const std::vector<value_type>& x, std::size_t n) {
  std::vector<value_type> result(x.size());
  value_type sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const value_type next = i % n == 0 ? x[i] : combined(sum, x[i]);
    result[i] = !is_exclusive ? next : i % n == 0 ? neutral() : sum;
    sum = next;
  }
  return result;
}

/// The three launches, with fewer blocks than there are tiles.
std::vector<value_type> by_kernels(std::vector<value_type> x, long long n, unsigned blocks,
                                   bool in_place, std::uint64_t seed) {
  const long long rows = static_cast<long long>(x.size()) / n, tiles = (n + tile - 1) / tile;
  std::vector<value_type> totals(static_cast<std::size_t>(rows * tiles), 0xdeadu), made(x.size());
  value_type* const out = in_place ? x.data() : made.data();
  const Grid grid{{blocks}, {256}};
  std::vector<std::string> wrong;
  const auto run = [&](const auto& kernel) {
    for (const std::string& what : launch(grid, seed, kernel)) wrong.push_back(what);
  };
  if (tiles > 1) {
    run([&] { NAME_totals(x.data(), totals.data(), n, rows, tiles); });
    run([&] { NAME_prefixes(totals.data(), rows, tiles); });
  }
  run([&] { NAME_write(x.data(), totals.data(), out, n, rows, tiles); });
  EXPECT_EQ(wrong, std::vector<std::string>());
  return in_place ? x : made;
}

TEST(cuda_scan, rows_of_any_length_are_scanned_in_order) {
  std::uint64_t seed = 1;
  for (const bool exclusive : {false, true}) {
    is_exclusive = exclusive;
    for (const std::size_t n : {1ul, 7ul, 8ul, 9ul, 2047ul, 2048ul, 2049ul, 6000ul, 4096ul}) {
      for (const std::size_t rows : {1ul, 3ul}) {
        std::vector<value_type> x(n * rows);
        for (std::size_t i = 0; i < x.size(); ++i) {
          x[i] = static_cast<value_type>(i * 2654435761u) | 1;
        }
        ++seed;
        EXPECT_EQ(
            by_kernels(x, static_cast<long long>(n), 1 + unsigned(seed % 5), seed % 2 == 0, seed),
            by_plain_loops(x, n))
            << n << " x " << rows;
      }
    }
  }
}

/// The second kernel takes several rounds.
TEST(cuda_scan, totals_of_many_tiles_are_scanned_in_order) {
  is_exclusive = false;
  constexpr std::size_t n = 270 * tile + 5;
  std::vector<value_type> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<value_type>(i * 40503u) | 1;
  EXPECT_EQ(by_kernels(x, n, 3, false, 5), by_plain_loops(x, n));
}

}  // namespace
}  // namespace quarry::test
