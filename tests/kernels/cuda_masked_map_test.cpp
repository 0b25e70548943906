// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_maps.hpp"

/// Maps that store the elements for which a condition is true: no other element changes, none is
/// stored twice, and nothing beside the operand is read or written.
namespace quarry::test {
namespace {

/// True for a share of the elements that the scalar decides.
using chosen = op<less_op, u8, in<u8, 0>, val<u8, 0>>;
template <class T>
using set_to_one_value = map_of<guarded<chosen, call<mix<T>, val<u64, 1>>>, T, 2, u8>;
/// The values may be the elements themselves.
template <class T>
using set_to_values = map_of<guarded<chosen, call<mix<T>, in<T, 1>, iota<i64>>>, T, 1, u8, T>;

/// Or elements of another operand, where positions say.
template <class T>
using set_to_picked = map_of<guarded<op<less_op, u8, in<u8, 0>, val<u8, 1>>,
                                     pick<T, 1, place<index_mode::from_end, 0, in<i8, 2>>>>,
                             T, 2, u8, side<T>, i8>;

template <class M>
class cuda_masked_map : public ::testing::Test {};
using Maps = ::testing::Types<set_to_one_value<watched<1>>, set_to_one_value<watched<2>>,
                              set_to_one_value<watched<4>>, set_to_one_value<watched<16>>,
                              set_to_values<watched<2>>, set_to_values<watched<4>>,
                              set_to_values<watched<8>>, set_to_values<watched<12>>,
                              set_to_picked<watched<2>>, set_to_picked<watched<8>>>;
TYPED_TEST_SUITE(cuda_masked_map, Maps);

TYPED_TEST(cuda_masked_map, stores_the_chosen_elements_alone) {
  auto seen = run_cases<TypeParam>(has_sides<TypeParam> ? 500 : 250);
  for (const auto& [what, count] : seen) this->RecordProperty(what, count);
  EXPECT_TRUE(has_sides<TypeParam> ? seen["flat"] == 0 : seen["flat"] > 20) << seen["flat"];
  EXPECT_GT(seen["strided"], 20);
  if (Case<TypeParam>::Types::size_of(0) > 8) return;  // an element is a vector
  EXPECT_GT(seen["vectors"], 20);
  if (has_sides<TypeParam>) return;
  EXPECT_GT(seen["unaligned"] + seen["across"], 20);
}

/// The kernel of rows, by warps that have several groups of rows or share one, and by those that
/// the backend chooses.
template <class M>
struct RowsCase;
template <class E, class Out, int S, class In>
struct RowsCase<map_of<E, Out, S, In>> {
  using M = map_of<E, Out, S, In>;

  explicit RowsCase(std::uint64_t seed) : draw(seed), arena(seed), operands(draw, arena) {
    const i64 columns = draw.one_in(3) ? 2 + draw.below(200) : 2 + draw.below(20);
    extents = {1 + draw.below(std::min<i64>(6000 / columns, 700)), columns};
    operands.template output<Out>(extents, true, true);
    operands.template input_of_rows<In>(extents);
    operands.pack(product(extents), 1, S, extents);
    if (draw.one_in(3)) {  // most rows, or few
      *reinterpret_cast<u8*>(operands.words.data() + 5) = draw.of<u8>({3, 250});
    }
    const auto g = backend::cuda::masked_rows_geometry(
        extents[0], columns * static_cast<i64>(sizeof(Out)), draw.of({0, 1, 132}));
    grid = {{g.grid}, {backend::cuda::flat_threads}, static_cast<unsigned>(1 + draw.below(3))};
    walk = g.walk;
    if (columns * static_cast<i64>(sizeof(Out)) >= 32 && draw.one_in(2)) {
      walk = {1 + static_cast<i32>(draw.below(most_row_groups)), 1};
      const i64 warps = (extents[0] - 1) / (32 * walk.groups) + 1;
      grid.grid = {static_cast<unsigned>((warps + 7) / 8)};
    }
  }

