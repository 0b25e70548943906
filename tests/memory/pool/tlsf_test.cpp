// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pool/tlsf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "memory/pool/block_table.hpp"
#include "memory/pool/stream_arena.hpp"

namespace quarry::memory {
namespace {

constexpr std::size_t unit = Tlsf::unit;
constexpr std::size_t kib = 1024, mib = 1024 * kib;

/// Addresses of nothing: the metadata lies elsewhere.
std::byte* place(std::size_t address) { return reinterpret_cast<std::byte*>(address); }
std::size_t number(const Block* block) { return reinterpret_cast<std::size_t>(block->address); }

struct Fixture : testing::Test {
  Segment segment{place(64 * mib), 16 * mib, nullptr};
  Tlsf free;
  Fixture() { free.add_segment(&segment, segment.address, segment.bytes); }
};
using TlsfTest = Fixture;

TEST_F(TlsfTest, ABlockHasExactlyTheBytesAndTheRestStaysFree) {
  Block* const a = free.take(3 * unit);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->bytes, 3 * unit);
  EXPECT_EQ(free.largest(), 16 * mib - 3 * unit);
  EXPECT_EQ(free.take(16 * mib), nullptr);
  EXPECT_TRUE(free.release(a)->is_whole_segment());
  EXPECT_EQ(free.largest(), 16 * mib);
}

TEST_F(TlsfTest, AlignmentsAreHonouredAndWhatIsCutOffComesBack) {
  for (std::size_t alignment = unit; alignment <= 2 * mib; alignment *= 2) {
    Block* const odd = free.take(unit);
    Block* const block = free.take(5 * unit, alignment);
    ASSERT_NE(block, nullptr) << alignment;
    EXPECT_EQ(number(block) % alignment, 0u);
    EXPECT_EQ(block->bytes, 5 * unit);
    free.release(odd);
    EXPECT_TRUE(free.release(block)->is_whole_segment());
  }
}

TEST_F(TlsfTest, ABlockOfTheSameSizeIsFoundAgain) {
  const std::size_t bytes = 45 * 64 * kib;  // not the least of its bin
  Block* const a = free.take(bytes);
  Block* const guard = free.take(unit);
  Block* const rest = free.take(free.largest());
  free.release(a);
  EXPECT_EQ(free.take(bytes), a);
  free.release(guard);
  free.release(rest);
}

TEST(Tlsf, LargeBlocksAreTheBestFit) {
  Segment segment{place(mib), 2048 * mib, nullptr};
  Tlsf free;
  free.add_segment(&segment, segment.address, segment.bytes);
  std::vector<Block*> blocks, guards;
  for (const std::size_t size : {90u, 66u, 70u, 65u, 67u, 80u}) {
    blocks.push_back(free.take(size * mib));
    guards.push_back(free.take(unit));
  }
  Block* const rest = free.take(free.largest());
  for (Block* block : blocks) free.release(block);
  for (const std::size_t expected : {65u, 66u, 67u, 70u, 80u, 90u}) {
    Block* const got = free.find(expected * mib - 8 * unit, false);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->bytes, expected * mib);
    free.take(expected * mib);
  }
  EXPECT_EQ(free.find(65 * mib, true), nullptr);
  free.release(rest);
}

TEST(Tlsf, NeighboursOfDifferentSegmentsDoNotMerge) {
  Segment low{place(mib), mib, nullptr}, high{place(2 * mib), mib, nullptr};
  Tlsf free;
  free.add_segment(&low, low.address, low.bytes);
  free.add_segment(&high, high.address, high.bytes);
  EXPECT_EQ(free.largest(), mib);
  EXPECT_EQ(free.take(mib + unit), nullptr);
  int whole = 0;
  free.for_each([&](Block* block) { whole += block->is_whole_segment(); });
  EXPECT_EQ(whole, 2);
}

/// Blocks that are handed out, and nothing else known.
class Model {
 public:
  Model(std::size_t begin, std::size_t end) : begin_(begin), end_(end) {}
  bool add(std::size_t at, std::size_t bytes) {
    const auto next = live_.lower_bound(at);
    if (at < begin_ || at + bytes > end_) return false;
    if (next != live_.end() && next->first < at + bytes) return false;
    if (next != live_.begin() && std::prev(next)->first + std::prev(next)->second > at)
      return false;
    live_.emplace(at, bytes);
    return true;
  }
  void remove(std::size_t at) { live_.erase(at); }
  std::size_t largest_hole() const {
    std::size_t most = 0, from = begin_;
    for (const auto& [at, bytes] : live_) {
      most = std::max(most, at - from);
      from = at + bytes;
    }
    return std::max(most, end_ - from);
  }

 private:
  std::size_t begin_, end_;
  std::map<std::size_t, std::size_t> live_;
};

class TlsfModelTest : public testing::TestWithParam<bool> {};

