// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

/// Operands of random layout for the tests of the CPU device's loops.
namespace quarry::test {

using Extents = std::vector<std::int64_t>;

inline std::int64_t count(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{});
}

/// The coordinates of C-order position `i`.
inline Extents coordinates(std::int64_t i, const Extents& shape) {
  Extents at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) at[d] = i % shape[d];
  return at;
}

template <class T>
struct Operand {
  std::vector<T> storage;
  T* first = nullptr;  // the element at coordinates 0
  Extents strides;     // bytes

  T& operator[](const Extents& at) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    return *reinterpret_cast<T*>(reinterpret_cast<std::byte*>(first) + offset);
  }
};

/// Axes in random order, with gaps and either sign; without `distinct` some strides are 0. Values
/// are small integers.
template <class T>
Operand<T> random_operand(const Extents& shape, std::mt19937& random, bool distinct) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0U);
  std::shuffle(axes.begin(), axes.end(), random);
  Operand<T> result;
  result.strides.resize(shape.size());
  std::int64_t elements = 1, offset = 0;
  for (const std::size_t d : axes) {
    if (!distinct && below(4) == 0) continue;
    std::int64_t stride = elements * (1 + below(2));
    elements = stride * shape[d] + below(2);
    if (below(3) == 0) {
      offset += stride * (shape[d] - 1);
      stride = -stride;
    }
    result.strides[d] = stride * static_cast<std::int64_t>(sizeof(T));
  }
  result.storage.resize(static_cast<std::size_t>(elements));
  for (T& value : result.storage) value = static_cast<T>(below(100));
  result.first = result.storage.data() + offset;
  return result;
}

inline std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// A scalar's two words.
template <class T>
std::vector<std::uint64_t> scalar_words(T value) {
  std::vector<std::uint64_t> words(2);
  std::memcpy(words.data(), &value, sizeof value);
  return words;
}

}  // namespace quarry::test
