// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/drawn_operands.hpp"

/// Elements that are accessed part by part as a GPU does it: what plain loops read and write,
/// whether tiles are sorted or not, and every element of an operand once.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

template <class T>
T* aligned(std::vector<T>& v) {
  return reinterpret_cast<T*>((reinterpret_cast<u64>(v.data()) + 15) / 16 * 16);
}
template <class T>
std::vector<T> drawn(Draw& draw, i64 count) {
  std::vector<T> all(std::size_t(count) + 16 / sizeof(T) + 1);
  for (T& x : all) x = convert<T>(int(draw.below(100)));
  return all;
}

/// Positions on an axis, in places of a table from the last one to the first if `is_reversed`.
template <class T>
struct Positions {
  Positions(std::uint64_t seed, i64 tile) : draw(seed) {
    extent = 1 + draw.below(draw.of({600, 40000}));
    n = 1 + draw.below(draw.of({i64{20}, tile / 2, 3 * tile}));
    is_reversed = draw.one_in(2);
    const i64 kind = draw.below(4);  // in no order, all in one part, in order, each as drawn
    for (i64 i = 0; i < n; ++i) {
      const i64 near = extent - 1 - i % std::min<i64>(extent, 5), far = draw.below(extent);
      const bool is_far = kind == 0 || (kind == 3 && i / 1000 % 2 == 0);
      const i64 at = is_far ? far : kind == 2 ? i % extent : near;
      of.push_back(draw.one_in(2) ? at : at - extent);
    }
  }
  i64 place(i64 i) const {
    const i64 p = of[std::size_t(i)], q = p < 0 ? p + extent : p;
    return is_reversed ? extent - 1 - q : q;
  }
  i64 stride() const { return is_reversed ? -i64(sizeof(T)) : i64(sizeof(T)); }
  /// The element at position 0 of a table.
  T* origin(T* table) const { return is_reversed ? table + extent - 1 : table; }

  Draw draw;
  i64 extent, n;
  bool is_reversed;
  std::vector<i64> of;
};

/// Runs the steps, or the first one alone, with parts of drawn sizes; returns how many tiles were
/// not sorted.
template <class M, int V, unsigned Wide, class T>
i64 run(const Positions<T>& at, Draw& draw, const std::vector<u64>& words, bool first = false) {
  using Body = map_parted_body<M, V, Wide>;
  typename Body::param_type p;
  EXPECT_EQ(sizeof p, words.size() * sizeof(u64));
  std::memcpy(&p, words.data(), sizeof p);
  parted parts{};
  parts.tiles = (at.n + Body::tile - 1) / Body::tile;
  parts.shift = u32(Body::sorts_all ? 6 + draw.below(5) : draw.below(5));
  while (((at.extent - 1) >> parts.shift) + 1 > i64{most_parts}) ++parts.shift;
  parts.count = u32((at.extent - 1) >> parts.shift) + 1;
  parts.resident = u32(draw.below(3)), parts.bytes = u64(at.extent) * sizeof(T);
  parts.first = at.is_reversed ? (at.extent - 1) * at.stride() : 0;
  const auto elements = std::size_t(parts.tiles * Body::tile);
  const bool in_place = Body::reads && sizeof(T) == 4 && draw.one_in(2);
  std::vector<u32> places(elements + 4), runs(std::size_t(parts.tiles) * (parts.count + 1));
  std::vector<u16> slots(elements + 8);
  std::vector<T> values(elements + 16);
  parts.places = aligned(places), parts.slots = aligned(slots), parts.runs = runs.data();
  parts.values = in_place ? static_cast<void*>(parts.places) : aligned(values);
  const auto step = [&](parted_step s, i64 blocks) {
    parts.step = s;
    const auto faults = launch({{unsigned(blocks)}, {unsigned(parted_threads)}}, draw.bits(),
                               [&] { map_parted<M, V, Wide>(p, parts); });
    EXPECT_EQ(faults, std::vector<std::string>{});
  };
  step(parted_step::partition, parts.tiles);
  if (first) return std::count(runs.end() - parts.tiles, runs.end(), 1u);
  constexpr i64 tiles_a_block = parted_threads / 32 * parted_runs;
  const i64 blocks = Body::sorts_all ? 1 : (parts.tiles + tiles_a_block - 1) / tiles_a_block;
  step(parted_step::access, parts.count * blocks);
  if (Body::reads) step(parted_step::restore, parts.tiles);
  return std::count(runs.end() - parts.tiles, runs.end(), 1u);
}

