// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/drawn_operands.hpp"
#include "kernels/guarded_memory.hpp"

/// Vectors that begin at any element: the words that have them are read, and no others.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

/// Copies rows to memory that begins `ahead` elements behind a vector.
template <class T, int V, unsigned Wide>
void copy_unaligned(const char* from, i64 rows, i64 columns, i64 ahead) {
  using M = map_of<in<T, 0>, T, 0, T>;
  constexpr i64 size = sizeof(T), apart = size * ((Wide >> 16) != 0 ? 2 : 1);
  alignas(128) static char to[2 * GuardedMemory::page];
  const auto word = [](const void* at) {
    return static_cast<u64>(reinterpret_cast<uintptr_t>(at));
  };
  const std::vector<u64> words{u64(rows * columns),
                               1,
                               1,
                               word(to + ahead * size),
                               word(from),
                               u64(rows),
                               u64(columns),
                               u64(columns * size),
                               u64(size),
                               u64(columns * apart),
                               u64(apart)};
  using P = typename map_unaligned_body<M, 2, i64, 1, V, Wide>::param_type;
  P p;
  std::memcpy(&p, words.data(), sizeof(P));
  const auto blocks = unsigned(columns + 128) / (V * 32) + 1;
  launch({{blocks, unsigned(rows) / 4 + 1}, {32, 4}}, 1,
         [&] { map_unaligned<M, 2, 8, 1, V, Wide>(p, 0); });
  for (i64 i = 0; i < rows * columns; ++i) {
    ASSERT_EQ(std::memcmp(to + (ahead + i) * size, from + i * apart, sizeof(T)), 0) << i;
  }
}

TEST(cuda_map_unaligned, reads_no_words_without_elements_of_a_row) {
  const GuardedMemory page;
  std::iota(page.begin(), page.end(), char{3});
  Draw draw(7);
  for (int i = 0; i < 300; ++i) {
    const i64 rows = 1 + draw.below(3), columns = 1 + draw.below(300), n = rows * columns;
    const i64 ahead = draw.below(16);
    copy_unaligned<u8, 16, 1>(page.begin(), rows, columns, ahead);
    copy_unaligned<u8, 16, 1>(page.end() - n, rows, columns, ahead);
    copy_unaligned<u16, 4, 0x10001>(page.begin(), rows, columns, ahead);
    copy_unaligned<u16, 4, 0x10001>(page.end() - 4 * n + 2, rows, columns, ahead);
    copy_unaligned<u32, 4, 1>(page.end() - 4 * n, rows, columns, ahead);
    copy_unaligned<u8, 2, 1>(page.end() - n, rows, columns, ahead);
  }
}

/// Rows of a table that ends or begins with a page, at positions that are the same along a row or,
/// with PositionOfEach, are not.
template <class T, int V, bool PositionOfEach>
void gather_unaligned(const GuardedMemory& page, Draw& draw) {
  using At = place<index_mode::from_end, 0, in<i64, 0>>;
  using M = map_of<pick<T, 1, At>, T, 1, i64, side<T>>;
  constexpr unsigned wide = PositionOfEach ? 3 : 2;
  const i64 size = sizeof(T), columns = 1 + draw.below(draw.of({5, 60, 300})), rows = 2;
  const i64 extent = 1 + draw.below(3), n = extent * columns * size, ahead = draw.below(16);
  const char* const table = draw.below(2) == 0 ? page.begin() : page.end() - n;
  std::vector<i64> positions(std::size_t(rows * columns));
  for (i64& p : positions) p = draw.below(2 * extent) - extent;
  alignas(128) static char to[2 * GuardedMemory::page];
  std::memset(to, 99, sizeof to);
  const i64 found = draw.one_in(5) ? i64{1} << draw.below(60) : 0;  // by the check of the positions
  const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
  const i64 step = PositionOfEach ? 8 : 0, apart = PositionOfEach ? 8 * columns : 8;
  const std::vector<u64> words{u64(rows * columns),
                               1,
                               word(&found),
                               word(to + ahead * size),
                               word(positions.data()),
                               word(table),
                               u64(extent),
                               u64(columns * size),
                               u64(rows),
                               u64(columns),
                               u64(columns * size),
                               u64(size),
                               u64(apart),
                               u64(step),
                               0,
                               u64(size)};
  using P = typename map_unaligned_body<M, 2, i64, 2, V, wide>::param_type;
  P p;
  ASSERT_EQ(sizeof(P), words.size() * sizeof(u64));
  std::memcpy(&p, words.data(), sizeof(P));
  const auto faults = launch({{unsigned(columns + 128) / (V * 32) + 1, 2}, {32, 1}}, 1,
                             [&] { map_unaligned<M, 2, 8, 2, V, wide>(p, 0); });
  ASSERT_EQ(faults, std::vector<std::string>{});
  if (found != 0) {
    ASSERT_EQ(std::count(std::begin(to), std::end(to), 99), std::ssize(to));
  }
  for (i64 i = 0; found == 0 && i < rows * columns; ++i) {
    const i64 at = positions[std::size_t(PositionOfEach ? i : i / columns)];
    const char* const row = table + (at < 0 ? at + extent : at) * columns * size;
    ASSERT_EQ(std::memcmp(to + (ahead + i) * size, row + i % columns * size, sizeof(T)), 0) << i;
  }
}