TEST_P(TlsfModelTest, RandomOperationsAgreeWithIt) {
  Segment segment{place(64 * mib), 16 * mib, nullptr};
  Tlsf free(GetParam());
  free.add_segment(&segment, segment.address, segment.bytes);
  std::mt19937_64 random(7);
  Model model(number(free.find(unit, false)), 80 * mib);
  std::vector<Block*> live;
  for (int step = 0; step < 30'000; ++step) {
    if (live.empty() || random() % 100 < 55) {
      const std::size_t bytes = (1 + random() % (std::size_t{1} << (random() % 11))) * unit;
      const std::size_t alignment = unit << (random() % 8 == 0 ? random() % 6 : 0);
      Block* const block = free.take(bytes, alignment, true);
      if (!block) {
        EXPECT_LT(model.largest_hole(), bytes + alignment - unit);
        continue;
      }
      ASSERT_TRUE(model.add(number(block), bytes)) << "an overlap in step " << step;
      ASSERT_EQ(number(block) % alignment, 0u);
      live.push_back(block);
    } else {
      std::swap(live[random() % live.size()], live.back());
      model.remove(number(live.back()));
      free.release(live.back());
      live.pop_back();
    }
    ASSERT_EQ(free.largest(), model.largest_hole());
    free.for_each([](const Block* block) { ASSERT_GT(block->bytes, 0u); });
  }
  for (Block* block : live) free.release(block);
  EXPECT_EQ(free.largest(), segment.bytes);
  EXPECT_TRUE(free.find(unit, false)->is_whole_segment());
}
INSTANTIATE_TEST_SUITE_P(Staggered, TlsfModelTest, testing::Bool());

TEST(Tlsf, StaggeredNeighboursBeginAtFourPlacesOfAPageInTurn) {
  Segment segment{place(64 * mib), 1024 * mib, nullptr};
  Tlsf free(true);
  free.add_segment(&segment, segment.address, segment.bytes);
  std::vector<std::size_t> places;
  for (std::size_t bytes = 16 * kib; bytes <= 8 * mib; bytes += 2 * bytes / 3 / unit * unit) {
    places.push_back(number(free.take(bytes)) % Tlsf::page);
  }
  ASSERT_GT(places.size(), 10u);
  for (std::size_t i = 1; i < places.size(); ++i) {
    EXPECT_EQ((places[i] - places[i - 1]) % Tlsf::page, Tlsf::stagger) << i;
  }
}

TEST(Tlsf, StaggeringTakesNoBlockThatWouldFitWithoutIt) {
  Segment segment{place(64 * mib), 4 * mib, nullptr};
  Tlsf free(true);
  free.add_segment(&segment, segment.address, segment.bytes);
  Block* const whole = free.take(4 * mib);
  ASSERT_NE(whole, nullptr);
  free.release(whole);
  const Block* const first = free.take(64 * kib);
  Block* const second = free.take(64 * kib);
  const std::size_t address = number(second);
  free.release(second);
  EXPECT_EQ(number(free.take(64 * kib)), address) << "memory that is free again has another place";
  Block* const aligned = free.take(64 * kib, 64 * kib);
  EXPECT_EQ(number(aligned) % (64 * kib), 0u);
  Block* const rest = free.take(free.largest());
  EXPECT_EQ(rest->address + rest->bytes, first->address + 4 * mib);
}

TEST(BlockTable, FindsWhatIsInItAndNothingElse) {
  std::mt19937_64 random(3);
  std::vector<Block> blocks(500);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].address = place((i + 1) * unit);
  BlockTable table;
  std::vector<bool> is_in(blocks.size());
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t i = random() % blocks.size();
    if (is_in[i]) {
      table.erase(&blocks[i]);
    } else {
      table.reserve_one();
      table.insert(&blocks[i]);
    }
    is_in[i] = !is_in[i];
    const std::size_t j = random() % blocks.size();
    ASSERT_EQ(table.find(blocks[j].address), is_in[j] ? &blocks[j] : nullptr);
  }
  EXPECT_EQ(table.size(), static_cast<std::size_t>(std::count(is_in.begin(), is_in.end(), true)));
}

TEST(Request, RoundsUpByAnEighthAtMostAndToItself) {
  std::size_t before = 0;
  int class_before = 0;
  for (std::size_t bytes = 1; bytes < 4 * mib; bytes += 1 + bytes / 97) {
    const Request request = request_of(bytes, unit);
    EXPECT_GE(request.bytes, bytes);
    EXPECT_LE(request.bytes, bytes + std::max<std::size_t>(bytes / 8, bytes < 512 ? 512 : 255));
    EXPECT_EQ(request.bytes % unit, 0u);
    EXPECT_GE(request.bytes, before);
    const Request again = request_of(request.bytes, unit);
    EXPECT_EQ(again.bytes, request.bytes);
    EXPECT_EQ(again.size_class, request.size_class);
    EXPECT_EQ(request.size_class<0, bytes> small_bytes);
    if (request.size_class >= 0) {
      EXPECT_EQ(request.size_class > class_before, request.bytes > before) << bytes;
      EXPECT_LT(request.size_class, size_classes);
      class_before = request.size_class;
    }
    before = request.bytes;
  }
}

}  // namespace
}  // namespace quarry::memory
