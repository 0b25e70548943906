// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backend/cuda/launch/geometry.hpp"
#include "kernels/drawn_operands.hpp"

/// Rows that are written at computed positions as a GPU writes them: what plain loops leave, and
/// nothing else touched.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

/// `rows` rows of `columns` elements of T into a table of `extent` rows, `pitch` elements apart.
/// Both are aligned to 16 bytes, but for up to `ahead` elements.
template <class T>
struct Rows {
  explicit Rows(std::uint64_t seed, i64 width, int ahead = 0) : draw(seed) {
    extent = 1 + draw.below(draw.of({9, 90})), rows = 1 + draw.below(40);
    columns = width * (1 + draw.below(draw.of({1, 20, 300})));
    pitch = columns + width * draw.below(3);
    table.resize(std::size_t(extent * pitch + 32)), values.resize(std::size_t(rows * columns + 32));
    for (T& x : table) x = T(draw.below(100));
    for (T& x : values) x = T(draw.below(100));
    for (i64 r = 0; r < rows; ++r) positions.push_back(draw.below(2 * extent) - extent);
    owners.assign(std::size_t(extent), -1);
    for (i64 r = 0; r < rows; ++r) owners[std::size_t(place(r))] = r;
    to = aligned(table) + draw.below(ahead + 1), from = aligned(values) + draw.below(ahead + 1);
    if (draw.one_in(4)) found = draw.one_in(2) ? 1 : i64{1} << 40;
  }
  static T* aligned(std::vector<T>& v) {
    return reinterpret_cast<T*>((reinterpret_cast<u64>(v.data()) + 15) / 16 * 16);
  }
  i64 place(i64 r) const {
    const i64 p = positions[std::size_t(r)];
    return p < 0 ? p + extent : p;
  }
  /// The parameter block; `inputs` behind those of the output, the values and the positions.
  std::vector<u64> words(std::vector<u64> scalars, std::vector<const void*> inputs,
                         std::vector<i64> strides) const {
    std::vector<u64> all = {u64(rows * columns), 1, reinterpret_cast<u64>(&found)};
    for (const void* at : std::initializer_list<const void*>{to, from, positions.data()})
      all.push_back(reinterpret_cast<u64>(at));
    for (const void* at : inputs) all.push_back(reinterpret_cast<u64>(at));
    for (const u64 s : scalars) all.push_back(s);
    const i64 size = sizeof(T);
    std::vector<i64> of_all = {0, size, columns * size, size, 8, 0};
    of_all.insert(of_all.end(), strides.begin(), strides.end());
    for (const i64 s : {rows, columns}) all.push_back(u64(s));
    for (const i64 s : of_all) all.push_back(u64(s));
    return all;
  }
  u64 own_stride() const { return u64(pitch) * sizeof(T); }
  /// What is in the table after `meet` of every element in turn, unless the check has found any.
  template <class F>
  std::vector<T> expected(const F& meet) const {
    std::vector<T> want = table;
    if (found != 0) return want;
    T* const at = want.data() + (to - table.data());
    for (i64 r = 0; r < rows; ++r) {
      for (i64 c = 0; c < columns; ++c) {
        T& element = at[place(r) * pitch + c];
        element = meet(element, from[r * columns + c], r);
      }
    }
    return want;
  }

  /// With Unaligned vectors begin at any element.
  template <class M, int V, unsigned Wide, bool Unaligned = false>
  void run(const std::vector<u64>& block) {
    const auto lead = Unaligned ? backend::cuda::unaligned_lead(sizeof(T), columns, V) : 127;
    const auto g = backend::cuda::strided_geometry({.columns = columns,
                                                    .rows = rows,
                                                    .span = 0,
                                                    .lead = lead,
                                                    .operands = 2,
                                                    .vector_width = V},
                                                   0);
    const auto kernel = [&](auto rows_a_thread) {
      constexpr int many = decltype(rows_a_thread)::value;
      typename map_strided_body<M, 2, i64, many, V, Wide>::param_type p;
      ASSERT_EQ(sizeof p, block.size() * sizeof(u64));
      std::memcpy(&p, block.data(), sizeof p);
      const auto faults = launch({{g.grid_x, g.grid_y}, {g.block_x, g.block_y}}, draw.bits(), [&] {
        if constexpr (Unaligned)
          map_scatter_rows<M, 2, 8, many, V, Wide>(p, 0);
        else
          map_scatter<M, 2, 8, many, V, Wide>(p, 0);
      });
      EXPECT_EQ(faults, std::vector<std::string>{});
    };
    g.rows_a_thread > 1 ? kernel(std::integral_constant<int, 2>{})
                        : kernel(std::integral_constant<int, 1>{});
  }

  Draw draw;
  i64 extent, rows, columns, pitch;
  i64 found = 0;  ///< by the check of the positions
  std::vector<T> table, values;
  std::vector<i64> positions, owners;
  T *to, *from;
};

template <int S, int K>
using at_rows = place<index_mode::from_end, S, in<i64, K>>;

