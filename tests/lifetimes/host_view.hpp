// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>

namespace quarry::test {

/// Host memory of somebody else as an array of two axes, with strides in elements.
template <class T>
struct HostView {
  T* first;
  std::array<std::int64_t, 2> extents, steps;

  T* data() const { return first; }
  const std::array<std::int64_t, 2>& shape() const { return extents; }
  const std::array<std::int64_t, 2>& strides() const { return steps; }

  /// Dense rows, seen as columns.
  template <class H>
  static HostView transposed(H& host, std::int64_t rows, std::int64_t columns) {
    return {host.data(), {columns, rows}, {1, columns}};
  }
};

}  // namespace quarry::test
