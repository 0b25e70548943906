// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <unordered_map>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/geometry.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/plain_loops.hpp"

/// The map kernels as a GPU runs them, over drawn layouts, in the variants and the geometry that
/// the backend chooses.
namespace quarry::test {

using namespace quarry::kernels;
using backend::cuda::AcrossMap;
using backend::cuda::CallOperands;
using backend::cuda::FlatMap;
using backend::cuda::StridedMap;
using backend::cuda::UnalignedMap;
using backend::cuda::Variant;

using MapKernel = void (*)(const u64* words, int backwards);
using MapKernels = std::unordered_map<Variant, MapKernel, HashOfVariant>;

template <class P>
P packed(const u64* words) {
  P p;
  std::memcpy(&p, words, sizeof(P));
  return p;
}
template <class M, int V>
void run_flat(const u64* words, int backwards) {
  map_flat<M, V>(packed<typename map_flat_body<M, V>::param_type>(words), backwards);
}
template <class M, int R, class Index, int Rows, int V, unsigned Wide>
void run_strided(const u64* words, int backwards) {
  using P = typename map_strided_body<M, R, Index, Rows, V, Wide>::param_type;
  map_strided<M, R, sizeof(Index), Rows, V, Wide>(packed<P>(words), backwards);
}

template <class M, int R, class Index, int Rows, int V, unsigned Wide>
void run_unaligned(const u64* words, int backwards) {
  using P = typename map_unaligned_body<M, R, Index, Rows, V, Wide>::param_type;
  map_unaligned<M, R, sizeof(Index), Rows, V, Wide>(packed<P>(words), backwards);
}

template <class M, int V, unsigned Wide, int R, class Index, int... Rows>
void add_strided(MapKernels& all) {
  ((all[StridedMap{R, sizeof(Index), Rows, V, int{Wide}}] =
        run_strided<M, R, Index, Rows, V, Wide>),
   ...);
}

template <class M, int V, unsigned Wide, int R, class Index, int... Rows>
void add_unaligned(MapKernels& all) {
  ((all[UnalignedMap{R, sizeof(Index), Rows, V, int{Wide}}] =
        run_unaligned<M, R, Index, Rows, V, Wide>),
   ...);
}
/// Every set of inputs that move, and every set of those that have gaps or are backwards: `Sets` is
/// a number with a digit from 0 to 3 for each input.
template <class M, int V, int Inputs, int Sets>
void add_unaligned_of_width(MapKernels& all) {
  constexpr unsigned wide = [] {
    unsigned bits = 0;
    for (int input = 0, sets = Sets; input < Inputs; ++input, sets /= 4) {
      if (sets % 4 == 1 || sets % 4 == 2) bits |= 1u << input;
      if (sets % 4 > 1) bits |= 1u << (16 + input);
    }
    return bits;
  }();
  constexpr int rows = V == 2 ? 4 : 2;
  add_unaligned<M, V, wide, 1, i64, 1>(all);
  add_unaligned<M, V, wide, 2, i32, 1, rows>(all);
  add_unaligned<M, V, wide, 3, i64, 1, rows>(all);
  if constexpr (Sets > 0) add_unaligned_of_width<M, V, Inputs, Sets - 1>(all);
}

template <class M, int R, class Index, int V, unsigned Wide, unsigned Flat>
void run_across(const u64* words, int backwards) {
  using P = typename map_across_body<M, R, Index, V, Wide, Flat>::param_type;
  map_across<M, R, sizeof(Index), V, Wide, Flat>(packed<P>(words), backwards);
}
/// Every input is dense along rows, or as dense as the outputs, or the same for a row, or
/// backwards: digits 0 to 3 of `Sets`.
template <class M, int V, int Inputs, int Sets>
void add_across_of_width(MapKernels& all) {
  constexpr auto digits_of = [](int digit) {
    unsigned bits = 0;
    for (int input = 0, sets = Sets; input < Inputs; ++input, sets /= 4) {
      if (sets % 4 == digit) bits |= 1u << input;
    }
    return bits;
  };
  constexpr unsigned wide = digits_of(0) | digits_of(3) << 16, dense = digits_of(1);
  all[AcrossMap{2, 4, V, int{wide}, int{dense}}] = run_across<M, 2, i32, V, wide, dense>;
  all[AcrossMap{3, 8, V, int{wide}, int{dense}}] = run_across<M, 3, i64, V, wide, dense>;
  if constexpr (Sets > 0) add_across_of_width<M, V, Inputs, Sets - 1>(all);
}

/// Side operands keep a map from being flat.
template <class M>
inline constexpr bool has_sides = false;
template <class E, class Out, int S, class... In>
inline constexpr bool has_sides<map_of<E, Out, S, In...>> = (is_side_operand<In> || ...);

/// Every width from 16 bytes of the widest operand down; every set of inputs that do not move.
template <class M, int Inputs, int V, unsigned Wide>
void add_of_width(MapKernels& all) {
  if constexpr (V == 1) {
    add_strided<M, 1, 0, 1, i32, 1>(all);
    add_strided<M, 1, 0, 2, i32, 1, 4, 8>(all);
    add_strided<M, 1, 0, 3, i64, 1, 4, 8>(all);
  } else {
    constexpr int rows = V == 2 ? 4 : 2;
    add_strided<M, V, Wide, 1, i64, 1>(all);
    add_strided<M, V, Wide, 2, i64, 1, rows>(all);
    add_strided<M, V, Wide, 3, i32, 1, rows>(all);
    if constexpr (Wide > 0) add_of_width<M, Inputs, V, Wide - 1>(all);
  }
}

/// Vectors of one input have every width. Of several inputs, whose sets are many, they are the
/// widest or pairs.
constexpr int narrowed(int width, int inputs, int widest) {
  return inputs < 2 || width == widest || width == 1 ? width : 2;
}

template <class M, int Inputs, int V>
void add_widths(MapKernels& all) {
  if constexpr (!has_sides<M>) all[FlatMap{V}] = run_flat<M, V>;
  add_of_width<M, Inputs, V, (1u << Inputs) - 1>(all);
  if constexpr (V > 1) {
    constexpr int sets = 1 << 2 * Inputs;
    if constexpr (!has_sides<M> && Inputs < 3) {
      add_unaligned_of_width<M, V, Inputs, sets - 1>(all);
      add_across_of_width<M, V, Inputs, sets - 1>(all);
    }
    add_widths<M, Inputs, narrowed(V / 2, Inputs, V)>(all);
  }
}

template <class M>
struct Map;
template <class E, class Out, int S, class... In>
struct Map<map_of<E, Out, S, In...>> {
  using M = map_of<E, Out, S, In...>;
  static constexpr int inputs = sizeof...(In);
  static constexpr std::uint32_t largest = std::ranges::max(operands_of<Out, In...>::size);
  static constexpr int widest = std::has_single_bit(largest) && largest <= 16 ? 16 / largest : 1;
  static const MapKernels& all() {
    static const MapKernels found = [] {
      MapKernels all;
      add_widths<M, inputs, widest>(all);
      return all;
    }();
    return found;
  }
};

inline Extents draw_extents(Draw& draw, int rank) {
  Extents extents;
  for (int d = 0; d < rank; ++d) extents.push_back(1 + draw.below(draw.of({2, 5, 9, 24})));
  if (draw.one_in(3)) extents.back() = 1 + draw.below(draw.of({70, 400, 1700}));
  if (draw.one_in(2)) extents.back() = (extents.back() + 7) / 8 * 8;
  if (rank == 2 && draw.one_in(3)) extents = {1 + draw.below(600), 1 + draw.below(10)};
  if (rank == 2 && draw.one_in(6)) extents = {1 + draw.below(5), 1024 + 8 * draw.below(20)};
  while (product(extents) > 6000) {
    auto& longest = *std::ranges::max_element(extents);
    longest = (longest + 1) / 2;
  }
  return extents;
}

/// One launch: its memory, parameter block, variant and geometry.
template <class M>
struct Case;
template <class E, class Out, int S, class... In>
struct Case<map_of<E, Out, S, In...>> {
  using Of = map_of<E, Out, S, In...>;
  using Kernels = Map<Of>;
  using Types = operands_of<Out, In...>;

