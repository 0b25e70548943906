// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pool/tlsf.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace quarry::memory {
namespace {

constexpr int few_looks = 8;
constexpr int every_look = std::numeric_limits<int>::max();

std::uintptr_t number(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}
std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Block* BlockRecords::take() {
  if (!free_) {
    constexpr std::size_t count = 64;
    slabs_.reserve(slabs_.size() + 1);
    auto slab = std::make_unique<Block[]>(count);
    for (std::size_t i = count; i-- > 0;) give(&slab[i]);
    slabs_.push_back(std::move(slab));
  }
  Block* const record = free_;
  free_ = record->next;
  *record = {};
  return record;
}

/// Sizes below `subs` units have a bin each; above, every power of two has `subs` of them.
int Tlsf::bin_of(std::size_t bytes) {
  const std::size_t units = bytes / unit;
  if (units < subs) return static_cast<int>(units);
  const int power = static_cast<int>(std::bit_width(units)) - 1;
  const auto sub = static_cast<int>((units >> (power - sub_bits)) & (subs - 1));
  return (power - sub_bits + 1) * subs + sub;
}

Block* Tlsf::first_from(int bin) const {
  const int row = bin / subs;
  if (row >= rows) return nullptr;
  const std::uint32_t here = maps_[index(row)] & (~std::uint32_t{0} << (bin % subs));
  if (here) return bins_[index(row * subs + std::countr_zero(here))];
  const std::uint64_t above = row_map_ & (~std::uint64_t{0} << row << 1);
  if (!above) return nullptr;
  const int next = std::countr_zero(above);
  return bins_[index(next * subs + std::countr_zero(maps_[index(next)]))];
}

/// The smallest that is large enough among the first `looks`; the one at the lowest address of
/// equals.
Block* Tlsf::best_of(Block* head, std::size_t bytes, int looks) {
  Block* best = nullptr;
  for (Block* block = head; block && looks > 0; block = block->next, --looks) {
    if (block->bytes < bytes) continue;
    if (block->bytes == bytes && looks <= few_looks) return block;
    if (!best || block->bytes < best->bytes ||
        (block->bytes == best->bytes && block->address < best->address)) {
      best = block;
    }
  }
  return best;
}

Block* Tlsf::find(std::size_t bytes, bool thorough) const {
  const int bin = bin_of(bytes);
  const bool exact = bytes >= exact_from;
  Block* const own = best_of(bins_[index(bin)], bytes, exact || thorough ? every_look : few_looks);
  if (own) return own;
  Block* const above = first_from(bin + 1);
  return exact && above ? best_of(above, bytes, every_look) : above;
}

void Tlsf::insert(Block* block) noexcept {
  const int bin = bin_of(block->bytes);
  Block*& head = bins_[index(bin)];
  block->state = BlockState::free;
  block->previous = nullptr;
  block->next = head;
  if (head) head->previous = block;
  head = block;
  maps_[index(bin / subs)] |= std::uint32_t{1} << (bin % subs);
  row_map_ |= std::uint64_t{1} << (bin / subs);
}

void Tlsf::remove(Block* block) noexcept {
  if (block->next) block->next->previous = block->previous;
  if (block->previous) {
    block->previous->next = block->next;
  } else {
    const int bin = bin_of(block->bytes), row = bin / subs;
    bins_[index(bin)] = block->next;
    if (!block->next) maps_[index(row)] &= ~(std::uint32_t{1} << (bin % subs));
    if (!maps_[index(row)]) row_map_ &= ~(std::uint64_t{1} << row);
  }
  block->previous = block->next = nullptr;
}

Block* Tlsf::add_segment(Segment* segment, std::byte* address, std::size_t bytes) {
  Block* const block = records_.take();
  block->address = address;
  block->bytes = bytes;
  block->segment = segment;
  insert(block);
  return block;
}

void Tlsf::drop(Block* block) noexcept {
  remove(block);
  records_.give(block);
}

/// Cuts the block after `bytes`; returns the second part, which has got `record`.
Block* Tlsf::split(Block* block, std::size_t bytes, Block* record) noexcept {
  record->address = block->address + bytes;
  record->bytes = block->bytes - bytes;
  record->segment = block->segment;
  record->before = block;
  record->after = std::exchange(block->after, record);
  if (record->after) record->after->before = record;
  block->bytes = bytes;
  return record;
}

/// How many of the block's bytes stay free before those that are handed out.
std::size_t Tlsf::front_of(const Block& block, std::size_t bytes, std::size_t alignment) const {
  const std::uintptr_t address = number(block.address);
  const bool is_staggered = staggers_ && block.before && bytes >= least_staggered &&
                            bytes <= most_staggered && alignment <= stagger;
  if (is_staggered) {
    const std::uintptr_t next = number(block.before->address) / stagger * stagger + stagger;
    if (const std::size_t front = (next - address) % page; front + bytes <= block.bytes)
      return front;
  }
  return (0 - address) % alignment;
}

Block* Tlsf::take(std::size_t bytes, std::size_t alignment, bool thorough) {
  const std::size_t slack = alignment > unit ? alignment - unit : 0;
  Block* block = find(bytes + slack, thorough);
  if (!block) return nullptr;
  const std::size_t front = front_of(*block, bytes, std::max(alignment, unit));
  const bool has_rest = block->bytes > front + bytes;
  Block* const front_record = front ? records_.take() : nullptr;
  Block* rest_record = nullptr;
  try {
    if (has_rest) rest_record = records_.take();
  } catch (...) {
    if (front) records_.give(front_record);
    throw;
  }
  remove(block);
  if (front) {
    Block* const aligned = split(block, front, front_record);
    insert(block);
    block = aligned;
  }
  if (has_rest) insert(split(block, bytes, rest_record));
  block->state = BlockState::live;
  return block;
}

Block* Tlsf::release(Block* block) noexcept {
  if (Block* const after = block->after; after && after->state == BlockState::free) {
    remove(after);
    block->bytes += after->bytes;
    block->after = after->after;
    if (block->after) block->after->before = block;
    records_.give(after);
  }
  if (Block* const before = block->before; before && before->state == BlockState::free) {
    remove(before);
    before->bytes += block->bytes;
    before->after = block->after;
    if (before->after) before->after->before = before;
    records_.give(block);
    block = before;
  }
  insert(block);
  return block;
}

std::size_t Tlsf::largest() const {
  if (!row_map_) return 0;
  const int row = static_cast<int>(std::bit_width(row_map_)) - 1;
  const int sub = static_cast<int>(std::bit_width(maps_[index(row)])) - 1;
  std::size_t most = 0;
  for (const Block* block = bins_[index(row * subs + sub)]; block; block = block->next) {
    most = std::max(most, block->bytes);
  }
  return most;
}

}  // namespace quarry::memory
