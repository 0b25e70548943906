// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/tiles.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/guarded_memory.hpp"
#include "kernels/plain_loops.hpp"

/// Maps by tiles as a GPU runs them, over drawn layouts of inputs in another order than the output:
/// the values of plain loops, every element of the output written once, nothing else touched.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::cuda::TiledMap;
using backend::cuda::Tiles;
using backend::cuda::Variant;

using Kernel = void (*)(const u64* words, const tiling& tiles, int backwards);
using Kernels = std::unordered_map<Variant, Kernel, HashOfVariant>;

template <class M, int R, int Dr, int Dw, int V, unsigned Wide, unsigned Tiled, int Rows>
void run_tiled(const u64* words, const tiling& tiles, int backwards) {
  typename map_tiled_body<M, R, Dr, Dw, V, Wide, Tiled, Rows>::param_type p;
  std::memcpy(&p, words, sizeof p);
  map_tiled<M, R, Dr, Dw, V, Wide, Tiled, Rows>(p, tiles, backwards);
}

/// Maps of one input of 4 or 16 bytes have all ranks, others those that differ most.
template <class M>
inline constexpr bool has_all_ranks = false;
template <class E, class Out, class A>
inline constexpr bool has_all_ranks<map_of<E, Out, 1, A>> = sizeof(Out) == 4 || sizeof(Out) == 16;

/// Maps of one input of bytes or halves: parts of their rows overlap in several ways.
template <class M>
inline constexpr bool has_overlaps = false;
template <class E, class Out, int S, class A>
inline constexpr bool has_overlaps<map_of<E, Out, S, A>> = sizeof(Out) <= 2 && sizeof(A) <= 2;

template <class M, int V, unsigned Wide, unsigned Tiled, int Rows>
void add_ranks(Kernels& all) {
  constexpr int word = (Rows & 9) == 9 ? 8 : (Rows & 8) != 0 ? 16 : (Rows & 1) != 0 ? 4 : 0;
  const auto add = [&]<int R, int Dr, int Dw>() {
    all[TiledMap{R, Dr, Dw, V, int{Wide}, int{Tiled}, word, (Rows & 2) != 0, (Rows & 4) != 0,
                 (Rows & 16) != 0, (Rows & 32) != 0, (Rows & 64) != 0}] =
        run_tiled<M, R, Dr, Dw, V, Wide, Tiled, Rows>;
  };
  add.template operator()<3, 2, 2>();
  if constexpr ((Rows & 4) != 0) {  // axes of which rows consist are one
    add.template operator()<2, 2, 1>();
    add.template operator()<3, 3, 2>();
  } else {
    add.template operator()<2, 2, 2>();
    add.template operator()<4, 3, 3>();
  }
  if constexpr (has_overlaps<M> && V > 1) {
    add.template operator()<2, 1, 2>();
    add.template operator()<2, 2, 2>();
  }
  if constexpr ((Rows & 64) != 0) {
    add.template operator()<2, 1, 2>();
    add.template operator()<3, 1, 3>();
    add.template operator()<3, 3, 2>();
    add.template operator()<3, 2, 3>();
    add.template operator()<4, 2, 3>();
  }
  if constexpr (has_all_ranks<M>) {
    add.template operator()<1, 1, 1>();
    add.template operator()<2, 2, 1>();
    add.template operator()<3, 1, 3>();
    add.template operator()<3, 3, 2>();
    add.template operator()<4, 3, 3>();
  }
}

/// Wide has every set of the inputs that are not tiled, where there are vectors. Of operands that
/// lie alike all inputs are wide, or there are only outputs.
template <class M, int V, unsigned Tiled, unsigned Rest, int Rows>
void add_wide(Kernels& all) {
  using Types = typename map_tiled_body<M, 1, 1, 1, 1, 0, 0, 0>::Types;
  add_ranks<M, V, 0, Tiled, Rows>(all);
  if constexpr (V > 1 && Rest != 0) add_ranks<M, V, Rest, Tiled, Rows>(all);
  if constexpr ((Rest != 0 || Types::outputs > 1) && Types::size_of(0) < 4) {
    add_ranks<M, V, (V > 1 ? Rest : 0), Tiled, Rows | 32>(all);
  }
}

/// The widest vectors, aligned and not, half of them, and single elements.
template <class M, int Widest, unsigned Tiled, unsigned Rest, int Words>
void add_widths(Kernels& all) {
  add_wide<M, 1, Tiled, Rest, Words>(all);
  add_wide<M, 1, Tiled, Rest, Words | 4>(all);
  if constexpr (Widest > 1) {
    add_wide<M, Widest, Tiled, Rest, Words>(all);
    add_wide<M, Widest, Tiled, Rest, Words | 2>(all);
    add_wide<M, Widest, Tiled, Rest, Words | 6>(all);
  }
  if constexpr (Widest > 2) add_wide<M, Widest / 2, Tiled, Rest, Words | 2>(all);
  if constexpr (Widest == 16) {  // bytes, of which rows of several axes have vectors of 8
    add_wide<M, 8, Tiled, Rest, Words>(all);
    add_wide<M, 8, Tiled, Rest, Words | 6>(all);
  }
}

