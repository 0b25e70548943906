// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/strided_copy.hpp"

#include <array>
#include <bit>
#include <initializer_list>
#include <span>

#include "kernels/words.hpp"

namespace quarry::memory {
namespace {

/// The largest power of two up to 16 that divides every one of `values`.
std::size_t common_word(std::initializer_list<std::int64_t> values, std::span<const Dims> more) {
  std::uint64_t bits = 0;
  for (const std::int64_t v : values) bits |= static_cast<std::uint64_t>(v);
  for (const Dims& dims : more) {
    for (const std::int64_t v : dims) bits |= static_cast<std::uint64_t>(v);
  }
  return kernels::common_word(bits);
}

std::int64_t address(const std::byte* p) { return std::bit_cast<std::int64_t>(p); }

/// An array as words: bytes become the innermost axis, neighbours merge, and the innermost run is
/// cut into the largest words that every stride and both addresses allow.
struct WordCopy {
  Shape shape;
  std::array<Strides, 2> strides;
  std::size_t word;
};

WordCopy plan_words(const std::byte* to, const std::byte* from, const Shape& shape,
                    const Strides& to_strides, const Strides& from_strides, std::size_t itemsize) {
  WordCopy plan{shape, {to_strides, from_strides}, 1};
  const std::array pointers{&plan.strides[0], &plan.strides[1]};
  sort_axes(plan.shape, pointers);
  collapse(plan.shape, pointers);
  // a record or wide element: bytes as one more axis, merged where the elements lie side by side
  const auto bytes = static_cast<std::int64_t>(itemsize);
  const bool side_by_side =
      !plan.shape.empty() && plan.strides[0].back() == bytes && plan.strides[1].back() == bytes;
  if (side_by_side) {
    plan.shape.back() = checked_mul(plan.shape.back(), bytes);
    plan.strides[0].back() = plan.strides[1].back() = 1;
  } else {
    plan.shape.push_back(bytes);
    plan.strides[0].push_back(1);
    plan.strides[1].push_back(1);
  }
  std::array<Dims, 2> outer = plan.strides;
  for (Dims& dims : outer) dims.pop_back();
  plan.word = common_word({plan.shape.back(), address(to), address(from)}, outer);
  const auto word = static_cast<std::int64_t>(plan.word);
  plan.shape.back() /= word;
  plan.strides[0].back() = plan.strides[1].back() = word;
  return plan;
}

}  // namespace

void copy_strided(std::byte* to, const Layout& to_layout, const runtime::Operand& from,
                  std::size_t itemsize, const Stream& stream) {
  const WordCopy plan =
      plan_words(to, from.data, to_layout.shape, to_layout.strides, from.layout->strides, itemsize);
  const Layout out{plan.shape, plan.strides[0]}, in{plan.shape, plan.strides[1]};
  const runtime::Operand operands[] = {{to, &out}, {from.data, &in, from.is_private}};
  runtime::launch_map(kernels::copy_program_of(plan.word), operands, nullptr, stream);
}

bool same_block(const Layout& a, const Layout& b, std::size_t itemsize) {
  Shape shape = a.shape;
  Strides x = a.strides, y = b.strides;
  const std::array pointers{&x, &y};
  sort_axes(shape, pointers);
  collapse(shape, pointers);
  if (shape.empty()) return true;
  const auto step = static_cast<std::int64_t>(itemsize);
  return shape.size() == 1 && x[0] == step && y[0] == step;
}

std::size_t word_of(const std::byte* data, const Layout& layout, std::size_t itemsize) {
  return common_word({address(data), static_cast<std::int64_t>(itemsize)}, {&layout.strides, 1});
}

}  // namespace quarry::memory
