// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// Two-level segregated fit: free pieces of segments by size in bitmaps of lists, so that finding,
/// splitting and merging take the same time however many there are. Nothing is written into the
/// memory itself, which the host may not be able to touch.
namespace quarry::memory {

struct Segment;

enum class BlockState : std::uint8_t { free, cached, live, pending };

/// A piece of a segment.
struct Block {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  Block *before = nullptr, *after = nullptr;   ///< neighbours in the segment
  Block *previous = nullptr, *next = nullptr;  ///< in the list that it is in
  Segment* segment = nullptr;
  BlockState state = BlockState::free;
  std::int16_t size_class = -1;  ///< of one that has been handed out (see Request)
  std::uint32_t surplus = 0;     ///< of a live block: bytes beyond the request

  bool is_whole_segment() const { return !before && !after; }
};

/// Records of blocks that are not in use. Records may be given to another list than the one they
/// came from, as long as both live.
class BlockRecords {
 public:
  Block* take();  ///< throws std::bad_alloc
  void give(Block* record) noexcept {
    record->next = free_;
    free_ = record;
  }
  /// A record has come from `other`, which gets one in return, so that records do not accumulate on
  /// one side.
  void repay(BlockRecords& other) noexcept {
    if (!free_) return;
    Block* const record = free_;
    free_ = record->next;
    other.give(record);
  }

 private:
  Block* free_ = nullptr;
  std::vector<std::unique_ptr<Block[]>> slabs_;
};

class Tlsf {
 public:
  static constexpr std::size_t unit = 256;  ///< sizes and addresses are multiples of it
  static constexpr std::size_t page = 4096, stagger = page / 4;
  /// The sizes of blocks that are staggered: several arrays of them fit into a core's caches.
  static constexpr std::size_t least_staggered = std::size_t{16} << 10,
                               most_staggered = std::size_t{8} << 20;

  /// With `staggers` neighbours begin `stagger` bytes apart within a page, where there is room for
  /// that. A core that loads from the place of a page where it has just stored in another page
  /// waits, as if both were the same.
  explicit Tlsf(bool staggers = false) : staggers_(staggers) {}
  /// From here on best fit; below, the first block of a bin, whose sizes differ by up to 3 %.
  static constexpr std::size_t exact_from = std::size_t{64} << 20;

  /// The free block of a new segment. Throws std::bad_alloc.
  Block* add_segment(Segment* segment, std::byte* address, std::size_t bytes);
  /// A live block of exactly `bytes`, split off where that is possible; nullptr when nothing fits.
  /// `alignment` is a power of two. `thorough` looks at every block. Throws std::bad_alloc, before
  /// anything has changed.
  Block* take(std::size_t bytes, std::size_t alignment = unit, bool thorough = false);
  /// Merges the block with its free neighbours; returns the free block that it is part of now.
  Block* release(Block* block) noexcept;

  /// A live block keeps its first `bytes`, fewer than it has; the others are free. Throws
  /// std::bad_alloc, before anything has changed.
  void shrink(Block* block, std::size_t bytes) { release(split(block, bytes, records_.take())); }

  bool has(std::size_t bytes, std::size_t alignment = unit, bool thorough = false) const {
    return find(bytes + alignment - unit, thorough) != nullptr;
  }
  Block* find(std::size_t bytes, bool thorough) const;
  /// A free block leaves for another Tlsf, or joins this one.
  void remove(Block* block) noexcept;
  void insert(Block* block) noexcept;
  /// For each block that has come from `other`, free or live.
  void repay(Tlsf& other) noexcept { records_.repay(other.records_); }
  /// Drops the one free block of a segment that is freed.
  void drop(Block* block) noexcept;

  std::size_t largest() const;
  /// Calls f(block) for every free block; f may remove it.
  template <class F>
  void for_each(F f) {
    for (Block* head : bins_) {
      for (Block *block = head, *next; block; block = next) {
        next = block->next;
        f(block);
      }
    }
  }

 private:
  static constexpr int sub_bits = 5, subs = 1 << sub_bits;
  static constexpr int rows = 51;  // sizes up to 2^63
  static int bin_of(std::size_t bytes);
  Block* first_from(int bin) const;
  static Block* best_of(Block* head, std::size_t bytes, int looks);
  Block* split(Block* block, std::size_t bytes, Block* record) noexcept;
  std::size_t front_of(const Block& block, std::size_t bytes, std::size_t alignment) const;

  const bool staggers_;
  std::uint64_t row_map_ = 0;
  std::array<std::uint32_t, rows> maps_{};
  std::array<Block*, static_cast<std::size_t>(rows) * subs> bins_{};
  BlockRecords records_;
};

}  // namespace quarry::memory
