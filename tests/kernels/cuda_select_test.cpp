// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include <quarry/kernels/select.hpp>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/parameter_block.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/plain_loops.hpp"

/// Selections as a GPU makes them, over drawn layouts and shares that are kept, with several blocks
/// at once that run in any order: the elements that plain loops keep, in their order, and nothing
/// else is written.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::KernelCall;
using backend::cuda::Select;
using backend::cuda::Variant;

using SelectKernel = void (*)(const u64* block, const select_marks& marks);
using SelectKernels = std::unordered_map<Variant, SelectKernel, HashOfVariant>;

template <class M, int R, int IndexBytes, int V, unsigned Wide>
void run(const u64* block, const select_marks& marks) {
  typename select_body<M, R, index_of<IndexBytes>, V, Wide>::param_type p;
  std::memcpy(&p, block, sizeof p);
  select<M, R, IndexBytes, V, Wide>(p, marks);
}

/// Whether inputs of these sizes have vectors of so many elements.
template <class... In>
constexpr bool are_vectors(int width, unsigned wide) {
  const std::uint32_t sizes[] = {sizeof(In)...};
  for (std::size_t k = 0; k < sizeof...(In); ++k) {
    const bool is_vector = std::has_single_bit(sizes[k]) && sizes[k] * unsigned(width) <= 16;
    if ((wide >> k & 1) != 0 && !is_vector) return false;
  }
  return true;
}

/// With the widths below V too; a set of inputs that move is never empty.
template <class M, int V, unsigned Wide, class... In>
void add_widths(SelectKernels& all) {
  if constexpr (V == 1 || are_vectors<In...>(V, Wide)) {
    all[Select{1, 4, V, int{V == 1 ? 0 : Wide}}] = run < M, 1, 4, V, V == 1 ? 0 : Wide > ;
    all[Select{2, 4, V, int{V == 1 ? 0 : Wide}}] = run < M, 2, 4, V, V == 1 ? 0 : Wide > ;
  }
  if constexpr (Wide > 1) {
    add_widths<M, V, Wide - 1, In...>(all);
  } else if constexpr (V > 1) {
    add_widths<M, V / 2, V == 2 ? 1 : (1u << sizeof...(In)) - 1, In...>(all);
  }
}

template <class M>
struct Case;
template <class P, class E, class Out, bool InPlace, int S, class... In>
struct Case<select_of<P, E, Out, InPlace, S, In...>> {
  using M = select_of<P, E, Out, InPlace, S, In...>;
  static constexpr int inputs = sizeof...(In);
  static constexpr std::size_t margin = 64;

  static const SelectKernels& kernels() {
    static const SelectKernels found = [] {
      SelectKernels all;
      add_widths<M, 16, (1u << inputs) - 1, In...>(all);
      return all;
    }();
    return found;
  }

  explicit Case(std::uint64_t seed) : draw(seed), call(program_for<M>::value) {
    const i64 most = 32 * select_words;  // of one block
    n = draw.of<i64>({1, 7, 500, most - 1, most, most + 1, 3 * most, 5 * most + 5, 9 * most - 3});
    columns = draw.one_in(2) ? 1 : draw.of<i64>({3, 16, 48});
    n = std::max<i64>(n / columns, 1) * columns;
    call.kept = n;
    if (columns == 1) {
      call.shape = {n};
    } else {
      call.shape = {n / columns, columns};
    }
    call.kept_rank = call.rank();
    call.span = 1 << 24;
    for (auto& operand : call.operands) operand.strides = Strides::filled(call.rank(), 0);
    call.operands[0].data = reinterpret_cast<std::byte*>(&count);
    // of values one behind another, or of a dense output
    values.assign(static_cast<std::size_t>(n + 1) * sizeof(Out) + 2 * margin, std::byte{0xa5});
    std::size_t first = margin;
    if (!InPlace) first += sizeof(Out) * static_cast<std::size_t>(draw.below(2));
    call.operands[1].data = values.data() + first;
    if (InPlace) call.operands[1].strides = dense(sizeof(Out));
    int k = 0;
    (add_input<In>(k++), ...);
    if (S > 0) scalar();
    density = draw.of({0, 1, 30, 50, 97, 100});
    draw_mask();
    expected = values;
    if (columns > 1 && draw.one_in(2)) select_rows();
  }

