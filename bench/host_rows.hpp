// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "tools/sampling.hpp"

/// What the programs that bench/host.py drives have in common: the inputs, and the answers to the
/// lines "who operation dtype extents", seconds of a call and a figure made of its result.
namespace bench {

using Extents = std::vector<std::int64_t>;

/// Some work that may be repeated, and its figure.
struct Work {
  std::function<void()> run;
  std::function<double()> figure;
};

/// How to prepare the work of "who operation dtype".
using Rows = std::map<std::string, std::function<Work(const Extents&)>>;

template <class T>
const char* dtype_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (sizeof(T) == 1) return "int8";
  return sizeof(T) == 4 ? "int32" : "int64";
}

/// Calls f with a zero of every type that most rows are measured with.
template <class F>
void for_types(F f) {
  f(0.f);
  f(0.);
  f(std::int8_t{});
  f(std::int32_t{});
}

/// Calls f with zeros of the types between which is converted.
template <class F>
void for_conversions(F f) {
  f(0.f, std::int8_t{});
  f(0.f, std::int32_t{});
  f(0.f, 0.);
  f(0., 0.f);
  f(std::int8_t{}, 0.f);
  f(std::int32_t{}, 0.f);
  f(std::int32_t{}, std::int8_t{});
}

inline std::int64_t count(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// Element `i` of input `k`, as in bench/peers/host_peer.py: bools are false, bytes in [-50, 50],
/// integers in [-1000, 1000], floating numbers in (0, 8].
template <class T>
T value_at(int k, std::int64_t i) {
  const std::int64_t u = (i * 7919 + k * 104729) % 1000003;
  if constexpr (std::is_same_v<T, bool>)
    return false;
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(8. * static_cast<double>(u + 1) / 1000003.);
  else
    return static_cast<T>(sizeof(T) == 1 ? u % 101 - 50 : u % 2001 - 1000);
}

/// A sum of the elements with weights, which tells wrong places too.
template <class T>
double figure_of(const T* data, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    sum += static_cast<double>(data[i]) * static_cast<double>(1 + i % 7);
  return sum;
}

/// The shortest time of a call among samples of 0.1 ms or more, which take 20 ms together.
inline double fastest(const std::function<void()>& run) {
  run();
  const double once = timed(run);
  const int batch = 1 + static_cast<int>(1e-4 / std::max(once, 1e-8));
  const auto one = [&] {
    return timed([&] {
             for (int i = 0; i < batch; ++i) run();
           }) /
           batch;
  };
  return take_samples(one, {.warm_up = 1, .least = 3, .most = 1000, .seconds = 0.02}).front();
}

/// Answers lines until the input ends, "-" where there is no such row. Work is kept until another
/// one is asked for.
inline int serve(const Rows& rows) {
  std::string line, last;
  Work work;
  while (std::getline(std::cin, line)) {
    std::istringstream stream(line);
    std::string who, operation, dtype, extent;
    stream >> who >> operation >> dtype;
    const auto found = rows.find(who + ' ' + operation + ' ' + dtype);
    if (found == rows.end()) {
      std::cout << "-" << std::endl;
      continue;
    }
    if (line != last) {
      Extents extents;
      while (stream >> extent) extents.push_back(std::stoll(extent));
      work = {};
      work = found->second(extents);
      last = line;
    }
    const double seconds = fastest(work.run);
    std::cout.precision(9);
    std::cout << seconds << ' ' << work.figure() << std::endl;
  }
  return 0;
}

}  // namespace bench
