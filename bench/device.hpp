// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include <cstdlib>
#include <limits>
#include <map>
#include <span>

#include "run.hpp"
#include "tools/random.hpp"

/// What the benchmarks of arrays share: sizes, inputs, device timing, checks.
namespace bench {

namespace qy = quarry;
template <class T>
using Array = qy::DeviceNDArray<T>;

/// The large rows have 2^log2_size() elements: QUARRY_BENCH_LOG2 (even), else 28 on a GPU and 24 on
/// the CPU.
inline int log2_size() {
  if (const char* text = std::getenv("QUARRY_BENCH_LOG2")) return std::atoi(text) / 2 * 2;
  return qy::get_current_device().is_cpu() ? 24 : 28;
}
inline std::int64_t large() { return std::int64_t{1} << log2_size(); }
/// The side of a square of large() elements.
inline std::int64_t side() { return std::int64_t{1} << log2_size() / 2; }

inline std::string times(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + " x " + std::to_string(b);
}

template <class F>
double time_on_device(F work) {
  if (qy::get_current_device().is_cpu()) {
    const auto start = Clock::now();
    work();
    qy::synchronize();
    return seconds_since(start);
  }
  const qy::Event begin = qy::current_stream().record();
  work();
  const qy::Event end = qy::current_stream().record();
  end.synchronize();
  return 1e-3 * static_cast<double>(begin.elapsed_time(end));
}

/// Times queued work between two events of the device; on the CPU, until it is done.
template <class F>
void on_device(Run& run, F work, int warm_up = 2) {
  run.sample([&] { return time_on_device(work); }, warm_up);
}

/// `n` elements f(0), f(1), ... on the device.
template <class T, class F>
Array<T> array_of(std::int64_t n, F f) {
  constexpr std::int64_t piece = std::int64_t{1} << 24;
  Array<T> result(qy::Shape{n});
  std::vector<T> host(static_cast<std::size_t>(std::min(n, piece)));
  for (std::int64_t at = 0; at < n; at += piece) {
    const std::int64_t count = std::min(piece, n - at);
    in_parts(count, [&, at](std::size_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) host[static_cast<std::size_t>(i)] = f(at + i);
    });
    result(qy::range(at, at + count))
        .copy_to_device(std::span<const T>(host.data(), static_cast<std::size_t>(count)));
  }
  return result;
}
/// `n` elements uniform(k, 0), uniform(k, 1), ... on the device.
template <class T>
Array<T> random_array(std::uint64_t k, std::int64_t n) {
  return array_of<T>(n, [k](std::int64_t i) { return static_cast<T>(uniform(k, i)); });
}

/// The large input number `k`, made on first use and kept to the end of the process.
template <class T>
const Array<T>& input(std::uint64_t k) {
  static auto& inputs = *new std::map<std::uint64_t, Array<T>>;
  const auto found = inputs.find(k);
  if (found != inputs.end()) return found->second;
  return inputs.emplace(k, random_array<T>(k, large())).first->second;
}

/// A result that is NaN wherever the work writes nothing.
template <class T>
Array<T> poisoned(const qy::Shape& shape) {
  return qy::full<T>(shape, static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
}

template <class T, class F>
void check_part(const Array<T>& flat, std::int64_t begin, std::int64_t end, std::int64_t step,
                F expected, double tolerance) {
  const Array<T> part = flat(qy::range(begin, end, step)).copy();
  std::vector<T> host(static_cast<std::size_t>(part.size()));
  part.copy_to_host(host);
  for (std::size_t j = 0; j < host.size(); ++j) {
    const std::int64_t i = begin + static_cast<std::int64_t>(j) * step;
    expect_near(static_cast<double>(host[j]), static_cast<double>(expected(i)), tolerance,
                "element " + std::to_string(i));
  }
}

/// Compares both ends of a C-contiguous result, and about 2^16 elements between, with expected(i),
/// where i is the position in C order.
template <class T, class F>
void check(const Array<T>& result, F expected, double tolerance) {
  const Array<T> flat = result.ravel();
  const std::int64_t n = flat.size(), end = std::min<std::int64_t>(n, 4099);
  check_part(flat, 0, end, 1, expected, tolerance);
  check_part(flat, n - end, n, 1, expected, tolerance);
  check_part(flat, 0, n, n / 65536 * 2 + 1, expected, tolerance);
}

}  // namespace bench
