// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/running_writes.hpp"

#include <algorithm>

#include "base/byte_bounds.hpp"

namespace quarry::backend::cuda {

AddressRange range_of(const Operand& operand, const Shape& shape, std::size_t rank,
                      std::uint32_t itemsize) {
  const ByteBounds bounds =
      byte_bounds({shape.data(), rank}, {operand.strides.data(), rank}, itemsize);
  const auto at = reinterpret_cast<std::uintptr_t>(operand.data);
  return {at + static_cast<std::uintptr_t>(bounds.lowest),
          at + static_cast<std::uintptr_t>(bounds.past)};
}

RunningWrites& RunningWrites::of_thread() {
  static thread_local RunningWrites running;
  return running;
}

void RunningWrites::go_on(const Context& context, Stream stream, std::uint64_t use) {
  const bool goes_on = &context == context_ && stream == stream_ && use == use_ + 1;
  if (!goes_on) forget();
  context_ = &context, stream_ = stream, use_ = use;
}

// A part of a line that is read could bring another one into a cache before it is written.
bool RunningWrites::overlap(const AddressRange& range) const {
  constexpr std::uintptr_t line = 128;
  const std::uintptr_t begin = range.begin / line * line,
                       end = (range.end + line - 1) / line * line;
  return std::any_of(written_.begin(), written_.begin() + count_,
                     [&](const AddressRange& w) { return w.begin < end && begin < w.end; });
}

void RunningWrites::add(const AddressRange& range) {
  if (count_ == written_.size()) forget();
  if (known_) written_[count_++] = range;
}

}  // namespace quarry::backend::cuda
