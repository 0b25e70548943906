// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/grid.hpp"
#include "kernels/drawn_operands.hpp"
#include "kernels/emulated_blocks.hpp"
#include "kernels/plain_loops.hpp"

/// Joins as a GPU makes them, of drawn parts in drawn places: the words of plain loops, and nothing
/// beside them.
namespace quarry::test {
namespace {

using namespace quarry::kernels;
using backend::cuda::Interleave;
using backend::cuda::Join;
using backend::cuda::Variant;

using JoinKernel = void (*)(const params<1, 0, 0>&, const join_parts&);

template <class M, int N>
void run_interleave(const params<1, 0, 0>& p, const join_parts& parts) {
  interleave<M, N>(p, parts);
}
template <class M, int R, int IndexBytes, int Words>
void run(const params<1, 0, 0>& p, const join_parts& parts) {
  join<M, R, IndexBytes, Words>(p, parts);
}

template <class T>
std::unordered_map<Variant, JoinKernel, HashOfVariant> kernels_of() {
  std::unordered_map<Variant, JoinKernel, HashOfVariant> all;
  using M = join_of<T>;
  all[Join{1, 4}] = run<M, 1, 4, 0>;
  all[Join{1, 8}] = run<M, 1, 8, 0>;
  all[Join{2, 4}] = run<M, 2, 4, 0>;
  all[Join{2, 8}] = run<M, 2, 8, 0>;
  all[Join{3, 4}] = run<M, 3, 4, 0>;
  all[Join{3, 8}] = run<M, 3, 8, 0>;
  if constexpr (sizeof(T) <= 8) {
    all[Join{1, 4, 1}] = run<M, 1, 4, 1>;
    all[Join{1, 8, 1}] = run<M, 1, 8, 1>;
    all[Join{1, 4, 2}] = run<M, 1, 4, 2>;
    all[Join{1, 8, 2}] = run<M, 1, 8, 2>;
  }
  if constexpr (sizeof(T) <= 2) {
    all[Interleave{2}] = run_interleave<M, 2>;
    all[Interleave{3}] = run_interleave<M, 3>;
    all[Interleave{5}] = run_interleave<M, 5>;
    all[Interleave{8}] = run_interleave<M, 8>;
  }
  return all;
}

/// Memory of whole 16 bytes, each word of which is another.
struct Memory {
  std::unique_ptr<std::byte[], decltype(&std::free)> bytes;
  std::size_t size;

