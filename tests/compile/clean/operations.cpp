// SPDX-License-Identifier: BSD-3-Clause
// Loops that the README's program does not have; see cmake/expect_clean.cmake.
#include <quarry/npy.hpp>
#include <quarry/pooled.hpp>
#include <quarry/quarry.hpp>

#include <complex>
#include <tuple>
#include <vector>

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

template <class T>
auto shapes(const quarry::DeviceNDArray<T>& a) {
  using quarry::PadMode;
  const auto joined = quarry::hstack({a, quarry::roll(a, 1, 0)});
  const auto longer = quarry::insert(quarry::delete_(quarry::repeat(joined, {1, 2}, 0), 1), 0, a);
  const auto padded = quarry::pad<PadMode::mean>(quarry::pad(quarry::tile(longer, 2), 1), 1);
  const auto ramp = quarry::pad<PadMode::linear_ramp>(quarry::trim_zeros(padded), {1, 2});
  const auto odd = quarry::pad<PadMode::symmetric>(ramp, 1);
  const auto [x, y] = quarry::meshgrid(odd, quarry::resize(a, {3}));
  return quarry::block({{x, y}, {quarry::eye<T>(3), quarry::eval(quarry::tril(y))}});
}

template <class T>
auto indices(const quarry::DeviceNDArray<T>& a, const quarry::DeviceNDArray<int>& i) {
  const std::vector<quarry::IndexEntry> entries = {1, all, i, a(0) > T(2), true};
  a(entries) = a(a(all, 0) > T(1), i);
  a(false, i) += a(i, 0);
  quarry::add_at(a(entries), T(2));
  return quarry::eval(a(entries) * T(3));
}

/// Wide integers into real and imaginary parts, which may round them.
template <class T>
void numbers(const quarry::DeviceNDArray<T>& a, const quarry::DeviceNDArray<int>& i) {
  quarry::add_at(a(i), std::uint64_t{3});
  quarry::subtract_at(a(i), std::int64_t{4});
  a(i) = std::uint64_t{5};
  a += std::int64_t{6};
}

auto lists_and_sequences() {
  const auto matrix = quarry::array({{1.f, 2.f}, {3.f, 4.f}});
  const auto counts = quarry::bincount(quarry::array({1, 0, 1}), matrix.ravel()(range(3)));
  const auto bytes = quarry::arange<std::uint8_t>(256), some = quarry::arange<std::uint8_t>(0, 9.5);
  const auto steps = quarry::arange<std::int16_t>(0U, 9L, 3);
  const auto points = quarry::linspace<int>(0, 3);
  return std::tuple(quarry::diff(counts, 2), bytes + some, steps, points,
                    quarry::linspace<float>(0, 0.5), quarry::arange<bool>(2));
}

template quarry::DeviceNDArray<float> elementwise(const quarry::DeviceNDArray<float>&);
template quarry::DeviceNDArray<std::complex<double>> elementwise(
    const quarry::DeviceNDArray<std::complex<double>>&);
template quarry::DeviceNDArray<std::int64_t> elementwise(
    const quarry::DeviceNDArray<std::int64_t>&);
template auto indices(const quarry::DeviceNDArray<float>&, const quarry::DeviceNDArray<int>&);
template auto shapes(const quarry::DeviceNDArray<float>&);
template auto reductions(const quarry::DeviceNDArray<double>&);
template auto reductions(const quarry::DeviceNDArray<std::uint8_t>&);
template void numbers(const quarry::DeviceNDArray<std::complex<double>>&,
                      const quarry::DeviceNDArray<int>&);
template void numbers(const quarry::DeviceNDArray<float>&, const quarry::DeviceNDArray<int>&);