  /// The mask is the same along rows, which are dense, as far as the program has such a kernel.
  void select_rows() {
    const i64 extent = draw.of<i64>({2, 3, 5, 12, 31, 128});
    if (!call.program->copies || n < 2 * extent) return;
    constexpr auto size = static_cast<i64>(sizeof(Out));
    auto &mask = call.operands[2].strides, &rows = call.operands[3].strides;
    columns = extent;
    n = n / columns * columns;
    call.kept = n;
    call.shape = {n / columns, columns};
    mask = {draw.of<i64>({1, 1, 3}), 0};
    rows = {columns * size, size};
    are_rows = true;
  }

  Strides dense(std::int64_t size) const {
    return columns == 1 ? Strides{size} : Strides{columns * size, size};
  }

  template <class T>
  void add_input(int k) {
    memory.emplace_back(static_cast<std::size_t>(3 * n + 64) * sizeof(T));
    auto& operand = call.operands[static_cast<std::size_t>(k) + 2];
    for (std::size_t i = 0; i + sizeof(T) <= memory.back().size(); i += sizeof(T)) {
      if constexpr (!is_side_operand<T>) draw_element<T>(draw, memory.back().data() + i);
    }
    operand.data = memory.back().data();
    if (is_side_operand<T>) return;
    if (draw.one_in(4)) operand.data += sizeof(T);  // no aligned vectors
    switch (draw.below(4)) {
      case 0:
        operand.strides = dense(2 * sizeof(T));
        break;
      case 1:  // a row stands for all, or an element for a row
        operand.strides = dense(sizeof(T));
        if (columns > 1) operand.strides[static_cast<std::size_t>(draw.below(2))] = 0;
        break;
      default:
        operand.strides = dense(sizeof(T));
    }
  }
  void scalar() {
    const side_axis axis{n, sizeof(Out)};
    std::memcpy(call.scalars.data(), &axis, sizeof axis);
  }
  /// Input 0 is the mask: bytes of which a share is not 0.
  void draw_mask() {
    for (std::byte& byte : memory[0]) byte = std::byte(draw.below(100) < density);
  }

  /// Where element i of operand k is.
  i64 offset(std::size_t k, i64 i) const {
    const Strides& strides = call.operands[k].strides;
    if (columns == 1) return i * strides[0];
    return i / columns * strides[0] + i % columns * strides[1];
  }
  void compute() {
    std::byte* const to = expected.data() + (call.operands[1].data - values.data());
    for (i64 i = 0; i < n; ++i) {
      char* at[inputs];
      i64 none[inputs] = {};
      for (int k = 0; k < inputs; ++k) {
        const auto operand = static_cast<std::size_t>(k) + 2;
        at[k] = reinterpret_cast<char*>(call.operands[operand].data) + offset(operand, i);
      }
      const auto* const words = reinterpret_cast<const u64*>(call.scalars.data());
      const run_context here{at, none, words, 0, i};
      if (!P{}(here)) continue;
      const run_context ranked{at, none, words, 0, kept};
      const Out value = convert<Out>(InPlace ? E{}(ranked) : E{}(here));
      const i64 place = InPlace ? offset(1, i) : kept * static_cast<i64>(sizeof(Out));
      std::memcpy(to + place, &value, sizeof(Out));
      ++kept;
    }
  }