template <int S, int K>
using at_place = place<index_mode::from_end, S, in<i64, K>>;

u64 word(const void* at) { return reinterpret_cast<u64>(at); }

/// How often tiles were sorted, and how often not.
struct Seen {
  i64 direct = 0, tiles = 0;
  void add(i64 not_sorted, i64 n, i64 tile) {
    direct += not_sorted, tiles += (n + tile - 1) / tile;
  }
  ~Seen() { EXPECT_TRUE(direct > 0 && direct < tiles) << direct << " of " << tiles; }
};

template <class T, int V>
void check_gather() {
  using M = map_of<pick<T, 0, at_place<0, 1>>, T, 1, side<T>, i64>;
  constexpr unsigned wide = V == 1 ? 0 : 2;
  constexpr i64 tile = map_parted_body<M, V, wide>::tile;
  Seen seen;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Positions<T> at(seed, tile);
    auto table = drawn<T>(at.draw, at.extent), out = drawn<T>(at.draw, at.n);
    T *const from = aligned(table), *const to = aligned(out);
    std::vector<T> want = out;
    const i64 found = 1;  // by a check of the positions: tiles that are not sorted write nothing
    std::vector<u64> words{u64(at.n),
                           1,
                           word(&found),
                           word(to),
                           word(at.origin(from)),
                           word(at.of.data()),
                           u64(at.extent),
                           u64(at.stride()),
                           u64(at.n),
                           sizeof(T),
                           0,
                           8};
    run<M, V, wide>(at, at.draw, words, true);
    ASSERT_TRUE(out == want) << "seed " << seed;
    for (i64 i = 0; i < at.n; ++i) want[std::size_t(to - out.data() + i)] = from[at.place(i)];
    words[2] = 0;
    const auto not_sorted = run<M, V, wide>(at, at.draw, words);
    ASSERT_TRUE(out == want) << "seed " << seed;
    seen.add(not_sorted, at.n, tile);
  }
}

TEST(cuda_parted, single_elements_are_read) {
  check_gather<u8, 2>();
  check_gather<u16, 1>();
  check_gather<float, 2>();
  check_gather<double, 2>();
  check_gather<complex<double>, 1>();
}

/// x(i, j) * y + y, whose position is that of two axes, beside another input.
TEST(cuda_parted, expressions_of_what_is_read_are_computed) {
  using Picked = pick<float, 0, at_place<0, 1>, at_place<1, 2>>;
  using M = map_of<op<add_op, float, op<multiply_op, float, Picked, in<float, 3>>, in<float, 3>>,
                   float, 2, side<float, 0, 2>, i64, i64, float>;
  constexpr i64 tile = map_parted_body<M, 2, 14>::tile;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Positions<float> at(seed, tile);
    at.is_reversed = false;
    const i64 rows = 1 + at.draw.below(5);
    std::vector<i64> row;
    for (i64 i = 0; i < at.n; ++i) row.push_back(at.draw.below(2 * rows) - rows);
    auto table = drawn<float>(at.draw, at.extent * rows), other = drawn<float>(at.draw, at.n),
         out = drawn<float>(at.draw, at.n);
    float *const to = aligned(out), *const y = aligned(other), *const x = aligned(table);
    std::vector<float> want = out;
    for (i64 i = 0; i < at.n; ++i) {
      const i64 r = row[std::size_t(i)], p = (r < 0 ? r + rows : r) * at.extent + at.place(i);
      want[std::size_t(to - out.data() + i)] = x[p] * y[i] + y[i];
    }
    Positions<float> all = at;
    all.extent = at.extent * rows;
    run<M, 2, 14>(
        all, at.draw,
        {u64(at.n), 1, 0, word(to), word(x), word(row.data()), word(at.of.data()), word(y),
         u64(rows), u64(at.extent) * 4, u64(at.extent), 4, u64(at.n), 4, 0, 8, 8, 4});
    ASSERT_TRUE(out == want) << "seed " << seed;
  }
}

