// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/row_geometry.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/plain_loops.hpp"

/// Row programs as a GPU runs them, over drawn layouts, lengths of rows and splits: every element
/// has a share in its row, its result has the whole row, and nothing else is touched.
namespace quarry::test {

/// A sum over elements that no other set of elements has.
struct row_sum {
  kernels::u64 sum;
  kernels::i64 count;
};

}  // namespace quarry::test

namespace quarry::kernels {
template <>
struct value_of<test::row_sum> {
  using type = test::watched<8>;
};
}  // namespace quarry::kernels

namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::cuda::RowParts;
using backend::cuda::Rows;
using backend::cuda::Variant;
using Mixed = watched<8>;

struct sum_rows {
  template <class Acc>
  static Acc identity() {
    return {0, 0};
  }
  template <std::size_t N>
  static void take_all(row_sum& a, const Mixed (&v)[N], int) {
    for (const Mixed& x : v) a = combine(a, {mix<Mixed>::number(x), 1});
  }
  static row_sum combine(row_sum a, row_sum b) { return {a.sum + b.sum, a.count + b.count}; }
};
struct gather_rows {
  using reducer = sum_rows;
  using accumulator = row_sum;
  using second = u64;
  using total = row_total<Mixed, u64>;
  template <class C>
  static total of(row_sum a, const C& c) {
    return {mix<Mixed>()(a.sum, c.count(), c.template scalar<u64, 0>()), u64(a.count)};
  }
  template <class X, class A, class B>
  using element = call<mix<Mixed>, X, A, B>;
};

constexpr float no_claim = 1234567;  // a result that is not compared
using Mixeds = std::vector<Mixed>;

/// The results of one row, by the formula. The scalar is the call's first.
Mixeds plain(gather_rows, const Mixeds& row, const u64* scalar) {
  u64 sum = 0;
  for (const Mixed& x : row) sum += mix<Mixed>::number(x);
  const Mixed first = mix<Mixed>()(sum, i64(row.size()), *scalar);
  Mixeds results;
  for (const Mixed& x : row) results.push_back(mix<Mixed>()(x, first, u64(row.size())));
  return results;
}
std::vector<double> plain(softmax_of<double>, const std::vector<double>& row, const u64*) {
  double largest = -INFINITY, sum = 0;
  for (const double x : row) largest = std::isnan(x) || x > largest ? x : largest;
  for (const double x : row) sum += std::exp(x - largest);
  std::vector<double> results;
  for (const double x : row) results.push_back(std::exp(x - largest) / sum);
  return results;
}
std::vector<float> plain(standardise_of<float, 0>, const std::vector<float>& row,
                         const u64* scalar) {
  double mean = 0, squares = 0;
  float divisor;
  std::memcpy(&divisor, scalar, sizeof divisor);
  if (std::ranges::all_of(row, [&](float x) { return x == row[0]; })) {
    return std::vector<float>(row.size(), no_claim);  // a deviation of rounding errors
  }
  for (const float x : row) mean += double(x) / double(row.size());
  for (const float x : row) squares += (x - mean) * (x - mean);
  std::vector<float> results;
  for (const float x : row) results.push_back(float((x - mean) / std::sqrt(squares / divisor)));
  return results;
}
bool is_near(const Mixed& got, const Mixed& want) {
  return std::ranges::equal(got.bytes, want.bytes);
}
template <class T>
bool is_near(T got, T want) {
  const T bound = sizeof(T) == 8 ? T(1e-13) : T(1e-4);
  return want == T(no_claim) || (got != got && want != want) ||
         std::abs(got - want) <= bound * (std::abs(want) + T(1e-3));
}

/// Some elements as values that are none, or without bounds.
struct with_specials {
  double operator()(double x) const {
    const int i = static_cast<int>(x);
    if (i == 405) return NAN;
    if (i == -307) return INFINITY;
    return i % 3 == 1 ? -INFINITY : x / 50;
  }
};

using RowKernel = void (*)(const u64* words, void* partial);
using RowKernels = std::unordered_map<Variant, RowKernel, HashOfVariant>;

template <class M, int Rk, int Bytes, int Along, int V, unsigned Wide>
auto parameters(const u64* words) {
  rows_params<M, Rk, Bytes, Along, V, Wide> p;
  std::memcpy(&p, words, sizeof p);
  return p;
}