  void check() {
    Memory expected(arena.all().begin(), arena.all().end());
    const Memory before = expected;
    for (i64 i = 0; i < product(extents); ++i) {
      operands.store_all(expected, before, i, static_cast<several<E>*>(nullptr),
                         static_cast<several<Out>*>(nullptr));
    }
    const auto p = packed<typename map_masked_rows_body<M>::param_type>(operands.words.data());
    const auto faults = launch(grid, draw.bits(), [&] { map_masked_rows<M>(p, walk); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    EXPECT_EQ(arena.faults(), std::vector<std::string>{});
    EXPECT_TRUE(equal_bytes(arena.all(), expected));
  }

  Draw draw;
  Arena arena;
  Operands operands;
  Extents extents;
  Grid grid;
  masked_rows walk{};
};

template <class M>
class cuda_masked_rows : public ::testing::Test {};
using RowMaps = ::testing::Types<set_to_one_value<watched<1>>, set_to_one_value<watched<2>>,
                                 set_to_one_value<watched<4>>, set_to_one_value<watched<8>>,
                                 set_to_one_value<watched<16>>>;
TYPED_TEST_SUITE(cuda_masked_rows, RowMaps);

TYPED_TEST(cuda_masked_rows, store_the_constant_into_chosen_rows_alone) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RowsCase<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(c.extents[0]) +
                 " rows of " + std::to_string(c.extents[1]));
    c.check();
    ++seen[c.walk.groups == 0   ? "vectors"
           : c.walk.sharers > 1 ? "shared"
           : c.walk.groups > 1  ? "several groups"
                                : "one group"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const char* const what : {"vectors", "shared", "several groups", "one group"}) {
    EXPECT_GT(seen[what], 2) << what;
  }
}

/// A position that is computed by a function of the user's, which counts its calls.
struct counted_position {
  static inline int calls = 0;
  i64 operator()(i64 position) const {
    ++calls;
    return position;
  }
};
/// One element, at position 3 of an operand.
struct one_element {
  template <class T, int K>
  T input() const {
    return static_cast<T>(3);
  }
  template <class T, int S>
  T scalar() const {
    return {7, sizeof(float)};
  }
  template <class T, int K>
  T input_at(i64 offset) const {
    return static_cast<T>(offset);
  }
};

/// What a user's function does for elements that are not chosen nobody knows.
TEST(cuda_masked_map, functions_of_users_compute_positions_of_the_chosen_alone) {
  using Position = place<index_mode::from_end, 0, call<counted_position, in<i64, 0>>>;
  using None = op<less_op, i64, in<i64, 0>, in<i64, 0>>;
  using All = op<less_equal_op, i64, in<i64, 0>, in<i64, 0>>;
  counted_position::calls = 0;
  computed<2, guarded<None, pick<float, 1, Position>>, float> none;
  none.set(0, one_element());
  EXPECT_EQ(none.kept, 0u);
  EXPECT_EQ(counted_position::calls, 0);
  computed<2, guarded<All, pick<float, 1, Position>>, float> all;
  all.set(1, one_element());
  EXPECT_EQ(all.kept, 2u);
  EXPECT_EQ(all.v.v[1], 12.f);
  EXPECT_EQ(counted_position::calls, 1);
}

/// One value where bytes are not 0, few or many of them.
template <class T>
void store_where_true(Draw& draw) {
  constexpr int V = 16 / sizeof(T), warps = 2;
  using M = map_of<guarded<in<bool, 0>, val<T, 0>>, T, 1, bool>;
  const i64 of_block = warps * 32 * 16, n = 1 + draw.below(4 * of_block), step = draw.of({16, V});
  alignas(16) static u8 mask[5 * of_block];
  alignas(16) static T to[5 * of_block];
  const i64 of_thousand = draw.of({0, 2, 30, 500, 1000}), first = step * draw.below(2);
  const T stored = static_cast<T>(-5);
  T expected[5 * of_block];
  for (i64 i = 0; i < std::ssize(to); ++i) {
    to[i] = expected[i] = static_cast<T>(i % 97);
    mask[i] = draw.below(1000) < of_thousand ? 1 : 0;
    if (i < n && mask[i] != 0) expected[i] = stored;
  }
  std::memmove(mask + first, mask, static_cast<std::size_t>(n));
  typename map_flat_body<M, V>::param_type p;
  u64 value = 0;
  std::memcpy(&value, &stored, sizeof stored);
  const u64 words[] = {u64(n), 1, 0, reinterpret_cast<u64>(to), reinterpret_cast<u64>(mask + first),
                       value,  0};
  static_assert(sizeof p == sizeof words);
  std::memcpy(&p, words, sizeof p);
  const Dim3 grid{static_cast<unsigned>((n - 1) / of_block + 1)};
  const int backwards = static_cast<int>(draw.below(2));
  const auto faults =
      launch({grid, {32 * warps}}, draw.bits(), [&] { map_flat<M, V>(p, backwards); });
  ASSERT_EQ(faults, std::vector<std::string>{});
  for (i64 i = 0; i < std::ssize(to); ++i)
    ASSERT_EQ(to[i], expected[i]) << i << " of " << n << ", " << of_thousand << " of 1000";
}

TEST(cuda_masked_maps, store_one_value_where_a_mask_is_true) {
  Draw draw(12);
  for (int i = 0; i < 60; ++i) {
    store_where_true<i16>(draw);
    store_where_true<float>(draw);
    store_where_true<double>(draw);
  }
}

}  // namespace
}  // namespace quarry::test