  void check() {
    const backend::cuda::CallOperands operands(call);
    const auto vectors = are_rows ? backend::cuda::VectorAccess{}
                                  : backend::cuda::select_vectors(operands, call.shape);
    const i64 row_bytes = are_rows ? columns * static_cast<i64>(sizeof(Out)) : 0;
    const auto g = backend::cuda::select_geometry({.elements = are_rows ? n / columns : n,
                                                   .span = call.span,
                                                   .vector_width = vectors.width,
                                                   .row_bytes = row_bytes},
                                                  draw.of({1, 4}));
    const Select variant{static_cast<int>(call.rank()), 4, vectors.width, vectors.wide};
    const auto kernel = kernels().find(variant);
    ASSERT_TRUE(kernel != kernels().end()) << "no kernel of width " << vectors.width;
    compute();
    const bool only_counts = draw.one_in(8);
    if (only_counts) {
      call.operands[1].data = nullptr;
      expected = values;
    }
    std::vector<u32> bits(static_cast<std::size_t>(g.words()), 0xa5a5a5a5);
    std::vector<i64> counts(g.blocks, -1);
    const auto block = backend::cuda::parameter_block(call, true, 1);
    const auto launch_pass = [&](select_pass pass) {
      const bool is_small = pass == select_pass::both;
      const select_marks marks{is_small ? nullptr : bits.data(), is_small ? nullptr : counts.data(),
                               g.words_of_warp, pass, are_rows};
      const Grid grid{{g.blocks}, {select_threads}, static_cast<unsigned>(draw.of({1, 2, 3}))};
      const auto faults = launch(grid, draw.bits(), [&] {
        kernel->second(reinterpret_cast<const u64*>(block.data()), marks);
      });
      EXPECT_EQ(faults, std::vector<std::string>{});
    };
    if (g.blocks == 1) {
      launch_pass(select_pass::both);
    } else {
      launch_pass(select_pass::first);
      launch_pass(select_pass::second);
    }
    EXPECT_EQ(count, kept);
    EXPECT_TRUE(values == expected);
    width = vectors.width;
    blocks = g.blocks;
  }

  Draw draw;
  KernelCall call;
  i64 n, columns, count = -1, kept = 0, blocks = 0;
  int density = 0, width = 0;
  bool are_rows = false;
  std::vector<std::byte> values, expected;
  std::vector<std::vector<std::byte>> memory;
};

template <class T>
using masked = select_of<in<bool, 0>, in<T, 1>, T, false, 0, bool, T>;
using positions = select_of<in<bool, 0>, iota<i64>, i64, false, 0, bool>;
/// The predicate's inputs are the values' too.
using large_bytes = select_of<op<greater_op, u8, in<u8, 0>, in<u8, 1>>,
                              op<add_op, u8, in<u8, 0>, in<u8, 1>>, u8, false, 0, u8, u8>;
template <class T>
using in_order = select_of<in<bool, 0>, pick<T, 1, place<index_mode::clip, 0, iota<i64>>>, T, true,
                           1, bool, side<T>>;

template <class M>
class cuda_select : public ::testing::Test {};
using Selections =
    ::testing::Types<masked<u8>, masked<u16>, masked<float>, masked<double>,
                     masked<complex<double>>, masked<record<3, 1>>, masked<record<12, 4>>,
                     masked<record<40, 8>>, positions, large_bytes, in_order<float>, in_order<u8>>;
TYPED_TEST_SUITE(cuda_select, Selections);

TYPED_TEST(cuda_select, keeps_what_plain_loops_keep) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Case<TypeParam> c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(c.n) +
                 " elements, rows of " + std::to_string(c.columns) + ", of 100 " +
                 std::to_string(c.density));
    c.check();
    ++seen[c.width > 1 ? "vectors" : "elements"];
    ++seen[c.blocks > 1 ? "several blocks" : "one block"];
    ++seen[c.columns > 1 ? "rows" : "one row"];
    if (c.are_rows) ++seen["whole rows"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const char* const what : {"elements", "several blocks", "one block", "rows", "one row"}) {
    EXPECT_GT(seen[what], 2) << what;
  }
  EXPECT_EQ(seen["whole rows"] > 2, program_for<TypeParam>::value.copies);
}

}  // namespace
}  // namespace quarry::test