  explicit Case(std::uint64_t seed) : draw(seed), arena(seed), operands(draw, arena) {
    is_flat = !has_sides<map_of<E, Out, S, In...>> && draw.one_in(4);
    extents = is_flat ? Extents{1 + draw.below(5000)} : draw_extents(draw, 1 + int(draw.below(3)));
    has_dense_outputs = is_flat || draw.one_in(2);
    add_outputs(static_cast<several<Out>*>(nullptr));
    (add_input(static_cast<several<In>*>(nullptr)), ...);
    operands.pack(size(), 1, S, extents);
    if (has_sides<Of> && draw.one_in(4)) found = draw.one_in(2) ? 1 : i64{1} << 40;
    operands.words[block_places::chunk] = has_sides<Of> ? reinterpret_cast<u64>(&found) : 0;
    is_flat ? choose_flat() : choose_strided();
  }

  i64 size() const { return product(extents); }

  template <class T>
  void add_input(const several<T>*) {
    operands.template input<T>(extents, is_flat, is_same<T, Out>);
  }
  template <class T, int First, int Axes>
  void add_input(const several<side<T, First, Axes>>*) {
    operands.template side<T>(extents, Axes);
  }

  template <class... T>
  void add_outputs(const several<several<T...>>*) {
    (operands.template output<T>(extents, has_dense_outputs, is_partial<E>), ...);
  }
  template <class T>
  void add_outputs(const several<T>*) {
    operands.template output<T>(extents, has_dense_outputs, is_partial<E>);
  }

