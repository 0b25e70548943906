// SPDX-License-Identifier: BSD-3-Clause
#include "soak/measurement.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/quarry.hpp>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry::soak {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::vector<Device> devices() {
  std::vector<Device> all{Device::cpu()};
  for (const Device& gpu : gpus) all.push_back(gpu);
  return all;
}

/// The middle value, so that a disturbance of one interval does not count.
template <class F>
double median(std::vector<Measurement>::const_iterator first,
              std::vector<Measurement>::const_iterator last, F f) {
  std::vector<double> values;
  for (; first != last; ++first) values.push_back(static_cast<double>(f(*first)));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double Measurement::milliseconds_per_round() const {
  return 1e3 * cpu_seconds / static_cast<double>(std::max<std::int64_t>(rounds, 1));
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::size_t allocated_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::size_t resident_bytes() {
  malloc_trim(0);  // what it keeps of many threads' memory is no growth
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::string live_counts() {
  std::string text;
  for (const Device& device : devices()) {
    device.synchronize();
    default_stream(device).synchronize();
    detail::trim_host_memory(device);
    trim_pool(device);
    const PoolStatistics pool = pool_statistics(device);
    text += fmt::format("{} {} bytes  ", to_string(device), pool.active_bytes);
  }
  if (test::kind() == test::Kind::fake) {
    fake::run_pending();
    const fake::Live live = fake::live();
    text += fmt::format("{} streams  {} events  {} blocks  {} host blocks  ", live.streams,
                        live.events, live.device_blocks + live.pool_blocks, live.host_blocks);
  }
  return text;
}

std::string to_string(const Measurement& m) {
  return fmt::format(
      "{:8} rounds  {:8.3f} ms of CPU a round  {:8} bytes allocated  {:5} MiB resident  {}",
      m.rounds, m.milliseconds_per_round(), m.allocated, m.resident / mebibyte, m.live);
}

std::string growth(const std::vector<Measurement>& all) {
  std::string text;
  if (all.empty()) return text;
  if (all.front().live != all.back().live) {
    text += fmt::format("live at first: {}, at the end: {}. ", all.front().live, all.back().live);
  }
  const auto quarter = static_cast<std::ptrdiff_t>(all.size() / 4);
  if (quarter < 2) return text;
  const auto compare = [&](const char* what, auto f, double factor, double slack) {
    const double before = median(all.begin(), all.begin() + quarter, f);
    const double after = median(all.end() - quarter, all.end(), f);
    if (after <= factor * before + slack) return;
    text += fmt::format("{} have grown from {:.3f} to {:.3f}. ", what, before, after);
  };
  compare(
      "bytes allocated", [](const auto& m) { return m.allocated; }, 1.2, 1 << 20);
  compare(
      "MiB resident", [](const auto& m) { return m.resident / mebibyte; }, 1.3, 64);
  compare(
      "ms a round", [](const auto& m) { return m.milliseconds_per_round(); }, 1.4, 0.05);
  return text;
}

}  // namespace quarry::soak
