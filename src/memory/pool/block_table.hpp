// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/pool/tlsf.hpp"

namespace quarry::memory {

/// Blocks by address: a hash table with open addressing, and without tombstones.
class BlockTable {
 public:
  Block* find(const void* address) const noexcept {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = home(address);; i = (i + 1) & mask()) {
      if (slots_[i].address == address) return slots_[i].block;
      if (!slots_[i].address) return nullptr;
    }
  }
  /// After it the next insert cannot fail. Throws std::bad_alloc.
  void reserve_one() {
    if (2 * (count_ + 1) > slots_.size()) [[unlikely]]
      grow();
  }
  void reserve(std::size_t more) {
    while (2 * (count_ + more) > slots_.size()) grow();
  }
  void insert(Block* block) noexcept {
    place(block);
    ++count_;
  }
  void erase(const Block* block) noexcept {
    std::size_t hole = home(block->address);
    while (slots_[hole].block != block) hole = (hole + 1) & mask();
    for (std::size_t i = (hole + 1) & mask(); slots_[i].address; i = (i + 1) & mask()) {
      // entries that could not be found any more move into the hole
      const std::size_t distance = (i - home(slots_[i].address)) & mask();
      if (distance >= ((i - hole) & mask())) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = {};
    --count_;
  }
  std::size_t size() const { return count_; }
  template <class F>
  void for_each(F f) const {
    for (const Slot& slot : slots_) {
      if (slot.address) f(slot.block);
    }
  }

 private:
  struct Slot {
    const void* address = nullptr;
    Block* block = nullptr;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t home(const void* address) const {
    const auto key = reinterpret_cast<std::uintptr_t>(address) / Tlsf::unit;
    return (key * 0x9E3779B97F4A7C15u) >> shift_;
  }
  void place(Block* block) noexcept {
    std::size_t i = home(block->address);
    while (slots_[i].address) i = (i + 1) & mask();
    slots_[i] = {block->address, block};
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    shift_ = 64;
    for (std::size_t n = slots_.size(); n > 1; n /= 2) --shift_;
    for (const Slot& slot : old) {
      if (slot.address) place(slot.block);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
  int shift_ = 64;
};

}  // namespace quarry::memory