  CallOperands call_operands() const {
    return {operands.all, Types::size, operands.outputs(), sides_of<Types>::value,
            operands.call_scalars.data()};
  }

  void choose_flat() {
    what = "flat";
    width = narrow(backend::cuda::vector_width(call_operands()));
    constexpr std::uint32_t sizes[] = {sizeof(In)..., 0};
    const int of_thread =
        width * backend::cuda::vectors_of_thread(stored_by<Of>, width, {sizes, sizeof...(In)});
    variant = FlatMap{width};
    grid = {{backend::cuda::flat_grid(size(), of_thread)}, {backend::cuda::flat_threads}};
  }

  void choose_strided() {
    const CallOperands call = call_operands();
    constexpr bool can_be_any = !has_sides<map_of<E, Out, S, In...>>;
    auto aligned = backend::cuda::map_vectors(call, extents.back());
    auto across = backend::cuda::vectors_across(call, Shape(extents));
    aligned.width = narrow(aligned.width), across.width = narrow(across.width);
    if (can_be_any && across.width > aligned.width && draw.one_in(2)) return choose_across(across);
    auto unaligned = backend::cuda::unaligned_map_vectors(
        call, size() / extents.back(), extents.back(), draw.one_in(2) ? 1 : aligned.width);
    unaligned.width = narrow(unaligned.width);
    if (can_be_any && unaligned.width > aligned.width) {
      what = "unaligned";
      return choose_rows<UnalignedMap>(
          unaligned,
          backend::cuda::unaligned_lead(Types::size_of(0), extents.back(), unaligned.width));
    }
    what = "strided";
    choose_rows<StridedMap>(aligned, backend::cuda::lead_of(call, extents.back()));
  }

  static int narrow(int width) { return narrowed(width, Kernels::inputs, Kernels::widest); }
  i64 drawn_span() { return draw.one_in(2) ? 0 : std::numeric_limits<i64>::max(); }
  /// Every rank is there with one width of the index.
  template <class Map>
  void choose(Map map) {
    variant = map;
    map.index_bytes = 12 - map.index_bytes;
    if (!Kernels::all().contains(variant)) variant = map;
    width = map.width;
  }

