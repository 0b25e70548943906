// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// How often something is timed: `most` times, fewer once `seconds` are over, but `least` times.
struct Sampling {
  int warm_up = 2, least = 3, most = 15;
  double seconds = 0.2;
};

/// What `one()` returns, seconds, sorted; its first calls are not counted.
template <class F>
std::vector<double> take_samples(F one, const Sampling& sampling = {}) {
  for (int i = 0; i < sampling.warm_up; ++i) one();
  std::vector<double> samples;
  const auto start = Clock::now();
  for (int i = 0; i < sampling.most; ++i) {
    if (i >= sampling.least && seconds_since(start) >= sampling.seconds) break;
    samples.push_back(one());
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

inline double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

/// Seconds that `work()` takes on the host.
template <class F>
double timed(F work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

}  // namespace bench
