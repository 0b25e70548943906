// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

/// What follows "key :" in a file of such lines, empty when it is not there.
std::string value_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t at = key.size();
    while (at < line.size() &&
           (std::isspace(static_cast<unsigned char>(line[at])) || line[at] == ':'))
      ++at;
    return line.substr(at);
  }
  return {};
}

std::int64_t cache_bytes(int name) { return std::max<std::int64_t>(0, sysconf(name)); }

}  // namespace

DeviceInfo machine_info() {
  DeviceInfo info;
  info.is_cpu = true;
  info.name = value_in("/proc/cpuinfo", "model name");
  if (info.name.empty()) info.name = "CPU";
  return info;
}

std::map<std::string, std::int64_t> machine_attributes() {
  const double megahertz = std::strtod(value_in("/proc/cpuinfo", "cpu MHz").c_str(), nullptr);
  return {{"MULTIPROCESSOR_COUNT", thread_count()},
          {"WARP_SIZE", 1},
          {"MAX_THREADS_PER_BLOCK", 1},
          {"MAX_THREADS_PER_MULTIPROCESSOR", 1},
          {"CLOCK_RATE", static_cast<std::int64_t>(megahertz * 1000)},
          {"L2_CACHE_SIZE", cache_bytes(_SC_LEVEL2_CACHE_SIZE)},
          {"CONCURRENT_KERNELS", 1},
          {"INTEGRATED", 1},
          {"CAN_MAP_HOST_MEMORY", 1},
          {"UNIFIED_ADDRESSING", 1},
          {"MANAGED_MEMORY", 1},
          {"CONCURRENT_MANAGED_ACCESS", 1},
          {"PAGEABLE_MEMORY_ACCESS", 1},
          {"MEMORY_POOLS_SUPPORTED", 0},
          {"STREAM_PRIORITIES_SUPPORTED", 0}};
}

}  // namespace quarry::backend::cpu_backend
