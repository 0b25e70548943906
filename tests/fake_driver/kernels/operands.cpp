// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/operands.hpp"

#include <algorithm>
#include <limits>

#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

bool fits_int(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Operands::Operands(const Source& source) : source_(source), base_(at(source.count)) {
  for (int k = 0; k < source_.count; ++k) {
    if (is_used(k) && !place(k)) are_inside_ = false;
  }
}

std::int64_t Operands::extent(int axis) const {
  return static_cast<std::int64_t>(source_.shape[axis]);
}

std::int64_t Operands::stride(int operand, int axis) const {
  return static_cast<std::int64_t>(source_.strides[operand * source_.rank + axis]);
}

/// Finds the memory of everything the operand reaches.
bool Operands::place(int operand) {
  const std::uint64_t from = source_.pointers[operand];
  const std::uint32_t size = source_.itemsize[operand];
  const int axes = operand > 0 ? source_.rank : source_.output_rank;
  const Bytes bytes = bytes_reached(
      from, size, axes, [&](int axis) { return (extent(axis) - 1) * stride(operand, axis); });
  const auto lowest = static_cast<std::int64_t>(bytes.begin - from),
             highest = static_cast<std::int64_t>(bytes.end - size - from);
  if (!source_.has_wide_index && !(fits_int(lowest) && fits_int(highest))) wraps_ = true;
  std::byte* const memory =
      state().memory.find(bytes.begin, bytes.end - bytes.begin, source_.device);
  if (memory) base_[at(operand)] = reinterpret_cast<char*>(memory) - lowest;
  return memory != nullptr;
}

void Operands::advance(Offsets& offsets, std::int64_t index, int first, int last) const {
  for (int axis = last - 1; axis >= first; --axis) {
    const std::int64_t j = axis > first ? index % extent(axis) : index;
    index = axis > first ? index / extent(axis) : 0;
    for (int k = 0; k < source_.count; ++k) offsets[at(k)] += j * stride(k, axis);
  }
}

bool Operands::resolve(const Offsets& offsets, std::vector<char*>& addresses) const {
  addresses.resize(at(source_.count));
  for (int k = 0; k < source_.count; ++k) {
    if (!is_used(k)) continue;
    if (!wraps_) {
      addresses[at(k)] = base_[at(k)] + offsets[at(k)];
      continue;
    }
    const auto offset = static_cast<std::int64_t>(static_cast<std::int32_t>(offsets[at(k)]));
    const CUdeviceptr from = source_.pointers[k] + static_cast<std::uint64_t>(offset);
    addresses[at(k)] =
        reinterpret_cast<char*>(state().memory.find(from, source_.itemsize[k], source_.device));
    if (!addresses[at(k)]) return false;
  }
  return true;
}

}  // namespace quarry::fake