template <class M, unsigned Inputs, unsigned Tiled>
void add_sets(Kernels& all) {
  using Types = typename map_tiled_body<M, 1, 1, 1, 1, 0, 0, 0>::Types;
  constexpr int widest = Types::size_of(0) <= 16 ? 16 / Types::size_of(0) : 1;
  add_widths<M, widest, Tiled, Inputs & ~Tiled, 0>(all);
  if constexpr (Inputs == 1) add_widths<M, widest, Tiled, 0, 16>(all);
  constexpr bool is_small = [] {
    bool found = false;
    for (int k = 0; k < Types::inputs; ++k) {
      found |= (Tiled >> k & 1) != 0 && Types::size_of(Types::outputs + k) < 4;
    }
    return found;
  }();
  if constexpr (is_small) {
    add_widths<M, widest, Tiled, Inputs & ~Tiled, 1>(all);
    add_widths<M, widest, Tiled, Inputs & ~Tiled, 9>(all);
    add_widths<M, widest, Tiled, Inputs & ~Tiled, 8>(all);
  }
  if constexpr (is_small && Inputs == 1 && Types::outputs == 1 && Types::size_of(0) <= 2) {
    add_wide<M, widest, Tiled, 0, 64>(all);
    add_wide<M, widest, Tiled, 0, 66>(all);
    add_wide<M, widest / 2, Tiled, 0, 64>(all);
    add_wide<M, widest / 2, Tiled, 0, 66>(all);
  }
  if constexpr (is_small && Inputs == 1) {
    add_widths<M, widest, Tiled, 0, 17>(all);
    add_widths<M, widest, Tiled, 0, 25>(all);
  }
  if constexpr (Tiled > 1) add_sets<M, Inputs, Tiled - 1>(all);
}

/// Any number of axes, or two long ones, or rows of two tiles where so many bytes are few enough:
/// of parts of an input's rows, of whole ones, or of several axes. Or rows that are long enough in
/// both orders for tiles that are turned.
Extents draw_extents(Draw& draw, i64 most) {
  if (most >= 24000 && draw.one_in(2)) {
    if (draw.one_in(3)) return {60 + draw.below(40), 300 + draw.below(150)};
    if (draw.one_in(2)) return {60 + draw.below(130), 60 + draw.below(190)};
    return {60 + draw.below(60), 2 + draw.below(6), 8 + draw.below(40)};
  }
  if (most >= 24000 && draw.one_in(2)) {
    if (draw.one_in(3)) return {3 + draw.below(15), 1300 + draw.below(400)};
    if (draw.one_in(3)) return {40 + draw.below(10), 60 + draw.below(20), 5 + draw.below(4)};
    return {40 + draw.below(20), 369 + draw.below(16)};
  }
  const bool is_long = draw.one_in(4);
  const int rank = is_long ? 2 : 2 + int(draw.below(3));
  Extents extents;
  for (int d = 0; d < rank; ++d) {
    extents.push_back(is_long ? 60 + draw.below(400) : 2 + draw.below(draw.of({2, 5, 40, 90})));
  }
  for (auto& extent : extents) {
    if (draw.one_in(2)) extent = (extent + 15) / 16 * 16;
  }
  while (product(extents) > most) {
    auto& longest = *std::ranges::max_element(extents);
    longest = (longest + 1) / 2;
  }
  return extents;
}

template <class M>
struct Case;
template <class E, class Out, int S, class... In>
struct Case<map_of<E, Out, S, In...>> {
  using M = map_of<E, Out, S, In...>;
  using Types = operands_of<Out, In...>;

  static const Kernels& kernels() {
    static const Kernels all = [] {
      Kernels all;
      constexpr unsigned inputs = (1u << sizeof...(In)) - 1;
      add_sets<M, inputs, inputs>(all);
      return all;
    }();
    return all;
  }

