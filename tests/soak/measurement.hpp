// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What a program that runs for long must not take more and more of.
namespace quarry::soak {

/// At the end of an interval, when nothing is at work and what can be given back has been.
struct Measurement {
  std::int64_t rounds = 0;    ///< since the interval before
  double cpu_seconds = 0;     ///< of all threads, since then
  std::size_t allocated = 0;  ///< bytes of malloc that are in use
  std::size_t resident = 0;   ///< bytes of the process
  std::string live;           ///< what has been made and not destroyed

  double milliseconds_per_round() const;
};

/// Of the process, up to now: seconds of all threads, and bytes.
double cpu_seconds();
std::size_t allocated_bytes();
std::size_t resident_bytes();
/// Streams, events, memory of the devices; waits for them and trims their pools first.
std::string live_counts();

std::string to_string(const Measurement& measurement);
/// What has grown from the first quarter of the measurements to the last, in words; empty if
/// nothing has, or there are too few to say.
std::string growth(const std::vector<Measurement>& measurements);

}  // namespace quarry::soak
