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

#include "backend/kernel_call.hpp"

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

/// Where an operand is at position 0, and its strides in bytes along all axes of a call; fewer are
/// followed by 0.
struct CallOperand {
  const void* at;
  Extents strides = {};
};

/// A call over the kept and the reduced axes; without a span, 32-bit indices do.
template <class... S>
backend::KernelCall call_of(const kernels::program& program, const Extents& kept,
                            const Extents& reduced, const std::vector<CallOperand>& operands,
                            S... scalars) {
  backend::KernelCall call(program);
  for (const auto& extents : {kept, reduced}) {
    for (const std::int64_t extent : extents) call.shape.push_back(extent);
  }
  call.kept_rank = kept.size();
  call.kept = count(kept);
  call.reduced = count(reduced);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    call.operands[k].data = static_cast<std::byte*>(const_cast<void*>(operands[k].at));
    call.operands[k].strides = Strides::filled(call.rank(), 0);
    std::copy(operands[k].strides.begin(), operands[k].strides.end(),
              call.operands[k].strides.begin());
  }
  [[maybe_unused]] std::size_t s = 0;
  [[maybe_unused]] const auto store = [&](const auto& value) {
    call.scalars[s] = {};
    std::memcpy(call.scalars[s++].word, &value, sizeof value);
  };
  (store(scalars), ...);
  return call;
}

/// A map over n elements of dense operands.
template <class... S>
backend::KernelCall flat_call(const kernels::program& program, std::int64_t n,
                              std::initializer_list<const void*> operands, S... scalars) {
  std::vector<CallOperand> all;
  for (const void* at : operands) all.push_back({at, {program.itemsize[all.size()]}});
  return call_of(program, {n}, {}, all, scalars...);
}

}  // namespace quarry::test