  explicit Case(std::uint64_t seed) : draw(seed), arena(seed), operands(draw, arena) {
    extents = draw_extents(draw, i64{48000} / std::ranges::max(Types::size));
    add_outputs(static_cast<several<Out>*>(nullptr));
    (operands.template input<In>(extents, false, false), ...);
    operands.pack(size(), 1, S, extents);
    auto found = backend::cuda::tiles_of({operands.all, Types::size, operands.outputs()},
                                         Shape(extents), draw.of({0, 1, 20, 132}));
    if (found) tiles.emplace(std::move(*found));
  }
  template <class... T>
  void add_outputs(const several<several<T...>>*) {
    (operands.template output<T>(extents, draw.one_in(2), is_partial<E>), ...);
  }
  template <class T>
  void add_outputs(const several<T>*) {
    operands.template output<T>(extents, draw.one_in(2), is_partial<E>);
  }
  i64 size() const { return product(extents); }

  bool has_overlap() const { return tiles->tiling.write.axis[tiles->variant.rank - 1].before > 0; }

  /// The block with the axes and strides of the tiles.
  std::vector<u64> words() const {
    std::vector<u64> words(operands.words.begin(),
                           operands.words.begin() + block_places{Types::count, S, 0}.words());
    for (const i64 extent : tiles->shape) words.push_back(static_cast<u64>(extent));
    for (const backend::Operand& operand : tiles->operands) {
      for (const i64 stride : operand.strides) words.push_back(static_cast<u64>(stride));
    }
    return words;
  }

  /// False if the variant is not in the table, which has few vectors and ranks.
  bool check() {
    const auto found = kernels().find(tiles->variant);
    if (found == kernels().end()) return false;
    Memory expected(arena.all().begin(), arena.all().end());
    const Memory before = expected;
    const i64 unmixed = mixes;
    for (i64 i = 0; i < size(); ++i) {
      operands.store_all(expected, before, i, static_cast<several<E>*>(nullptr),
                         static_cast<several<Out>*>(nullptr));
    }
    const int backwards = int(draw.below(2));
    const std::vector<u64> block = words();
    const i64 wanted = mixes - unmixed;
    const Grid grid{{tiles->count}, {backend::cuda::tile_threads}};
    const auto faults =
        launch(grid, draw.bits(), [&] { found->second(block.data(), tiles->tiling, backwards); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    EXPECT_EQ(arena.faults(), std::vector<std::string>{});
    EXPECT_TRUE(equal_bytes(arena.all(), expected));
    EXPECT_EQ(mixes - unmixed, 2 * wanted) << "of elements alone";
    return true;
  }

  Draw draw;
  Arena arena;
  Operands operands;
  Extents extents;
  std::optional<Tiles> tiles;
};

template <class Out, class... In>
struct mixed_map;
template <class Out, class A>
struct mixed_map<Out, A> {
  using type = map_of<call<mix<Out>, val<u64, 0>, in<A, 0>>, Out, 1, A>;
};
template <class Out, class A, class B>
struct mixed_map<Out, A, B> {
  using type = map_of<call<mix<Out>, in<A, 0>, val<u64, 0>, in<B, 1>>, Out, 1, A, B>;
};
using partly = map_of<guarded<op<less_op, u8, in<u8, 0>, val<u8, 0>>, in<watched<4>, 1>>,
                      watched<4>, 1, u8, watched<4>>;
using two_outputs = map_of<several<call<mix<watched<8>>, val<u64, 0>, in<watched<4>, 0>>,
                                   call<mix<watched<4>>, in<watched<8>, 1>, val<u64, 1>>>,
                           several<watched<8>, watched<4>>, 2, watched<4>, watched<8>>;

std::string described(const Variant& variant) {
  std::string text(variant.kernel());
  for (std::size_t k = 0; k < variant.count(); ++k)
    text += ' ' + std::to_string(variant.argument(k));
  return text;
}

template <class M>
class cuda_tiled_map : public ::testing::Test {};
using Maps = ::testing::Types<
    mixed_map<watched<4>, watched<4>>::type, mixed_map<watched<1>, watched<1>>::type,
    mixed_map<watched<8>, watched<8>>::type, mixed_map<watched<2>, watched<2>>::type,
    mixed_map<watched<2>, watched<2>, watched<2>>::type,
    mixed_map<watched<8>, watched<2>, watched<8>>::type, mixed_map<watched<16>, watched<16>>::type,
    two_outputs, map_of<cast<double, in<bool, 0>>, double, 0, bool>,
    map_of<in<u16, 0>, u16, 0, u16>, partly>;
TYPED_TEST_SUITE(cuda_tiled_map, Maps);

TYPED_TEST(cuda_tiled_map, computes_what_plain_loops_compute) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Case<TypeParam> c(seed);
    if (!c.tiles) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", extents " +
                 ::testing::PrintToString(c.extents) + ", " + described(c.tiles->variant));
    EXPECT_GE(c.tiles->variant.rank,
              std::max(c.tiles->variant.read_rank, c.tiles->variant.write_rank));
    if (!c.check()) continue;
    ++seen["run"];
    if (c.tiles->count > 1) ++seen["tiles"];
    if (c.tiles->variant.width > 1) ++seen["vectors"];
    if (c.tiles->variant.word > 0) ++seen["words"];
    if (c.tiles->variant.shifted) ++seen["vectors before rows"];
    if (c.has_overlap()) ++seen["overlaps"];
    if (c.has_overlap() && c.tiles->variant.read_rank == 1) ++seen["overlaps of whole rows"];
    if (c.has_overlap() && c.tiles->variant.row_of_axes) ++seen["overlaps of several axes"];
    if (c.tiles->variant.row_of_axes) ++seen["rows of axes"];
    if (c.tiles->variant.swizzled) ++seen["swizzled"];
    if (c.tiles->variant.alike) ++seen["operands that lie alike"];
    if (c.tiles->variant.turned) ++seen["turned"];
    if (c.tiles->variant.turned && c.has_overlap()) ++seen["turned overlaps"];
    if (c.tiles->variant.turned && c.tiles->tiling.row_axes > 1) ++seen["turned rows of axes"];
    if (c.tiles->tiling.write.row_step > 0) ++seen["parts of axes"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const auto& [what, count] : seen) this->RecordProperty(what, count);
  EXPECT_GT(seen["run"], 20);
  EXPECT_GT(seen["tiles"], 15);
  constexpr u32 size = Case<TypeParam>::Types::size_of(0);
  if (size == 16) return;  // an element is a vector
  const bool is_copy = Case<TypeParam>::Types::count == 2;
  if (is_copy && size <= 2) {
    EXPECT_GT(seen["words"], 10);
  }
  if (is_copy) {
    EXPECT_GT(seen["vectors before rows"], 10);
    EXPECT_GT(seen["overlaps"], 2);
  }
  if (is_copy && size <= 2) {
    EXPECT_GT(seen["overlaps of whole rows"], 2);
    EXPECT_GT(seen["overlaps of several axes"], 2);
  }
  if (is_copy && size <= 4) {
    EXPECT_GT(seen["swizzled"], 2);
  }
  if (is_copy && size <= 2) {
    EXPECT_GT(seen["turned"], 20);
    EXPECT_GT(seen["turned overlaps"], 2);
    EXPECT_GT(seen["turned rows of axes"], 2);
  }
  if (Case<TypeParam>::Types::inputs > 1 && size < 4) {
    EXPECT_GT(seen["operands that lie alike"], 2);
  }
  EXPECT_GT(seen["rows of axes"], 2);
  EXPECT_GT(seen["vectors"], 10);
}