/// With the counts below, too.
template <class M, int Rk, int Bytes, int Along, int V, unsigned Wide, int Count>
void add_counts(RowKernels& all) {
  all[Rows{Rk, Bytes, Along == 1, V, int{Wide}, Count}] = [](const u64* words, void*) {
    rows<M, Rk, Bytes, Along, V, Wide, Count>(parameters<M, Rk, Bytes, Along, V, Wide>(words));
  };
  if constexpr (Count > 0) add_counts<M, Rk, Bytes, Along, V, Wide, Count - 1>(all);
}
template <class M, int Rk, int Bytes, int Along, int V, unsigned Wide, int Most>
void add(RowKernels& all) {
  add_counts<M, Rk, Bytes, Along, V, Wide, Most>(all);
  all[RowParts{true, Rk, Bytes, Along == 1, V, int{Wide}}] = [](const u64* words, void* partial) {
    rows_partial<M, Rk, Bytes, Along, V, Wide>(parameters<M, Rk, Bytes, Along, V, Wide>(words),
                                               partial);
  };
  all[RowParts{false, Rk, Bytes, Along == 1, V, int{Wide}}] = [](const u64* words, void* partial) {
    rows_apply<M, Rk, Bytes, Along, V, Wide>(parameters<M, Rk, Bytes, Along, V, Wide>(words),
                                             partial);
  };
}
/// With the widths below V too.
template <class M, unsigned AllWide, int V, unsigned Wide, int Most>
void add_widths(RowKernels& all) {
  add<M, 1, 4, 1, V, Wide, Most>(all);
  add<M, 2, 8, 1, V, Wide, Most>(all);
  add<M, 1, 8, 0, V, Wide, Most>(all);
  add<M, 2, 4, 0, V, Wide, Most>(all);
  if constexpr (V > 1 && Wide > 0)
    add_widths<M, AllWide, V, Wide - 1, Most>(all);
  else if constexpr (V > 1)
    add_widths<M, AllWide, V / 2, (V == 2 ? 0 : AllWide), 2 * Most>(all);
}

/// One call: its memory, parameter block, variant and geometry.
template <class M>
struct Case;
template <class E, class Program, class Out, int S, class... In>
struct Case<rows_of<E, Program, Out, S, In...>> {
  using M = rows_of<E, Program, Out, S, In...>;
  static constexpr std::uint32_t sizes[] = {sizeof(Out), sizeof(In)...};
  static constexpr int widest = 16 / int(std::max({sizeof(Out), sizeof(In)...}));
  static constexpr unsigned all_wide = (1u << sizeof...(In)) - 1;

  static const RowKernels& kernels() {
    static const RowKernels found = [] {
      RowKernels all;
      constexpr int most = 128 / int(widest * sizeof(Out));
      add_widths<M, all_wide, widest, all_wide, most>(all);
      return all;
    }();
    return found;
  }

  explicit Case(std::uint64_t seed) : draw(seed), arena(seed), operands(draw, arena) {
    n = 1 + draw.below(draw.of({3, 40, 300, 1500, 4000}));
    if (draw.one_in(2)) n = (n + 7) / 8 * 8;
    kept = {1 + draw.below(draw.of({2, 30, 400}))};
    if (draw.one_in(2)) kept[0] = (kept[0] + 3) / 4 * 4;
    if (draw.one_in(2)) kept.insert(kept.begin(), 1 + draw.below(4));
    while (product(kept) * n > 6000 && product(kept) > 1) {
      auto& longest = *std::ranges::max_element(kept);
      longest = (longest + 1) / 2;
    }
    whole = kept;
    whole.push_back(n);
    operands.template output<Out>(whole, !draw.one_in(3));
    (operands.template input<In>(whole, !draw.one_in(3), false), ...);
    operands.pack(product(kept), n, S, whole);
    if constexpr (is_same<Out, float>) {  // degrees of freedom
      const auto divisor = static_cast<float>(n);
      std::memcpy(&operands.words[4 + sizeof...(In)], &divisor, sizeof divisor);
    }
    choose();
  }

  void choose() {
    const bool is_along = draw.one_in(2);
    vectors = backend::cuda::row_program_vectors({operands.all, sizes, 1}, kept.size(), is_along,
                                                 is_along ? n : kept.back());
    geometry = backend::cuda::row_geometry({.rows = product(kept),
                                            .elements = n,
                                            .span = 0,
                                            .along_reduced = is_along,
                                            .vector_width = vectors.width,
                                            .itemsize = sizeof(Out)},
                                           draw.of({1, 1, 132}));
    along = is_along;
    if (draw.one_in(3)) be_long();
    operands.words[2] = u64(geometry.chunk);
    bytes = (kept.size() == 1) == along ? 4 : 8;  // each rank is there with one width of the index
  }

  /// The same blocks for a row that is longer than their registers hold.
  void be_long() {
    const i64 step = along ? geometry.block_x * vectors.width : geometry.block_y;
    const i64 wanted = 1 + draw.below(4);
    geometry.count = 0;
    geometry.chunk = ((n + wanted - 1) / wanted + step - 1) / step * step;
    geometry.splits = (n + geometry.chunk - 1) / geometry.chunk;
  }

