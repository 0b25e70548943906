// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// What allocators are timed with: one definition for quarry-bench, for bench/allocation.cpp and,
/// in Python, for bench/peers/items.py. Nothing that is timed draws a random number.
namespace bench {

/// A resource to be timed. The calls of a slow one (a driver call each) are repeated less often.
struct Candidate {
  std::string name;
  quarry::Resource resource;
  bool slow = false;
};

/// Takes one sample: the seconds of one `Workload::per`, the mean of a batch. Holds what the
/// workload keeps allocated.
using Sample = std::function<double()>;

struct Workload {
  std::string name;      ///< pair_4KiB
  std::string group;     ///< pair, lifo, fifo, random, holes, streams, threads or handover
  std::string title;     ///< allocate and free 4 KiB
  std::string per;       ///< what a time is the time of: pair, call, buffer
  double parameter = 0;  ///< bytes, allocations, holes, streams or threads
  bool for_slow = true;  ///< whether it ends in reasonable time with a slow resource
  std::function<Sample(const Candidate&)> prepare;
};

struct WorkloadOptions {
  bool quick = false;
  std::size_t most_bytes = std::size_t{1} << 30;  ///< of one block
  int most_threads = 16;
};
std::vector<Workload> allocation_workloads(const WorkloadOptions& options);

/// An allocation of `bytes`, or the end of the one at `victim` (whose place the last one takes).
struct Step {
  std::size_t bytes = 0, victim = 0;
};
/// The steps of RMM's random_allocations benchmark: 2 * `count` steps, each an allocation of 1 byte
/// to `most_bytes` (uniform) with a chance of 73 in 100, if fewer than `count` were made and no
/// more than 16000 MiB would be live.
std::vector<Step> random_steps(int count, std::size_t most_bytes);
/// The same with sizes whose logarithm is uniform, 256 bytes to 16 MiB, seeded.
std::vector<Step> mixed_steps(int count, unsigned seed);

/// 4 KiB
std::string size_text(std::size_t bytes);

}  // namespace bench
