// SPDX-License-Identifier: BSD-3-Clause
// Loops that the README's program does not have; see cmake/expect_clean.cmake.
#include <quarry/npy.hpp>
#include <quarry/pooled.hpp>
#include <quarry/quarry.hpp>

#include <complex>

using quarry::all, quarry::range, quarry::_;

QUARRY_FUNCTION(saxpy, (auto a, auto x, auto y), a* x + y);

template <class T>
quarry::DeviceNDArray<T> elementwise(const quarry::DeviceNDArray<T>& a) {
  quarry::DeviceNDArray<T> b = quarry::where(a == T(1), a * T(2), quarry::square(a) - a);
  b(range(1, _)) = saxpy(T(2), a(range(_, -1)), b(range(1, _)));
  b += quarry::conj(b);
  return b;
}
template <class T>
auto reductions(const quarry::DeviceNDArray<T>& a) {
  return quarry::sum(a, 0) + quarry::prod(a, {0}) + quarry::max(a) + quarry::argmin(a * T(2));
}

template quarry::DeviceNDArray<float> elementwise(const quarry::DeviceNDArray<float>&);
template quarry::DeviceNDArray<std::complex<double>> elementwise(
    const quarry::DeviceNDArray<std::complex<double>>&);
template quarry::DeviceNDArray<std::int64_t> elementwise(
    const quarry::DeviceNDArray<std::int64_t>&);
template auto reductions(const quarry::DeviceNDArray<double>&);
template auto reductions(const quarry::DeviceNDArray<std::uint8_t>&);