  auto expected_memory() const {
    Memory expected(arena.all().begin(), arena.all().end());
    const Memory before = expected;
    for (i64 k = 0; k < product(kept); ++k) {
      std::vector<decltype(operands.template value<E>(before, 0, 0))> row;
      for (i64 i = 0; i < n; ++i) row.push_back(operands.template value<E>(before, k * n + i, i));
      const auto results = plain(Program{}, row, operands.scalars());
      for (i64 i = 0; i < n; ++i) {
        std::memcpy(expected.data() + operands.place(0, k * n + i),
                    static_cast<const void*>(&results[std::size_t(i)]), sizeof(Out));
      }
    }
    return expected;
  }

  void launch_one(const Variant& variant, void* partial) {
    const auto run = kernels().find(variant);
    ASSERT_TRUE(run != kernels().end())
        << "no kernel of width " << vectors.width << " and count " << geometry.count;
    const Grid grid{{geometry.grid_x, unsigned(geometry.splits)},
                    {geometry.block_x, geometry.block_y}};
    const auto faults =
        launch(grid, draw.bits(), [&] { run->second(operands.words.data(), partial); });
    EXPECT_EQ(faults, std::vector<std::string>{});
  }

  void check() {
    const Memory expected = expected_memory();
    const int rank = int(kept.size());
    if (geometry.splits == 1) {
      launch_one(Rows{rank, bytes, along, vectors.width, vectors.wide, geometry.count}, nullptr);
    } else {
      const auto count = std::size_t(geometry.splits * product(kept));
      std::vector<typename Program::accumulator> partial(count + 1);
      std::memset(static_cast<void*>(partial.data()), 0x5a, sizeof(partial[0]) * (count + 1));
      launch_one(RowParts{true, rank, bytes, along, vectors.width, vectors.wide}, partial.data());
      const auto* const guard = reinterpret_cast<const unsigned char*>(partial.data() + count);
      EXPECT_EQ(*guard, 0x5a);
      launch_one(RowParts{false, rank, bytes, along, vectors.width, vectors.wide}, partial.data());
    }
    EXPECT_EQ(arena.faults(), std::vector<std::string>{});
    accept_near(expected);
    EXPECT_TRUE(equal_bytes(arena.all(), expected));
  }
  void accept_near(const Memory& expected) {
    for (i64 i = 0; i < product(whole); ++i) {
      Out got, want;
      std::byte* const at = arena.begin() + operands.place(0, i);
      std::memcpy(static_cast<void*>(&got), at, sizeof(Out));
      std::memcpy(static_cast<void*>(&want), expected.data() + operands.place(0, i), sizeof(Out));
      if (is_near(got, want)) std::memcpy(at, static_cast<const void*>(&want), sizeof(Out));
    }
  }

  Draw draw;
  Arena arena;
  Operands operands;
  i64 n;
  Extents kept, whole;
  bool along = false;
  int bytes = 4;
  backend::cuda::VectorAccess vectors;
  backend::cuda::RowGeometry geometry{};
};

template <class M>
class cuda_rows : public ::testing::Test {};
using Programs = ::testing::Types<
    rows_of<call<mix<Mixed>, iota<i64>, in<Mixed, 0>, in<watched<4>, 1>>, gather_rows, Mixed, 1,
            Mixed, watched<4>>,
    rows_of<call<with_specials, in<double, 0>>, softmax_of<double>, double, 1, double>,
    rows_of<in<float, 0>, standardise_of<float, 0>, float, 1, float>>;
TYPED_TEST_SUITE(cuda_rows, Programs);

TYPED_TEST(cuda_rows, give_every_element_its_whole_row) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Case<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", rows " + ::testing::PrintToString(c.kept) +
                 " of " + std::to_string(c.n));
    c.check();
    ++seen[c.geometry.splits > 1 ? "split" : c.geometry.count > 0 ? "kept" : "read twice"];
    ++seen[c.along ? "along" : "across"];
    ++seen[c.vectors.width > 1 ? "vectors" : "elements"];
    if (c.geometry.count > 1) ++seen["several accesses"];
    if (c.along ? c.geometry.block_x > 32 : c.geometry.block_y > 1) ++seen["several warps"];
    if (c.geometry.grid_x > 1) ++seen["several blocks"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const auto& [what, count] : seen) this->RecordProperty(what, count);
  for (const char* const what :
       {"split", "kept", "read twice", "along", "across", "vectors", "elements", "several accesses",
        "several warps", "several blocks"}) {
    EXPECT_GT(seen[what], 1) << what;
  }
}

}  // namespace
}  // namespace quarry::test
