// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/plain_loops.hpp"

namespace quarry::test {

std::string difference(std::span<const std::byte> got, std::span<const std::byte> expected) {
  std::size_t count = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;) {
    if (got[i] == expected[i]) continue;
    first = i;
    ++count;
  }
  return std::to_string(count) + " bytes differ, the first at " + std::to_string(first);
}

void Operands::place(const Extents& extents, std::size_t size, std::size_t alignment, bool is_dense,
                     bool can_repeat) {
  const auto itemsize = static_cast<i64>(size);
  DrawnLayout layout = is_dense ? dense_layout(extents, itemsize)
                                : draw_layout(draw_, extents, itemsize, can_repeat);
  std::byte* const lowest = arena_.place(draw_, layout.bytes, static_cast<i64>(alignment));
  operands_.push_back({std::move(layout), extents, lowest});
}

std::size_t Operands::place(std::size_t k, i64 position) const {
  const Operand& operand = operands_[k];
  return arena_.offset(operand.lowest) +
         static_cast<std::size_t>(operand.layout.offset(operand.extents, position));
}

void Operands::pack(std::vector<u64> head, int scalars, const Extents& extents) {
  head_ = head.size();
  rank_ = extents.size();
  words = std::move(head);
  for (const Operand& operand : operands_) {
    words.push_back(reinterpret_cast<u64>(operand.lowest + operand.layout.origin));
  }
  scalars_at_ = words.size();
  for (int s = 0; s < 2 * scalars; ++s) words.push_back(draw_.bits());
  for (const i64 extent : extents) words.push_back(static_cast<u64>(extent));
  for (const Operand& operand : operands_) {
    for (std::size_t d = 0; d < rank_; ++d) {  // an output does not move along reduced axes
      const auto& strides = operand.layout.strides;
      words.push_back(d < strides.size() ? static_cast<u64>(strides[d]) : 0);
    }
  }
}

}  // namespace quarry::test
