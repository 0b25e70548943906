// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <type_traits>

#include "device.hpp"

/// What the programs share that time the cases of bench/drawn.py.
namespace bench {

using Extents = std::vector<std::int64_t>;

inline std::int64_t product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// "3,4" as {3, 4}, "-" as {}.
inline Extents parse_extents(const std::string& text) {
  Extents extents;
  std::istringstream stream(text == "-" ? "" : text);
  for (std::string entry; std::getline(stream, entry, ',');) extents.push_back(std::stoll(entry));
  return extents;
}

/// Element `i` of the memory: a multiple of 1/64 in [-8, 8), or any int8, so that sums are exact.
template <class T>
T value(std::int64_t i) {
  const int number = static_cast<int>(uniform(0, i) * 1024) - 512;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(number / 4);
  else
    return static_cast<T>(static_cast<float>(number) / 64);
}

/// Keeps a GPU busy for half a millisecond, so that what follows is queued before it starts, and
/// fills its cache with something else. It only reads: lines to be written back would cost time
/// later.
inline void occupy_device() {
  if (qy::get_current_device().is_cpu()) return;
  static const auto& block = *new Array<float>(qy::full<float>({1 << 27}, 0.f));
  for (int i = 0; i < 4; ++i) qy::sum(block);
}

/// Prints the line "ID ok SECONDS" or "ID error REASON".
template <class F>
void report_case(const std::string& id, F seconds) {
  try {
    std::printf("%s ok %.9g\n", id.c_str(), seconds());
  } catch (const std::exception& error) {
    std::string reason = error.what();
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    std::printf("%s error %s\n", id.c_str(), reason.c_str());
  }
  std::fflush(stdout);
}

/// Names the device and, on the CPU, the speed of a copy in bytes read and written per second.
inline void describe_machine() {
  const qy::Device device = qy::get_current_device();
  std::printf("device %s %s\n", to_string(device).c_str(), device.name().c_str());
  if (!device.is_cpu()) return;
  constexpr std::int64_t bytes = std::int64_t{1} << 27;
  std::vector<char> from(bytes, 'a'), to(bytes, 'b');
  const auto copy_part = [&](std::size_t, std::int64_t begin, std::int64_t end) {
    std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
  };
  const auto samples = take_samples([&] { return timed([&] { in_parts(bytes, copy_part); }); });
  std::printf("copy %.9g\n", 2. * bytes / median(samples));
}

/// The program's main: run(the lines of the file of cases), or --machine.
template <class F>
int run_drawn(int argc, char** argv, F run) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s CASES | --machine\n", argv[0]), 2;
  if (argv[1] == std::string("--machine")) return describe_machine(), 0;
  std::ifstream file(argv[1]);
  if (!file) return std::fprintf(stderr, "%s: cannot read %s\n", argv[0], argv[1]), 1;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  run(lines);
  return 0;
}

}  // namespace bench
