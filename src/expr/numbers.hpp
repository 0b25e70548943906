// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

#include <complex>
#include <cstdint>

/// Elements that are only moved, as numbers of their size and alignment.
namespace quarry::expr {

template <class U>
DeviceNDArray<U> numbers_of(const DeviceNDArrayBase& array, const View& view) {
  return DeviceNDArray<U>(view.layout, array.address() + view.offset, array.buffer())
      .bind(array.stream());
}
template <class U>
DeviceNDArray<U> numbers_of(const DeviceNDArrayBase& array) {
  return numbers_of<U>(array, {array.layout(), 0});
}
/// Calls f(U()) with the type of such numbers, if there is one.
template <class F>
bool with_numbers(DType dtype, const F& f) {
  const std::size_t size = dtype.itemsize(), alignment = dtype.alignment();
  if (size == 16 && alignment == 8) return f(std::complex<double>()), true;
  if (size != alignment) return false;
  if (size == 1) return f(std::uint8_t()), true;
  if (size == 2) return f(std::uint16_t()), true;
  if (size == 4) return f(std::uint32_t()), true;
  if (size == 8) return f(std::uint64_t()), true;
  return false;
}

}  // namespace quarry::expr