  void choose_across(const backend::cuda::VectorsAcross& vectors) {
    what = "across";
    const auto g = backend::cuda::across_geometry(size(), drawn_span(), vectors.width, 1);
    choose(AcrossMap{int(extents.size()), g.wide_index ? 8 : 4, vectors.width, vectors.wide,
                     vectors.flat});
    wide = vectors.wide;
    grid = {{g.grid}, {backend::cuda::flat_threads}};
  }

  template <class Map>
  void choose_rows(const backend::cuda::VectorAccess& vectors, i64 lead) {
    const auto g = backend::cuda::strided_geometry({.columns = extents.back(),
                                                    .rows = size() / extents.back(),
                                                    .span = drawn_span(),
                                                    .lead = lead,
                                                    .operands = Types::count - 1,
                                                    .vector_width = vectors.width},
                                                   draw.of({0, 0, 1, 132}));
    choose(Map{int(extents.size()), g.wide_index ? 8 : 4, g.rows_a_thread, vectors.width,
               vectors.wide});
    rows = g.rows_a_thread, wide = vectors.wide;
    grid = {{g.grid_x, g.grid_y}, {g.block_x, g.block_y}};
    if (draw.one_in(3)) grid.grid.y = 1 + unsigned(draw.below(g.grid_y));  // blocks go on
  }

  MapKernel kernel() const {
    const auto found = Kernels::all().find(variant);
    return found == Kernels::all().end() ? nullptr : found->second;
  }

  void check() {
    const MapKernel run = kernel();
    ASSERT_TRUE(run) << "no " << what << " kernel of width " << width << ", wide " << wide
                     << ", rows " << rows << ", rank " << extents.size();
    Memory expected(arena.all().begin(), arena.all().end());
    const Memory before = expected;
    const i64 unmixed = mixes;
    for (i64 i = 0; i < (found != 0 ? 0 : size()); ++i) {
      operands.store_all(expected, before, i, static_cast<several<E>*>(nullptr),
                         static_cast<several<Out>*>(nullptr));
    }
    const int order = int(draw.below(what == "strided" || what == "unaligned" ? 4 : 2));
    const i64 wanted = mixes - unmixed;
    const auto faults = launch(grid, draw.bits(), [&] { run(operands.words.data(), order); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    const auto of_elements = found != 0 ? std::vector<std::string>{} : arena.faults();
    EXPECT_EQ(of_elements, std::vector<std::string>{});
    EXPECT_TRUE(equal_bytes(arena.all(), expected));
    const bool is_in_parts =
        variant.kernel() == "map_across" || variant.kernel() == "map_unaligned";
    if (is_in_parts) {
      EXPECT_EQ(mixes - unmixed, 2 * wanted) << "of elements alone";
    } else if (found == 0 && variant.kernel() == "map_strided") {  // the last rows several times
      EXPECT_LE(mixes - unmixed, (1 + rows) * wanted) << "of elements that are written alone";
    }
  }

  Draw draw;
  Arena arena;
  Operands operands;
  Extents extents;
  i64 found = 0;  ///< by the check of side operands: then nothing is written
  bool is_flat = false, has_dense_outputs = false;
  std::string what;  ///< the kind of kernel
  Variant variant = FlatMap{1};
  int width = 1, wide = 0, rows = 1;
  Grid grid;
};

template <class M>
std::map<std::string, int> run_cases(int count) {
  std::map<std::string, int> seen;
  for (int seed = 0; seed < count; ++seed) {
    Case<M> c(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", extents " +
                 ::testing::PrintToString(c.extents));
    c.check();
    ++seen[c.what];
    ++seen[c.width > 1 ? "vectors" : "elements"];
    if ((c.wide >> 16 & c.wide) != 0) ++seen["gaps"];
    if ((c.wide >> 16 & ~c.wide) != 0) ++seen[c.what == "across" ? "back across" : "backwards"];
    if (c.rows > 1) ++seen[c.width > 1 ? "rows of vectors" : "rows of elements"];
    if (c.grid.grid.y > 1) ++seen["blocks of rows"];
    if (::testing::Test::HasFailure()) break;
  }
  return seen;
}

}  // namespace quarry::test