TEST(cuda_map_unaligned, reads_rows_where_positions_say) {
  const GuardedMemory page;
  std::iota(page.begin(), page.end(), char{3});
  Draw draw(8);
  for (int i = 0; i < 300; ++i) {
    gather_unaligned<u8, 16, false>(page, draw);
    gather_unaligned<u8, 16, true>(page, draw);
    gather_unaligned<u8, 2, false>(page, draw);
    gather_unaligned<u16, 8, false>(page, draw);
    gather_unaligned<u32, 4, false>(page, draw);
    gather_unaligned<u32, 2, true>(page, draw);
  }
}

/// Rows of a table that ends or begins with a page, one behind the other, those at positions that
/// say so; with Guarded only where these are not negative.
template <class T, int V, bool Guarded>
void gather_across(const GuardedMemory& page, Draw& draw) {
  using Row = in<i64, 0>;
  using Pick = pick<T, 1, place<index_mode::from_end, 0, Row>>;
  using Kept = guarded<op<greater_equal_op, i64, Row, val<i64, 1>>, Pick>;
  using M = std::conditional_t<Guarded, map_of<Kept, T, 2, i64, side<T>>,
                               map_of<Pick, T, 1, i64, side<T>>>;
  const i64 size = sizeof(T), rows = 1 + draw.below(9);
  const i64 columns = V + draw.below(draw.of({3, 30})), n = rows * columns;
  const i64 extent = 1 + draw.below(3), bytes = extent * columns * size;
  const char* const table = draw.below(2) == 0 ? page.begin() : page.end() - bytes;
  std::vector<i64> positions(static_cast<std::size_t>(rows));
  for (i64& p : positions) p = draw.below(2 * extent) - extent;
  alignas(16) static char to[2 * GuardedMemory::page];
  std::memset(to, 99, sizeof to);
  std::vector<char> expected(std::begin(to), std::end(to));
  const i64 found = draw.one_in(5) ? i64{1} << draw.below(60) : 0;
  for (i64 i = 0; found == 0 && i < n; ++i) {
    const i64 at = positions[std::size_t(i / columns)];
    if (Guarded && at < 0) continue;
    const char* const row = table + (at < 0 ? at + extent : at) * columns * size;
    std::memcpy(expected.data() + i * size, row + i % columns * size, sizeof(T));
  }
  const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
  std::vector<u64> words{
      u64(n),      1,           word(&found),       word(to), word(positions.data()),
      word(table), u64(extent), u64(columns * size)};
  if (Guarded) words.insert(words.end(), {0, 0});
  for (const i64 w : {rows, columns, columns * size, size, i64{8}, i64{0}, i64{0}, size}) {
    words.push_back(u64(w));
  }
  using P = typename map_across_body<M, 2, i32, V, 2, 0>::param_type;
  P p;
  ASSERT_EQ(sizeof(P), words.size() * sizeof(u64));
  std::memcpy(&p, words.data(), sizeof(P));
  const int backwards = int(draw.below(2));
  const auto faults = launch({{(unsigned(n) - 1) / (V * 32 * across_copies) + 1}, {32}}, 1,
                             [&] { map_across<M, 2, 4, V, 2, 0>(p, backwards); });
  ASSERT_EQ(faults, std::vector<std::string>{});
  ASSERT_TRUE(std::equal(expected.begin(), expected.end(), std::begin(to)));
}