template <class F, class T, class Value = in<T, 0>, class Plain>
void check_meeting(const Plain& plain) {
  using M = map_of<into<F, Value, at_rows<0, 1>>, side<T>, 1, T, i64>;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rows<T> r(seed, 1);
    if constexpr (is_same<Value, iota<T>>) std::iota(r.from, r.from + r.rows * r.columns, T{0});
    const auto want = r.expected([&](T a, T b, i64) { return plain(a, b); });
    r.template run<M, 1, 0>(r.words({u64(r.extent), r.own_stride()}, {}, {}));
    ASSERT_EQ(r.table, want) << "seed " << seed;
  }
}

TEST(cuda_scatter, values_meet_in_words_around_them) {
  const auto add = [](auto a, auto b) { return decltype(a)(a + b); };
  check_meeting<combined<add_op>, i8>(add);
  check_meeting<combined<add_op>, u16>(add);
  check_meeting<combined<add_op>, i32>(add);
  check_meeting<combined<add_op>, u64>(add);
  check_meeting<combined<minimum_op>, double>([](double a, double b) { return std::min(a, b); });
  check_meeting<added, i64>(add);
  const auto larger = [](i64 a, i64 b) { return std::max(a, b); };
  check_meeting<largest, i64>(larger);
  check_meeting<largest, i64, iota<i64>>(larger);
}

template <class M, int V, unsigned Wide>
void run_singles(Draw& draw, const std::vector<u64>& block, i64 n, i64* word = nullptr) {
  typename map_scatter_singles_body<M, V, Wide>::param_type p;
  ASSERT_EQ(sizeof p, block.size() * sizeof(u64));
  std::memcpy(&p, block.data(), sizeof p);
  const auto blocks = unsigned(n / (32 * V * scatter_vectors) + 1);
  const unsigned warps = 1 + unsigned(draw.below(2)), at_once = 1 + unsigned(draw.below(2));
  const auto faults = launch({{blocks}, {32 * warps}, at_once}, draw.bits(),
                             [&] { map_scatter_singles<M, V, Wide>(p, word); });
  EXPECT_EQ(faults, std::vector<std::string>{});
}

/// The last position of each place, of integers I, some of which may be outside: then the owners
/// are any, and the host and what follows are told of it.
template <class T, class I, int V>
void check_owners() {
  using M = map_of<into<largest, iota<T>, place<index_mode::from_end, 0, in<I, 0>>>, side<T>, 1, I>;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draw draw(seed);
    const i64 extent = 1 + draw.below(90), n = 1 + draw.below(draw.of({20, 2000}));
    alignas(16) static I positions[2048];
    std::vector<T> owners(std::size_t(extent), -1), want = owners;
    for (i64 i = 0; i < n; ++i) {
      const i64 at = draw.below(2 * extent) - extent;
      positions[i] = static_cast<I>(at), want[std::size_t(at < 0 ? at + extent : at)] = T(i);
    }
    const bool is_outside = draw.one_in(2);
    if (is_outside) positions[draw.below(n)] = static_cast<I>(draw.of({extent, -extent - 1}));
    u32 counter = 0;
    i64 for_host = -1, for_stream = -1;
    const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
    const std::vector<u64> block = {u64(n),
                                    word(&counter),
                                    word(&for_host),
                                    word(owners.data()),
                                    word(positions),
                                    u64(extent),
                                    sizeof(T),
                                    u64(n),
                                    0,
                                    sizeof(I)};
    run_singles<M, V, V == 1 ? 0 : 1>(draw, block, n, &for_stream);
    ASSERT_EQ(counter, 0u);
    ASSERT_EQ(for_host, for_stream);
    ASSERT_EQ(for_host > 0, is_outside) << for_host << " seed " << seed;
    ASSERT_GE(for_host, 0);
    if (!is_outside) {
      ASSERT_EQ(owners, want) << "seed " << seed;
    }
    refused += int(is_outside);
  }
  EXPECT_TRUE(refused > 20 && refused < 80) << refused;
}

TEST(cuda_scatter, owners_of_places_are_found_and_their_positions_checked) {
  check_owners<i32, i64, 2>();
  check_owners<i64, i64, 1>();
  check_owners<i32, i32, 4>();
  check_owners<i32, i16, 8>();
}

