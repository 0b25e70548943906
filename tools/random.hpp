// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

/// Random inputs that are functions of their position, so that an oracle needs no copy of them.
namespace bench {

/// Uniform in [0, 1) with 24 random bits: position `i` of sequence `k`, by splitmix64 (G. Steele,
/// D. Lea, C. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
inline float uniform(std::uint64_t k, std::int64_t i) {
  std::uint64_t z = (k << 48) + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<float>((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

/// Calls f(part, begin, end) for consecutive parts of [0, n), each in a thread of its own, and
/// returns the number of parts.
template <class F>
std::size_t in_parts(std::int64_t n, F f) {
  const auto parts =
      static_cast<std::int64_t>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
  std::vector<std::jthread> threads;
  for (std::int64_t p = 0; p < parts; ++p)
    threads.emplace_back(
        [=] { f(static_cast<std::size_t>(p), n * p / parts, n * (p + 1) / parts); });
  return static_cast<std::size_t>(parts);
}

/// The sum of f(i) in double precision.
template <class F>
double sum_of(std::int64_t n, F f) {
  double sums[64] = {};
  in_parts(n, [f, &sums](std::size_t part, std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += f(i);
    sums[part] = sum;
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace bench