/// Places that are all different: their order says nothing.
template <class T, int V>
void check_scatter() {
  using M = map_of<into<replaced, in<T, 0>, at_place<0, 1>>, side<T>, 1, T, i64>;
  constexpr unsigned wide = V == 1 ? 0 : 3;
  constexpr i64 tile = map_parted_body<M, V, wide>::tile;
  Seen seen;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Positions<T> at(seed, tile);
    at.extent += at.n;
    std::iota(at.of.begin(), at.of.end(), at.draw.below(at.extent - at.n + 1));
    if (seed % 3 != 0) {
      for (std::size_t i = 0; i < at.of.size(); ++i)
        std::swap(at.of[i], at.of[std::size_t(at.draw.below(i64(i) + 1))]);
    }
    auto table = drawn<T>(at.draw, at.extent), values = drawn<T>(at.draw, at.n);
    T *const to = aligned(table), *const from = aligned(values);
    std::vector<T> want = table;
    for (i64 i = 0; i < at.n; ++i) want[std::size_t(to - table.data() + at.place(i))] = from[i];
    const auto not_sorted =
        run<M, V, wide>(at, at.draw,
                        {u64(at.n), 1, 0, word(at.origin(to)), word(from), word(at.of.data()),
                         u64(at.extent), u64(at.stride()), u64(at.n), 0, sizeof(T), 8});
    ASSERT_TRUE(table == want) << "seed " << seed;
    seen.add(not_sorted, at.n, tile);
  }
}

TEST(cuda_parted, single_elements_are_written) {
  check_scatter<u8, 2>();
  check_scatter<u16, 1>();
  check_scatter<float, 2>();
  check_scatter<double, 2>();
  check_scatter<complex<double>, 1>();
}

/// A bit for each place behind the first word, which says whether one has been set before.
TEST(cuda_parted, bits_are_set) {
  using M = map_of<into<marked, val<u32, 1>, at_place<0, 0>>, side<u32>, 2, i64>;
  int repeated = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Positions<char> at(seed, map_parted_body<M, 2, 1>::tile);
    at.is_reversed = false;
    if (seed % 2 == 0) {
      at.n = std::min(at.n, at.extent), at.of.resize(std::size_t(at.n));
      std::iota(at.of.begin(), at.of.end(), -at.n);
      std::ranges::reverse(at.of);
      if (seed % 4 == 0) at.of.back() = at.of[std::size_t(at.draw.below(at.n))];
    }
    std::vector<u32> words(std::size_t(at.extent / 32 + 2)), want = words;
    for (i64 i = 0; i < at.n; ++i) {
      u32& bits = want[std::size_t(at.place(i) / 32 + 1)];
      const u32 bit = 1u << at.place(i) % 32;
      if ((bits & bit) != 0) want[0] = 1;
      bits |= bit;
    }
    repeated += int(want[0]);
    run<M, 2, 1>(at, at.draw,
                 {u64(at.n), 1, 0, word(words.data()), word(at.of.data()), u64(at.extent), 1, 1, 0,
                  u64(at.n), 0, 8});
    ASSERT_EQ(words, want) << "seed " << seed;
    if (want[0] != 0) continue;
    at.n = 1;  // one of them again
    run<M, 2, 1>(
        at, at.draw,
        {1, 1, 0, word(words.data()), word(at.of.data()), u64(at.extent), 1, 1, 0, 1, 0, 8});
    EXPECT_EQ(words[0], 1u);
  }
  EXPECT_TRUE(repeated > 2 && repeated < 10) << repeated;
}

/// Only the owner of a place writes it.
TEST(cuda_parted, owners_write_elements) {
  using Owner = pick<i64, 2, at_place<1, 1>>;
  using M = map_of<owned<Owner, val<turns, 2>, into<replaced, in<float, 0>, at_place<0, 1>>>,
                   side<float>, 3, float, i64, side<i64, 1>>;
  constexpr i64 tile = map_parted_body<M, 2, 3>::tile;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Positions<float> at(seed, tile);
    auto table = drawn<float>(at.draw, at.extent), values = drawn<float>(at.draw, at.n);
    float *const to = aligned(table), *const from = aligned(values);
    std::vector<i64> owners(std::size_t(at.extent), -1);
    std::vector<float> want = table;
    for (i64 i = 0; i < at.n; ++i) {
      const i64 p = at.of[std::size_t(i)];
      owners[std::size_t(p < 0 ? p + at.extent : p)] = i;
      want[std::size_t(to - table.data() + at.place(i))] = from[i];
    }
    run<M, 2, 3>(
        at, at.draw,
        {u64(at.n), 1, 0, word(at.origin(to)), word(from), word(at.of.data()), word(owners.data()),
         u64(at.extent), u64(at.stride()), u64(at.extent), 8, 1, u64(at.n), u64(at.n), 0, 4, 8, 0});
    ASSERT_TRUE(table == want) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quarry::test