  Memory(Draw& draw, std::size_t count)
      : bytes(static_cast<std::byte*>(std::aligned_alloc(16, (count + 15) / 16 * 16)), std::free),
        size((count + 15) / 16 * 16) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(draw.bits());
  }
};

template <class T>
class cuda_join : public ::testing::Test {};
using Words = ::testing::Types<u8, u16, u32, u64, record<16, 16>>;
TYPED_TEST_SUITE(cuda_join, Words);

TYPED_TEST(cuda_join, has_the_words_of_plain_loops) {
  using T = TypeParam;
  constexpr i64 size = sizeof(T);
  const auto kernels = kernels_of<T>();
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    join_parts parts{};
    parts.columns.extent = 0;
    const bool can_be_short = draw.one_in(3);  // one axis that is not rolled
    const bool has_filled = draw.one_in(2);
    parts.axes = static_cast<i32>(can_be_short ? 1 : 1 + draw.below(3));
    parts.parts = static_cast<i32>(1 + draw.below(draw.of({2, 5, most_joined_parts})));
    for (auto& value : parts.value) {  // of whole words
      T word;
      const u64 bits[] = {draw.bits(), draw.bits()};
      std::memcpy(static_cast<void*>(&word), bits, sizeof word);
      for (i64 at = 0; at < 16; at += size) {
        std::memcpy(reinterpret_cast<char*>(value) + at, static_cast<void*>(&word), sizeof word);
      }
    }
    i64 rows = 1;
    for (int d = 0; d < parts.axes; ++d) {
      joined_axis& axis = parts.axis[d];
      axis.result.extent = axis.size = 1 + draw.below(can_be_short ? 200 : 6);
      if (!can_be_short && draw.one_in(3)) {
        axis.wraps = 1;
        axis.shift = draw.below(axis.size);
      } else if (has_filled && draw.one_in(2)) {
        const i64 before = draw.below(3), behind = draw.below(3);
        axis.shift = before, axis.result.extent += before + behind;
        axis.value = static_cast<i32>(2 * d);
      }
      axis.result = joined_extent::of(axis.result.extent);
      rows *= axis.result.extent;
    }
    const i64 longest = draw.of<i64>({2, 9, 70});
    std::vector<Memory> memories;
    std::vector<i64> starts, begins;  // of a part: the byte of its first word, its first column
    for (int k = 0; k < parts.parts; ++k) {
      joined_part& part = parts.part[k];
      const i64 begin = parts.columns.extent, count = 1 + draw.below(longest);
      begins.push_back(begin);
      part.end = begin + count;
      parts.columns = joined_extent::of(part.end);
      starts.push_back(0);
      memories.emplace_back(draw, 0);
      if (has_filled && draw.one_in(5)) {
        part.value = static_cast<i32>(draw.below(most_joined_values));
        continue;
      }
      i64 pitch = (count + draw.below(3)) * size, lowest = 0, reach = count * size;
      for (int d = parts.axes; d-- > 0;) {
        const i64 rows_of_part = parts.axis[d].size;
        const bool is_back = draw.one_in(4);
        part.pitch[d] = is_back ? -pitch : pitch;
        (is_back ? lowest : reach) += (rows_of_part - 1) * part.pitch[d];
        pitch *= rows_of_part;
      }
      const i64 before = draw.below(16) * size;
      memories.back() = Memory(draw, static_cast<std::size_t>(before + reach - lowest));
      starts.back() = before - lowest;
      part.data = reinterpret_cast<u64>(memories.back().bytes.get()) +
                  static_cast<u64>(starts.back() - begin * size);
    }

    const i64 n = rows * parts.columns.extent;
    constexpr i64 guard = 64;
    Memory result(draw, static_cast<std::size_t>(n * size + 2 * guard));
    std::vector<std::byte> expected(result.bytes.get(), result.bytes.get() + result.size);
    for (i64 i = 0; i < n; ++i) {
      const i64 column = i % parts.columns.extent;
      int k = 0;
      while (column >= parts.part[k].end) ++k;
      const joined_part& part = parts.part[k];
      i64 row = i / parts.columns.extent, offset = starts[static_cast<std::size_t>(k)], value = -1;
      for (int d = parts.axes; d-- > 0;) {
        const joined_axis& axis = parts.axis[d];
        const i64 index = row % axis.result.extent;
        row /= axis.result.extent;
        const i64 from =
            axis.wraps != 0 ? (index - axis.shift + axis.size) % axis.size : index - axis.shift;
        const bool is_outside = from < 0 || from >= axis.size;
        if (is_outside && value < 0) value = from < 0 ? axis.value : axis.value + 1;
        offset += from * part.pitch[d];
      }
      if (part.data == 0) value = part.value;
      offset += (column - begins[static_cast<std::size_t>(k)]) * size;
      const void* const from = value >= 0
                                   ? static_cast<const void*>(parts.value[value])
                                   : memories[static_cast<std::size_t>(k)].bytes.get() + offset;
      std::memcpy(expected.data() + guard + i * size, from, static_cast<std::size_t>(size));
    }

    const bool is_short = sizeof(T) <= 8 && can_be_short;
    const int words = !is_short ? 0 : has_filled ? 2 : 1;
    const Variant variant = Join{parts.axes, draw.one_in(2) ? 8 : 4, words};
    params<1, 0, 0> p{};
    p.word[0] = static_cast<u64>(n);
    p.word[3] = reinterpret_cast<u64>(result.bytes.get() + guard);
    const auto blocks = static_cast<unsigned>(backend::cuda::divide_up(n * size, 16 * 256));
    const auto faults = launch({{blocks}, {256}}, seed, [&] { kernels.at(variant)(p, parts); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    EXPECT_TRUE(equal_bytes({result.bytes.get(), result.size}, expected));
    ++seen[words == 2 ? "word by word, filled" : words == 1 ? "word by word" : "vectors"];
    if (blocks > 1) ++seen["several blocks"];
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(seen["vectors"], 50);
  EXPECT_GT(seen["several blocks"], 20);
  for (const char* const what : {"word by word", "word by word, filled"}) {
    EXPECT_GT(seen[what], sizeof(T) <= 8 ? 20 : -1);
  }
}

template <class T>
class cuda_interleave : public ::testing::Test {};
using SmallWords = ::testing::Types<u8, u16>;
TYPED_TEST_SUITE(cuda_interleave, SmallWords);

TYPED_TEST(cuda_interleave, has_a_word_of_each_part_in_turn) {
  using T = TypeParam;
  constexpr i64 size = sizeof(T), of_warp = 32 * 16 / size;
  const auto kernels = kernels_of<T>();
  int several_blocks = 0, unaligned = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    const i64 count = draw.of<i64>({2, 3, 5, 8});
    const i64 rows = draw.one_in(4) ? of_warp * (1 + draw.below(9)) : 1 + draw.below(9 * of_warp);
    join_parts parts{};
    parts.columns = joined_extent::of(count);
    parts.axes = 1, parts.parts = static_cast<i32>(count);
    parts.axis[0] = {joined_extent::of(rows), 0, rows, 0, 0};
    std::vector<Memory> memories;
    std::vector<i64> begins;
    for (i64 k = 0; k < count; ++k) {
      begins.push_back(draw.one_in(2) ? 0 : draw.below(16) * size);
      unaligned += begins.back() % 16 != 0 ? 1 : 0;
      const Memory& memory =
          memories.emplace_back(draw, static_cast<std::size_t>(begins.back() + rows * size));
      joined_part& part = parts.part[k];
      part.end = k + 1, part.pitch[0] = size;
      part.data =
          reinterpret_cast<u64>(memory.bytes.get()) + static_cast<u64>(begins.back() - k * size);
    }
    constexpr i64 guard = 64;
    const i64 n = rows * count;
    Memory result(draw, static_cast<std::size_t>(n * size + 2 * guard));
    std::vector<std::byte> expected(result.bytes.get(), result.bytes.get() + result.size);
    for (i64 i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i % count);
      std::memcpy(expected.data() + guard + i * size,
                  memories[k].bytes.get() + begins[k] + i / count * size, sizeof(T));
    }
    params<1, 0, 0> p{};
    p.word[0] = static_cast<u64>(n);
    p.word[3] = reinterpret_cast<u64>(result.bytes.get() + guard);
    const auto blocks = static_cast<unsigned>(backend::cuda::divide_up(rows * size, 16 * 256));
    several_blocks += blocks > 1 ? 1 : 0;
    const Variant variant = Interleave{static_cast<int>(count)};
    const auto faults = launch({{blocks}, {256}}, seed, [&] { kernels.at(variant)(p, parts); });
    EXPECT_EQ(faults, std::vector<std::string>{});
    EXPECT_TRUE(equal_bytes({result.bytes.get(), result.size}, expected));
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(several_blocks, 5);
  EXPECT_GT(unaligned, 20);
}

}  // namespace
}  // namespace quarry::test
