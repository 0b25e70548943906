// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

/// The values of the programs that run while memory runs out.
namespace quarry::test {

using Values = std::vector<std::int64_t>;

/// 0, 1, 2, ...
inline Values counting(std::int64_t n) {
  Values values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), std::int64_t{0});
  return values;
}

template <class A>
Values values(const A& array) {
  Values result(static_cast<std::size_t>(array.size()));
  array.copy_to_host(result);
  return result;
}

}  // namespace quarry::test
