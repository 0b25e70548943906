// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "accuracy/draw.hpp"
#include "accuracy/quad.hpp"

/// Runs an operation on the device, and finds the largest error among its results.
namespace quarry::accuracy {

/// What an error is measured in, besides units in the last place of what is asked for.
enum class Metric {
  each_part,  ///< real results, and both parts of complex ones, each by itself
  magnitude,  ///< the distance of complex numbers, in units of the absolute value
  power,      ///< magnitude, and in units of what a rounding of log x is multiplied by
};

struct Settings {
  std::size_t draws;
  std::uint64_t seed;
  std::string only;  ///< the one function, or empty for all
};

/// What one function and element type came to.
struct Result {
  std::string function, type;
  double worst = 0, bound = 0;  ///< in units in the last place
  std::size_t wrong = 0;        ///< NaN, infinity or the sign of zero where it is another
  std::string where, wrong_where;
};

/// The format of the parts of a result, and what is special about the comparison.
struct Comparison {
  int digits, least, most;
  Metric metric;
  std::size_t operands;
};

/// Compares the result of operands `x` and adds to `result`.
void compare(const Comparison& how, const Number* x, const Number& got, const Number& want,
             Result& result);
/// Adds what another thread found.
void merge(Result& into, const Result& from);

template <class T>
Number number(const T& value) {
  if constexpr (is_complex<T>)
    return {Quad(value.real()), Quad(value.imag())};
  else if constexpr (sizeof(T) == 2)
    return {Quad(static_cast<float>(value)), 0};
  else
    return {Quad(value), 0};
}

template <class T>
using Operand = std::vector<T>;

/// The operands of a unary function: all there are of a 16-bit type, else special and drawn values.
template <class T>
std::array<Operand<T>, 1> unary_operands(std::size_t draws, Random& random) {
  Operand<T> x;
  if constexpr (sizeof(T) == 2) {
    x.resize(1 << 16);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      std::memcpy(static_cast<void*>(&x[i]), &bits, sizeof bits);
    }
  } else {
    x = special_values<T>();
    std::generate_n(std::back_inserter(x), draws, [&] { return draw<T>(random); });
  }
  return {x};
}
/// Those of a binary one: all pairs of special values, and drawn ones.
template <class T>
std::array<Operand<T>, 2> binary_operands(std::size_t draws, Random& random) {
  Operand<T> x, y;
  const auto special = special_values<T>();
  for (const T& a : special) {
    for (const T& b : special) {
      if (is_complex<T> && random() % 16 != 0) continue;  // there are 280,000 pairs
      x.push_back(a);
      y.push_back(b);
    }
  }
  for (std::size_t i = 0; i < draws; ++i) {
    x.push_back(draw<T>(random));
    y.push_back(draw<T>(random));
  }
  return {x, y};
}

template <class Out, class T, std::size_t N>
Result compare_all(const Comparison& how, Oracle oracle, const std::array<Operand<T>, N>& x,
                   const Out* got) {
  const std::size_t count = x[0].size(), parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Result> found(parts);
  {
    std::vector<std::jthread> threads;
    for (std::size_t p = 0; p < parts; ++p) {
      threads.emplace_back([&, p] {
        for (std::size_t i = count * p / parts; i < count * (p + 1) / parts; ++i) {
          Number operands[N];
          for (std::size_t k = 0; k < N; ++k) operands[k] = number(x[k][i]);
          compare(how, operands, number(got[i]), oracle(operands), found[p]);
        }
      });
    }
  }
  Result all;
  for (const Result& part : found) merge(all, part);
  return all;
}

/// A function of Quarry as an object.
#define QUARRY_CALL(name) [](const auto&... x) { return quarry::name(x...); }

/// Measures `f`, which takes arrays, on the operands `x`, if the settings ask for `name`.
template <class T, std::size_t N, class F>
void measure(const Settings& settings, std::vector<Result>& results, const char* name, F f,
             Metric metric, double bound, const std::array<Operand<T>, N>& x) {
  if (!settings.only.empty() && settings.only != name) return;
  using Format = accuracy::Format<T>;
  std::array<DeviceNDArray<T>, N> arrays;
  for (std::size_t k = 0; k < N; ++k) arrays[k] = to_device(x[k]);
  const auto computed = eval(std::apply(f, arrays));
  using Out = typename std::remove_cvref_t<decltype(computed)>::value_type;
  std::vector<Out> got(x[0].size());
  computed.copy_to_host(got);
  const Comparison how{Format::digits, Format::least, Format::most, metric, N};
  const Oracle oracle = is_complex<T> ? complex_oracle(name) : real_oracle(name);
  Result result = compare_all(how, oracle, x, got.data());
  result.function = name;
  result.type = std::string(dtype_of<T>.name());
  result.bound = bound;
  results.push_back(std::move(result));
}

/// One file each.
void measure_real(const Settings& settings, std::vector<Result>& results);
void measure_complex(const Settings& settings, std::vector<Result>& results);

}  // namespace quarry::accuracy