/// The same of each of several tables, as take() along the second of three axes.
template <class T, int V>
void gather_across_tables(const GuardedMemory& page, Draw& draw) {
  using M = map_of<pick<T, 1, place<index_mode::from_end, 0, in<i64, 0>>>, T, 1, i64, side<T>>;
  const i64 size = sizeof(T), tables = 1 + draw.below(3), rows = 1 + draw.below(4);
  const i64 columns = V + draw.below(20), extent = 1 + draw.below(3), n = tables * rows * columns;
  const i64 of_table = extent * columns * size;
  const char* const first = page.end() - tables * of_table;
  std::vector<i64> positions(static_cast<std::size_t>(rows));
  for (i64& p : positions) p = draw.below(2 * extent) - extent;
  alignas(16) static char to[2 * GuardedMemory::page];
  std::memset(to, 99, sizeof to);
  const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
  std::vector<u64> words{u64(n),
                         1,
                         0,
                         word(to),
                         word(positions.data()),
                         word(first),
                         u64(extent),
                         u64(columns * size)};
  for (const i64 w : {tables, rows, columns, rows * columns * size, columns * size, size, i64{0},
                      i64{8}, i64{0}, of_table, i64{0}, size}) {
    words.push_back(u64(w));
  }
  using P = typename map_across_body<M, 3, i64, V, 2, 0>::param_type;
  P p;
  ASSERT_EQ(sizeof(P), words.size() * sizeof(u64));
  std::memcpy(&p, words.data(), sizeof(P));
  const auto faults = launch({{(unsigned(n) - 1) / (V * 32 * across_copies) + 1}, {32}}, 1,
                             [&] { map_across<M, 3, 8, V, 2, 0>(p, 0); });
  ASSERT_EQ(faults, std::vector<std::string>{});
  for (i64 i = 0; i < n; ++i) {
    const i64 at = positions[std::size_t(i / columns % rows)];
    const char* const row =
        first + i / (rows * columns) * of_table + (at < 0 ? at + extent : at) * columns * size;
    ASSERT_EQ(std::memcmp(to + i * size, row + i % columns * size, sizeof(T)), 0) << i;
  }
  ASSERT_EQ(to[n * size], 99);
}

TEST(cuda_map_unaligned, rows_at_positions_are_copied_across) {
  const GuardedMemory page;
  std::iota(page.begin(), page.end(), char{3});
  Draw draw(9);
  for (int i = 0; i < 300; ++i) {
    gather_across<u8, 16, false>(page, draw);
    gather_across<u8, 2, true>(page, draw);
    gather_across<u8, 16, true>(page, draw);
    gather_across<u16, 8, true>(page, draw);
    gather_across<u32, 4, false>(page, draw);
    gather_across<u32, 4, true>(page, draw);
    gather_across_tables<u8, 16>(page, draw);
    gather_across_tables<u32, 4>(page, draw);
  }
}

/// Address space of so many bytes, of which only pages that are used take memory.
class SparseBytes {
 public:
  explicit SparseBytes(i64 size) : size_(static_cast<std::size_t>(size)) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory_ == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "no address space");
    }
  }
  SparseBytes(const SparseBytes&) = delete;
  SparseBytes& operator=(const SparseBytes&) = delete;
  ~SparseBytes() { munmap(memory_, size_); }
  char* begin() const { return static_cast<char*>(memory_); }

 private:
  std::size_t size_;
  void* memory_;
};

