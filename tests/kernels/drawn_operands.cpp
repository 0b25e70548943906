// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/drawn_operands.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <numeric>
#include <stdexcept>

namespace quarry::test {
namespace {
Arena* current = nullptr;
constexpr std::align_val_t alignment{4096};
}  // namespace

std::int64_t product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t DrawnLayout::offset(const Extents& extents, std::int64_t position) const {
  std::int64_t result = origin;
  for (std::size_t d = extents.size(); d-- > 0; position /= extents[d]) {
    result += position % extents[d] * strides[d];
  }
  return result;
}

DrawnLayout dense_layout(const Extents& extents, std::int64_t itemsize) {
  DrawnLayout layout{std::vector<std::int64_t>(extents.size()), 0, itemsize * product(extents)};
  std::int64_t step = itemsize;
  for (std::size_t d = extents.size(); d-- > 0; step *= extents[d]) layout.strides[d] = step;
  return layout;
}

DrawnLayout layout_with_gaps(const Extents& extents, std::int64_t itemsize) {
  DrawnLayout layout = dense_layout(extents, 2 * itemsize);
  layout.bytes -= itemsize;
  return layout;
}

DrawnLayout draw_layout(Draw& draw, const Extents& extents, std::int64_t itemsize,
                        bool can_repeat) {
  std::vector<std::size_t> order(extents.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});  // the last axis first
  if (draw.one_in(4)) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(draw.below(std::int64_t(i)))]);
    }
  }
  DrawnLayout layout{std::vector<std::int64_t>(extents.size()), 0, itemsize};
  std::int64_t step = draw.one_in(6) ? itemsize * (2 + draw.below(2)) : itemsize;
  const bool is_plain = draw.one_in(3);
  for (const std::size_t axis : order) {
    if (can_repeat && !is_plain && draw.one_in(5)) continue;
    const bool backwards = !is_plain && draw.one_in(7);
    const std::int64_t reach = (extents[axis] - 1) * step;
    layout.strides[axis] = backwards ? -step : step;
    if (backwards) layout.origin += reach;
    layout.bytes += reach;
    step *= extents[axis];
    if (is_plain) continue;
    if (draw.one_in(3)) step += itemsize * draw.below(4);
    if (draw.one_in(3)) step = (step + 16 * itemsize - 1) / (16 * itemsize) * 16 * itemsize;
  }
  return layout;
}

void Arena::Release::operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }

Arena::Arena(std::uint64_t seed)
    : memory_(new (alignment) std::byte[size]), role_(size), writes_(size) {
  Draw draw(seed);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t bits = draw.bits();
    std::memcpy(begin() + i, &bits, 8);
  }
  current = this;
}
Arena::~Arena() { current = nullptr; }

std::byte* Arena::place(Draw& draw, std::int64_t bytes, std::int64_t unit) {
  used_ = (used_ + guard + 255) / 256 * 256;
  // dense memory that begins at no line, and at no vector
  if (draw.one_in(2)) used_ += static_cast<std::size_t>(unit * draw.below(40));
  std::byte* const result = begin() + used_;
  used_ += static_cast<std::size_t>(bytes);
  if (used_ + 16 * guard > size) throw std::length_error("a drawn operand is too large");
  return result;
}

void Arena::note_read(const void* element) {
  if (!current || !current->holds(element)) return;
  if ((current->role_[current->offset(element)] & 1) == 0) {
    current->faults_.insert("a read of what is no element of an input");
  }
}

void Arena::note_write(const void* element) {
  if (!current || !current->holds(element)) return;
  const std::size_t at = current->offset(element);
  if ((current->role_[at] & 2) == 0) {
    current->faults_.insert("a write to what is no element of the output");
  }
  if (++current->writes_[at] > 1) current->faults_.insert("an element is written twice");
}

std::vector<std::string> Arena::faults() const {
  std::vector<std::string> result(faults_.begin(), faults_.end());
  for (std::size_t i = 0; i < size; ++i) {
    if ((role_[i] & 4) != 0 && writes_[i] == 0) {
      result.emplace_back("an element is not written");
      break;
    }
  }
  return result;
}

}  // namespace quarry::test
