// SPDX-License-Identifier: BSD-3-Clause
// quarry-bench: what copies and allocations cost on this machine, beside what the machine gives.
#include <quarry/base/config.hpp>
#include <quarry/memory/pool.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <iostream>
#include <thread>

#include "tools/quarry_bench/allocation.hpp"
#include "tools/quarry_bench/options.hpp"
#include "tools/quarry_bench/page.hpp"
#include "tools/quarry_bench/progress.hpp"
#include "tools/quarry_bench/text.hpp"
#include "tools/quarry_bench/transfers.hpp"

namespace {

using namespace bench;

constexpr std::size_t mib = std::size_t{1} << 20;

std::size_t most_bytes(const Options& options, const quarry::Device& device) {
  const std::size_t otherwise = options.quick ? 64 * mib : device.is_cpu() ? 256 * mib : 1024 * mib;
  return options.most_bytes.value_or(otherwise) / 256 * 256;
}

std::string driver_text() {
  const auto [major, minor] = quarry::driver_version();
  return major == 0 ? "none" : fmt::format("CUDA {}.{}", major, minor);
}

Results describe(const quarry::Device& device, const std::string& command) {
  Results results;
  results.command = command;
  results.version = quarry::version;
  results.device = fmt::format("{} ({})", device.name(), to_string(device));
  results.driver = driver_text();
  results.date = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)));
  results.is_cpu = device.is_cpu();
  return results;
}

void print(Progress& progress, const std::string& text) {
  progress.clear();
  std::cout << text << std::flush;
}

double share_of(const Link& link, const TransferRow& row) {
  if (row.direction == "H2D") return row.rate() / link.up;
  if (row.direction == "D2H") return row.rate() / link.down;
  return row.direction == "both" ? row.rate() / (link.up + link.down) : 0;
}

bool has_managed(const quarry::Device& device) {
  if (device.is_cpu()) return false;
  const auto attributes = device.attributes();
  const auto found = attributes.find("CONCURRENT_MANAGED_ACCESS");
  return found != attributes.end() && found->second != 0;
}

void run_transfers(const Options& options, const quarry::Device& device, Results& results) {
  const std::size_t most = most_bytes(options, device);
  const auto cases = transfer_cases({most, options.quick, device.is_cpu(), has_managed(device)});
  Progress progress(cases.size() + 2);
  progress.at("the link", "large copies");
  Transfers transfers(device, most,
                      options.quick ? Sampling{1, 2, 50, 0.01} : Sampling{1, 3, 500, 0.1});
  results.link = transfers.measure_link(options.quick || device.is_cpu() ? 64 * mib : 512 * mib,
                                        options.quick ? 4 : 16);
  print(progress, heading(results));
  std::string section;
  const auto show = [&](const TransferRow& row) {
    if (row.section != section) print(progress, "\n" + row.section + "\n" + transfer_heading());
    section = row.section;
    print(progress, transfer_line(row));
    results.transfers.push_back(row);
  };
  for (const auto& c : cases) {
    progress.at(c.section, fmt::format("{} {} {}", to_string(c.way),
                                       to_string(c.pattern, c.strided), size_text(c.bytes)));
    TransferRow row = transfers.run(c);
    if (!device.is_cpu()) row.share = share_of(results.link, row);
    show(row);
  }
  progress.at("waiting", "");
  for (const auto& row : transfers.latencies()) show(row);
}

void run_allocation(const Options& options, const quarry::Device& device, Results& results) {
  const std::size_t most = most_bytes(options, device);
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto workloads = allocation_workloads(
      {options.quick, device.is_cpu() ? std::min(most, 32 * mib) : most, std::min(cores, 16)});
  const auto resources = candidates(device);
  std::vector<std::string> names;
  names.reserve(resources.size());
  for (const auto& candidate : resources) names.push_back(candidate.name);
  Progress progress(workloads.size() * resources.size());
  print(progress, heading(results) + "\n" + allocation_heading(names));
  const Sampling sampling = options.quick ? Sampling{1, 2, 9, 0.01} : Sampling{1, 3, 15, 0.1};
  for (const auto& workload : workloads) {
    std::vector<AllocationRow> rows;
    for (const auto& candidate : resources) {
      progress.at(workload.group, workload.title + ", " + candidate.name);
      if (candidate.slow && !workload.for_slow) {
        rows.push_back(unmeasured(workload, candidate));
      } else {
        rows.push_back(measure(workload, candidate, sampling));
        results.allocation.push_back(rows.back());
      }
    }
    print(progress, allocation_line(rows));
  }
}

/// Before the measurements, so that a path that cannot be written costs nothing.
void touch(const std::string& path) {
  if (path.empty()) return;
  const std::ofstream file(path, std::ios::app);
  quarry::require<quarry::IoError>(file.good(), [&] { return "cannot write " + path; });
}

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << text << std::flush;
  quarry::require<quarry::IoError>(file.good(), [&] { return "cannot write " + path; });
}

int run(const Options& options, const std::string& command) {
  const auto start = Clock::now();
  touch(options.json);
  touch(options.html);
  const quarry::Device device = options.device.value_or(quarry::Device());
  const quarry::DeviceGuard guard(device);
  Results results = describe(device, command);
  results.part = options.part;
  (options.part == "transfers" ? run_transfers : run_allocation)(options, device, results);
  results.took = seconds_since(start);
  write(options.json, to_json(results));
  write(options.html, to_page(results));
  for (const auto& row : results.transfers) {
    if (!row.error.empty()) return 1;
  }
  for (const auto& row : results.allocation) {
    if (!row.error.empty()) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const auto code = parse_options(options, argc, argv)) return *code;
  std::string command = "quarry-bench";
  for (int i = 1; i < argc; ++i) command.append(" ").append(argv[i]);
  try {
    return run(options, command);
  } catch (const std::exception& error) {
    std::cerr << "quarry-bench: " << error.what() << "\n";
    return 1;
  }
}
