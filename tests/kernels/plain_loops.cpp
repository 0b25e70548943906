// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/plain_loops.hpp"

#include <algorithm>

namespace quarry::test {

::testing::AssertionResult equal_bytes(std::span<const std::byte> got,
                                       std::span<const std::byte> expected) {
  if (got.size() != expected.size()) {
    return ::testing::AssertionFailure() << got.size() << " bytes, not " << expected.size();
  }
  if (std::ranges::equal(got, expected)) return ::testing::AssertionSuccess();
  std::size_t count = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;) {
    if (got[i] == expected[i]) continue;
    first = i;
    ++count;
  }
  return ::testing::AssertionFailure() << count << " bytes differ, the first at " << first;
}

void Operands::place(const Extents& extents, std::size_t size, std::size_t alignment, bool is_dense,
                     bool can_repeat, bool has_gaps) {
  const auto itemsize = static_cast<i64>(size);
  DrawnLayout layout = has_gaps   ? layout_with_gaps(extents, itemsize)
                       : is_dense ? dense_layout(extents, itemsize)
                                  : draw_layout(draw_, extents, itemsize, can_repeat);
  std::byte* const lowest = arena_.place(draw_, layout.bytes, static_cast<i64>(alignment));
  operands_.push_back({std::move(layout), extents, lowest});
}

void Operands::split_own_axis(Operand& operand) {
  own_axes_.push_back({operand.extents.front(), operand.layout.strides.front()});
  operand.extents.erase(operand.extents.begin());
  operand.layout.strides.erase(operand.layout.strides.begin());
}

std::size_t Operands::place(std::size_t k, i64 position) const {
  const Operand& operand = operands_[k];
  return arena_.offset(operand.lowest) +
         static_cast<std::size_t>(operand.layout.offset(operand.extents, position));
}

void Operands::pack(i64 kept, i64 reduced, int scalars, const Extents& extents) {
  words = {static_cast<u64>(kept), static_cast<u64>(reduced), static_cast<u64>(reduced)};
  for (const Operand& operand : operands_) {
    std::byte* const at = operand.lowest + operand.layout.origin;
    words.push_back(reinterpret_cast<u64>(at));
    all.push_back({at, Strides::filled(extents.size(), 0)});
    std::ranges::copy(operand.layout.strides, all.back().strides.begin());
  }
  for (const kernels::side_axis& axis : own_axes_) {
    words.push_back(static_cast<u64>(axis.extent));
    words.push_back(static_cast<u64>(axis.stride));
  }
  const auto drawn = static_cast<std::size_t>(scalars) - own_axes_.size();
  for (std::size_t s = 0; s < 2 * drawn; ++s) words.push_back(draw_.bits());
  for (std::size_t at = 3 + operands_.size(); at < words.size(); at += 2) {
    call_scalars.push_back({{words[at], words[at + 1]}});
  }
  for (const i64 extent : extents) words.push_back(static_cast<u64>(extent));
  for (const backend::Operand& operand : all) {  // an output does not move along reduced axes
    for (const i64 stride : operand.strides) words.push_back(static_cast<u64>(stride));
  }
}

}  // namespace quarry::test
