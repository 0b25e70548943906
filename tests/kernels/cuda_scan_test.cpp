// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
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

template <class T>
struct Scan {
  T (*combined)(T, T);
  T (*neutral)();
  T (*element)(std::size_t i);
  void (*totals)(const T*, T*, long long, long long, long long);
  void (*prefixes)(T*, long long, long long);
  void (*write)(const T*, const T*, T*, long long, long long, long long);
};
bool is_exclusive = false;

#define QUARRY_SCAN_KERNELS(...) __VA_ARGS__

/// Maps x -> p x + q, mod 2^16: what applies the second after the first. Not commutative.
namespace words {
using value_type = std::uint32_t;
value_type combined(value_type a, value_type b) {
  return (a * b & 0xffffu) | (((a >> 16) * b + (b >> 16)) << 16);
}
value_type neutral() { return 1; }
value_type element(std::size_t i) { return static_cast<value_type>(i * 2654435761u) | 1; }

#define SCAN_NAME(kernel) words_##kernel
#include "kernels/named_scan.inc"
}  // namespace words

/// The same mod 2^64: elements of several words.
namespace wide {
struct value_type {
  std::uint64_t p, q;
  bool operator==(const value_type&) const = default;
};
value_type combined(value_type a, value_type b) { return {a.p * b.p, a.q * b.p + b.q}; }
value_type neutral() { return {1, 0}; }
value_type element(std::size_t i) { return {i * 0x9e3779b97f4a7c15u | 1, i * 0xc2b2ae3d27d4eb4fu}; }

#define SCAN_NAME(kernel) wide_##kernel
#include "kernels/named_scan.inc"
}  // namespace wide

/// The same mod 2^8: elements of half a word.
namespace narrow {
using value_type = std::uint16_t;
value_type combined(value_type a, value_type b) {
  return static_cast<value_type>((a * b & 0xff) | (((a >> 8) * b + (b >> 8)) << 8));
}
value_type neutral() { return 1; }
value_type element(std::size_t i) { return static_cast<value_type>(i * 40503u | 1u); }

#define SCAN_NAME(kernel) narrow_##kernel
#include "kernels/named_scan.inc"
}  // namespace narrow

constexpr std::int64_t tile = 2048;

template <class T>
std::vector<T> by_plain_loops(const Scan<T>& scan, const std::vector<T>& x, std::size_t n) {
  std::vector<T> result(x.size());
  T sum{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T next = i % n == 0 ? x[i] : scan.combined(sum, x[i]);
    result[i] = !is_exclusive ? next : i % n == 0 ? scan.neutral() : sum;
    sum = next;
  }
  return result;
}

/// The three launches, with fewer blocks than there are tiles.
template <class T>
std::vector<T> by_kernels(const Scan<T>& scan, std::vector<T> x, long long n, unsigned blocks,
                          bool in_place, std::uint64_t seed) {
  const long long rows = static_cast<long long>(x.size()) / n, tiles = (n + tile - 1) / tile;
  std::vector<T> totals(static_cast<std::size_t>(rows * tiles), scan.element(12345)),
      made(x.size());
  T* const out = in_place ? x.data() : made.data();
  const Grid grid{{blocks}, {256}};
  std::vector<std::string> wrong;
  const auto run = [&](const auto& kernel) {
    for (const std::string& what : launch(grid, seed, kernel)) wrong.push_back(what);
  };
  if (tiles > 1) {
    run([&] { scan.totals(x.data(), totals.data(), n, rows, tiles); });
    run([&] { scan.prefixes(totals.data(), rows, tiles); });
  }
  run([&] { scan.write(x.data(), totals.data(), out, n, rows, tiles); });
  EXPECT_EQ(wrong, std::vector<std::string>());
  return in_place ? x : made;
}

template <class T>
void expect_rows_of_any_length(const Scan<T>& scan) {
  std::uint64_t seed = 1;
  for (const bool exclusive : {false, true}) {
    is_exclusive = exclusive;
    for (const std::size_t n : {1ul, 7ul, 8ul, 9ul, 2047ul, 2048ul, 2049ul, 6000ul, 4096ul}) {
      for (const std::size_t rows : {1ul, 3ul}) {
        std::vector<T> x(n * rows);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = scan.element(i);
        ++seed;
        EXPECT_EQ(by_kernels(scan, x, static_cast<long long>(n), 1 + unsigned(seed % 5),
                             seed % 2 == 0, seed),
                  by_plain_loops(scan, x, n))
            << n << " x " << rows;
      }
    }
  }
}

TEST(cuda_scan, rows_of_any_length_are_scanned_in_order) { expect_rows_of_any_length(words::scan); }
TEST(cuda_scan, elements_may_be_larger_or_smaller_than_a_word) {
  expect_rows_of_any_length(wide::scan);
  expect_rows_of_any_length(narrow::scan);
}

/// The second kernel takes several rounds.
TEST(cuda_scan, totals_of_many_tiles_are_scanned_in_order) {
  is_exclusive = false;
  constexpr std::size_t n = 270 * tile + 5;
  std::vector<std::uint32_t> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::uint32_t>(i * 40503u) | 1;
  EXPECT_EQ(by_kernels(words::scan, x, n, 3, false, 5), by_plain_loops(words::scan, x, n));
}

}  // namespace
}  // namespace quarry::test
