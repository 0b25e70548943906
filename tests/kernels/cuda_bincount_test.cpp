// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/geometry.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/plain_loops.hpp"

/// The counts as a GPU takes them, over drawn layouts and numbers of bins: those of plain loops,
/// every element counted once, nothing else touched.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::cuda::Bincount;
using backend::cuda::Variant;

using BincountKernel = void (*)(const u64* words);
using BincountKernels = std::unordered_map<Variant, BincountKernel, HashOfVariant>;

template <class M, int V, unsigned Wide, bool IsPrivate>
void run(const u64* words) {
  typename bincount_body<M, V, Wide>::param_type p;
  std::memcpy(&p, words, sizeof p);
  IsPrivate ? bincount_private<M, V, Wide>(p) : bincount_direct<M, V, Wide>(p);
}

/// With the widths below V too; a set of inputs that move is never empty.
template <class M, unsigned AllWide, int V, unsigned Wide>
void add_widths(BincountKernels& all) {
  all[Bincount{true, V, int{Wide}}] = run<M, V, Wide, true>;
  all[Bincount{false, V, int{Wide}}] = run<M, V, Wide, false>;
  if constexpr (Wide > 1) {
    add_widths<M, AllWide, V, Wide - 1>(all);
  } else if constexpr (V > 2) {
    add_widths<M, AllWide, V / 2, AllWide>(all);
  } else if constexpr (V == 2) {
    add_widths<M, AllWide, 1, 0>(all);
  }
}

/// One count: its memory, parameter block, variant and geometry.
template <class M>
struct Case;
template <class E, int S, class... In>
struct Case<bincount_of<E, S, In...>> {
  using M = bincount_of<E, S, In...>;
  static constexpr std::uint32_t sizes[] = {sizeof(i64), sizeof(In)...};

  static const BincountKernels& kernels() {
    static const BincountKernels found = [] {
      BincountKernels all;
      add_widths<M, (1u << sizeof...(In)) - 1, 16 / std::max({sizeof(In)...}),
                 (1u << sizeof...(In)) - 1>(all);
      return all;
    }();
    return found;
  }

  explicit Case(std::uint64_t seed) : draw(seed), arena(seed), operands(draw, arena) {
    n = 1 + draw.below(draw.of({3, 700, 9000, 40'000}));
    bins = draw.of<i64>({1, 2, 33, 200, 700, 12'288, 12'289});
    const Extents places = {1, n};  // nothing is kept
    operands.template output<i64>({bins}, true);
    (operands.template input<In>(places, draw.one_in(2), false), ...);
    operands.pack(1, n, S, places);
    operands.words[3 + sizeof...(In) + 1 + 2 * (S - 1)] = u64(bins);
    const auto vectors = backend::cuda::aligned_vectors({operands.all, sizes, 1});
    geometry = backend::cuda::bincount_geometry(
        {.elements = n, .bins = bins, .vector_width = vectors.width}, draw.of({0, 1, 4}));
    operands.words[2] = u64(geometry.chunk);
    variant = {geometry.is_private, vectors.width, vectors.wide};
  }

  void check() {
    const auto run = kernels().find(variant);
    ASSERT_TRUE(run != kernels().end()) << "no kernel of width " << variant.width;
    Memory expected(arena.all().begin(), arena.all().end());
    const Memory before = expected;
    auto* const counts = reinterpret_cast<i64*>(expected.data() + operands.place(0, 0));
    for (i64 i = 0; i < n; ++i) {
      const u64 bin = convert<u64>(operands.template value<E>(before, i, i));
      if (bin < u64(bins)) ++counts[bin];
    }
    const Grid grid{{geometry.blocks}, {backend::cuda::bincount_threads}};
    const auto faults = launch(grid, draw.bits(), [&] { run->second(operands.words.data()); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    EXPECT_EQ(arena.faults(), std::vector<std::string>{});
    EXPECT_TRUE(equal_bytes(arena.all(), expected));
  }

  Draw draw;
  Arena arena;
  Operands operands;
  i64 n, bins;
  Bincount variant{};
  backend::cuda::BincountGeometry geometry{};
};

/// Elements of which about half have a bin, also of negative ones; positions; a sum of two.
template <class T>
using some = bincount_of<op<remainder_op, T, in<T, 0>, cast<T, val<u8, 0>>>, 2, T>;
using positions = bincount_of<op<add_op, i64, iota<i64>, in<i8, 0>>, 1, i8>;
using sums = bincount_of<op<add_op, i64, cast<i64, in<u8, 0>>, cast<i64, in<i16, 1>>>, 1, u8, i16>;
/// All in one bin, and in two.
using truths = bincount_of<in<bool, 0>, 1, bool>;

template <class M>
class cuda_bincount : public ::testing::Test {};
using Counts = ::testing::Types<some<i8>, some<i32>, some<u64>, positions, sums, truths>;
TYPED_TEST_SUITE(cuda_bincount, Counts);

TYPED_TEST(cuda_bincount, counts_what_plain_loops_count) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Case<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(c.n) + " elements, " +
                 std::to_string(c.bins) + " bins");
    c.check();
    ++seen[c.geometry.is_private ? "private" : "direct"];
    ++seen[c.variant.width > 1 ? "vectors" : "elements"];
    if (c.geometry.blocks > 1) ++seen["several blocks"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const auto& [what, count] : seen) this->RecordProperty(what, count);
  for (const char* const what : {"private", "direct", "vectors", "elements", "several blocks"}) {
    EXPECT_GT(seen[what], 5) << what;
  }
}

}  // namespace
}  // namespace quarry::test
