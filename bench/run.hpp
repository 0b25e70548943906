// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/sampling.hpp"

/// One row of the report: a work item as one library does it. A row prepares its inputs, checks its
/// result and takes its own samples, so Google Benchmark sees one iteration whose time is their
/// median.
namespace bench {

class Run {
 public:
  /// What the work moves at least: every input byte read once, every output byte written once.
  double bytes = 0;
  /// Extents and the like, for the reader.
  std::string size;

  /// Takes samples after `warm_up` untimed ones. `one()` does the work and returns the seconds that
  /// it took.
  template <class F>
  void sample(F one, int warm_up = 2) {
    samples_ = take_samples(one, {.warm_up = warm_up});
  }
  /// Work that is done when the call returns.
  template <class F>
  void call(F work, int warm_up = 2) {
    sample([&] { return timed(work); }, warm_up);
  }
  /// The time of queueing something tiny: a batch at a time, without the wait that follows.
  template <class F, class Wait>
  void issue(F work, Wait wait) {
    sample([&] { return queued(work, wait); });
  }
  /// The same in turn with `bare`, whose time is the row's limit: what a launch takes changes while
  /// a program runs.
  template <class F, class Bare, class Wait>
  void issue_beside(F work, Bare bare, Wait wait) {
    std::vector<double> limits;
    sample([&] {
      limits.push_back(queued(bare, wait));
      return queued(work, wait);
    });
    std::sort(limits.begin(), limits.end());
    limit_ = median(limits);
  }

  void report(benchmark::State& state) {
    if (samples_.empty()) throw std::logic_error("no samples");
    const double seconds = median(samples_);
    for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(seconds);
    state.SetLabel(size);
    state.counters["bytes"] = bytes;
    state.counters["fastest"] = samples_.front();
    state.counters["slowest"] = samples_.back();
    state.counters["samples"] = static_cast<double>(samples_.size());
    if (limit_ > 0) state.counters["limit"] = limit_;
    if (bytes > 0) state.counters["GB/s"] = 1e-9 * bytes / seconds;
  }

 private:
  template <class F, class Wait>
  static double queued(F work, Wait wait) {
    constexpr int batch = 500;
    const double taken = timed([&] {
      for (int i = 0; i < batch; ++i) work();
    });
    wait();
    return taken / batch;
  }

  std::vector<double> samples_;  ///< sorted
  double limit_ = 0;  ///< measured in turn with the row; else that of a row of limits.cpp
};

/// Registers the row `who/item`, for a static initialiser.
template <class Body>
bool row(const std::string& name, Body body) {
  const auto run_row = [body](benchmark::State& state) {
    try {
      Run run;
      body(run);
      run.report(state);
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), run_row)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  return true;
}

/// Throws unless |got - want| <= tolerance * max(1, |want|). NaN never passes.
inline void expect_near(double got, double want, double tolerance, const std::string& what) {
  if (std::abs(got - want) <= tolerance * std::max(1.0, std::abs(want))) return;
  char text[256];
  std::snprintf(text, sizeof text, "wrong result: %s is %.9g, not %.9g", what.c_str(), got, want);
  throw std::runtime_error(text);
}

}  // namespace bench