/// The last vectors of rows whose length is near a power of two that numbers of 32 bits have.
TEST(cuda_map_unaligned, reaches_the_end_of_the_longest_rows) {
  using Body = map_unaligned_body<map_of<in<u8, 0>, u8, 0, u8>, 1, i64, 1, 16, 1>;
  const i64 limits[] = {i64{1} << 31, i64{1} << 32, i64{3} << 31};
  for (const i64 limit : limits) {
    const SparseBytes from(limit + 128), to(limit + 128);
    for (const i64 columns : {limit - 20, limit - 7, limit - 3, limit, limit + 25}) {
      for (int i = 1; i <= 40; ++i) from.begin()[4 + columns - i] = static_cast<char>(i);
      const auto word = [](const char* at) { return reinterpret_cast<u64>(at); };
      const u64 words[] = {u64(columns), 1, 1, word(to.begin()), word(from.begin() + 4),
                           u64(columns), 1, 1};
      Body::param_type p;
      static_assert(sizeof p == sizeof words);
      std::memcpy(&p, words, sizeof p);
      const i64 last = (columns - 1) / 16 * 16;
      for (i64 ahead = last - 32; ahead <= last + 16; ahead += 16)
        Body::run_rows(p, ahead, 0, 0, 0);
      for (int i = 1; i <= 32; ++i) ASSERT_EQ(to.begin()[columns - i], i) << columns;
      std::memset(to.begin() + columns - 64, 0, 128);
    }
  }
}

/// Copies the elements of one warp, around an end of a row, from `first` on.
template <class Index>
void copy_warp_of_long_rows(i64 rows, i64 columns) {
  using M =
      map_of<pick<u8, 1, place<index_mode::from_end, 0, in<i64, 0>>>, u8, 1, i64, side<u8, 0, 1>>;
  using Body = map_across_body<M, 2, Index, 16, 2, 0>;
  const i64 n = rows * columns;
  const SparseBytes table(n + 16), to(n + 16);
  std::vector<i64> positions(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = rows - 1 - static_cast<i64>(i);
  const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
  const u64 words[] = {u64(n),
                       1,
                       0,
                       word(to.begin()),
                       word(positions.data()),
                       word(table.begin()),
                       u64(rows),
                       u64(columns),
                       u64(rows),
                       u64(columns),
                       u64(columns),
                       1,
                       8,
                       0,
                       0,
                       1};
  typename Body::param_type p;
  ASSERT_EQ(sizeof p, sizeof words);
  std::memcpy(&p, words, sizeof p);
  const auto source = [&](i64 i) {
    return table.begin() + positions[std::size_t(i / columns)] * columns + i % columns;
  };
  for (const i64 row : {i64{1}, rows / 2, rows - 1, rows}) {
    const i64 first = std::min(row * columns, n - 5) / Body::warp_elements * Body::warp_elements;
    const i64 past = std::min(first + Body::warp_elements, n);
    for (i64 i = first; i < past; ++i) *source(i) = static_cast<char>(i % 101 + 1);
    u64 sources[Body::warp_rows];
    const auto faults = launch({{1}, {32}}, 3, [&] {
      Body::copy(p, static_cast<Index>(first), static_cast<int>(threadIdx.x), sources,
                 static_cast<Index>(n), 0);
    });
    ASSERT_EQ(faults, std::vector<std::string>{});
    for (i64 i = first; i < past; ++i) ASSERT_EQ(to.begin()[i], static_cast<char>(i % 101 + 1));
    ASSERT_EQ(to.begin()[past], 0);
  }
}

TEST(cuda_map_unaligned, rows_at_positions_may_be_long) {
  copy_warp_of_long_rows<i32>(11, 194'999'003);
  copy_warp_of_long_rows<i32>(3, 700'000'001);
  copy_warp_of_long_rows<i64>(3, 700'000'001);
  copy_warp_of_long_rows<i64>(2, i64{1} << 32);
}

}  // namespace
}  // namespace quarry::test