TEST(cuda_scatter, marks_are_a_bit_for_each_place_and_one_for_repeated_ones) {
  using M = map_of<into<marked, val<u32, 1>, at_rows<0, 1>>, side<u32>, 2, u32, i64>;
  int repeated = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rows<u32> r(seed, 1);
    r.columns = 1, r.rows = std::min(r.rows, r.extent), r.found = 0;
    std::ranges::fill(r.table, 0u);
    std::vector<u32> want = r.table;
    u32* const word = want.data() + (r.to - r.table.data());
    for (i64 i = 0; i < r.rows; ++i) {
      u32& bits = word[1 + r.place(i) / 32];
      const u32 bit = 1u << r.place(i) % 32;
      if ((bits & bit) != 0) word[0] = 1;
      bits |= bit;
    }
    repeated += int(word[0]);
    const auto unmarked = r.table;
    r.run<M, 1, 0>(r.words({u64(r.extent), 1, 1, 0}, {}, {}));
    ASSERT_EQ(r.table, want) << "seed " << seed;
    r.table = unmarked;
    const auto word_of = [](const void* at) { return reinterpret_cast<u64>(at); };
    const std::vector<u64> block = {u64(r.rows),
                                    1,
                                    0,
                                    word_of(r.table.data() + (word - want.data())),
                                    word_of(r.from),
                                    word_of(r.positions.data()),
                                    u64(r.extent),
                                    1,
                                    1,
                                    0,
                                    u64(r.rows),
                                    0,
                                    4,
                                    8};
    run_singles<M, 2, 3>(r.draw, block, r.rows);
    ASSERT_EQ(r.table, want) << "seed " << seed;
  }
  EXPECT_TRUE(repeated > 20 && repeated < 180) << repeated;
}

/// No more rows than places, all of which are different: their order says nothing.
template <class T>
void make_distinct(Rows<T>& r) {
  r.rows = std::min(r.rows, r.extent);
  r.positions.resize(std::size_t(r.rows));
  std::iota(r.positions.begin(), r.positions.end(), -r.extent);
  for (std::size_t i = 0; i < r.positions.size(); ++i) {
    std::swap(r.positions[i], r.positions[std::size_t(r.draw.below(i64(i) + 1))]);
  }
}

template <class T, int V>
void check_rows() {
  using M = map_of<into<replaced, in<T, 0>, at_rows<0, 1>>, side<T>, 1, T, i64>;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Rows<T> r(seed, 1, 16);
    make_distinct(r);
    const auto want = r.expected([](T, T b, i64) { return b; });
    r.template run<M, V, 1, true>(r.words({u64(r.extent), r.own_stride()}, {}, {}));
    ASSERT_EQ(r.table, want) << "seed " << seed;
  }
}

/// Single elements.
template <class T, int V>
void check_singles() {
  using M = map_of<into<replaced, in<T, 0>, at_rows<0, 1>>, side<T>, 1, T, i64>;
  constexpr i64 size = sizeof(T);
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Rows<T> r(seed, 1);
    r.columns = 1, r.extent = 1 + r.draw.below(700), r.rows = 1 + r.draw.below(700), r.pitch = 1;
    r.table.assign(std::size_t(r.extent + 32), T(101));
    r.to = r.aligned(r.table);
    r.values.resize(std::size_t(r.rows + 32)), r.from = r.aligned(r.values);
    make_distinct(r);
    const u64 n = u64(r.rows);
    const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
    const std::vector<u64> block = {n,
                                    1,
                                    word(&r.found),
                                    word(r.to),
                                    word(r.from),
                                    word(r.positions.data()),
                                    u64(r.extent),
                                    size,
                                    n,
                                    0,
                                    size,
                                    8};
    const auto whole = r.expected([](T, T b, i64) { return b; });
    run_singles<M, V, V == 1 ? 0 : 3>(r.draw, block, r.rows);
    ASSERT_EQ(r.table, whole) << "seed " << seed;
  }
}

TEST(cuda_scatter, single_elements_are_written) {
  check_singles<i8, 2>();
  check_singles<float, 1>();
  check_singles<float, 2>();
  check_singles<double, 2>();
}

TEST(cuda_scatter, rows_that_begin_at_any_element_are_written_by_vectors) {
  check_rows<i8, 16>();
  check_rows<i8, 2>();
  check_rows<u16, 8>();
  check_rows<float, 4>();
  check_rows<float, 2>();
  check_rows<double, 2>();
}

/// Only the owner of a row writes it.
template <class T, int V, unsigned Wide, bool Unaligned = false>
void check_owned() {
  using Owner = pick<i64, 2, at_rows<1, 1>>;
  using M = map_of<owned<Owner, val<turns, 2>, into<replaced, in<T, 0>, at_rows<0, 1>>>, side<T>, 3,
                   T, i64, side<i64, 1>>;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rows<T> r(seed, Unaligned ? 1 : V, Unaligned ? 16 : 0);
    const auto want = r.expected(
        [&](T a, T b, i64 row) { return r.owners[std::size_t(r.place(row))] == row ? b : a; });
    r.template run<M, V, Wide, Unaligned>(
        r.words({u64(r.extent), r.own_stride(), u64(r.extent), 8, u64(r.columns), u64(r.rows)},
                {r.owners.data()}, {0, 0}));
    ASSERT_EQ(r.table, want) << "seed " << seed;
  }
}

TEST(cuda_scatter, owners_write_elements_and_vectors) {
  check_owned<float, 1, 0>();
  check_owned<float, 4, 1>();
  check_owned<i8, 16, 1>();
  check_owned<double, 2, 1>();
  check_owned<i8, 16, 1, true>();
  check_owned<float, 4, 1, true>();
}

}  // namespace
}  // namespace quarry::test
