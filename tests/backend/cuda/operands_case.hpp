// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/launch/vectors.hpp"

namespace quarry::backend::cuda {

/// Operands by address, size of an element, and all their strides in a row.
struct Case {
  std::vector<std::uint64_t> pointers;
  std::vector<std::uint32_t> itemsizes;
  std::vector<std::int64_t> strides;
  std::size_t outputs = 1;
  std::vector<Operand> all{};

  CallOperands operands() {
    const auto rank = static_cast<std::ptrdiff_t>(strides.size() / pointers.size());
    auto first = strides.begin();
    all.clear();
    for (const std::uint64_t pointer : pointers) {
      all.push_back({reinterpret_cast<std::byte*>(pointer), Strides(first, first + rank)});
      first += rank;
    }
    return {all, itemsizes.data(), outputs};
  }
};

}  // namespace quarry::backend::cuda