/// The first tile has no elements of a tile before it.
TEST(cuda_tiled_map_edges, the_first_tile_reads_nothing_before_the_input) {
  using Copy = map_of<in<u16, 0>, u16, 0, u16>;
  constexpr i64 rows = 1500, columns = 7, size = 2;
  const GuardedMemory memory(rows * columns * size);
  auto* const input = reinterpret_cast<u16*>(memory.begin());
  for (i64 i = 0; i < rows * columns; ++i) input[i] = static_cast<u16>(i * 7919);
  std::vector<u16> output(rows * columns + 1);
  u16* const out = output.data() + 1;  // at no sector
  const std::vector<backend::Operand> operands{
      {reinterpret_cast<std::byte*>(out), {rows * size, size}},
      {reinterpret_cast<std::byte*>(input), {size, columns * size}}};
  const std::uint32_t sizes[] = {size, size};
  const Tiles tiles =
      backend::cuda::tiles_of({operands, sizes, 1}, Shape({columns, rows}), 1).value();
  SCOPED_TRACE(described(tiles.variant));
  ASSERT_EQ(tiles.variant.read_rank, 1);
  ASSERT_GT(tiles.tiling.read.axis[tiles.variant.rank - 1].before, 0u);
  std::vector<u64> words{rows * columns, 1, 1, reinterpret_cast<u64>(out),
                         reinterpret_cast<u64>(input)};
  for (const i64 extent : tiles.shape) words.push_back(static_cast<u64>(extent));
  for (const backend::Operand& operand : tiles.operands) {
    for (const i64 stride : operand.strides) words.push_back(static_cast<u64>(stride));
  }
  const Kernel kernel = Case<Copy>::kernels().at(tiles.variant);
  const Grid grid{{tiles.count}, {backend::cuda::tile_threads}};
  const auto faults = launch(grid, 1, [&] { kernel(words.data(), tiles.tiling, 0); });
  EXPECT_EQ(faults, std::vector<std::string>{});
  for (i64 i = 0; i < rows * columns; ++i) {
    ASSERT_EQ(out[i], input[i % rows * columns + i / rows]) << i;
  }
}

}  // namespace
}  // namespace quarry::test
