// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/json.hpp"
#include "tools/workloads.hpp"

namespace bench {

namespace {

const AllocationRow* find(const std::vector<AllocationRow>& rows, const std::string& resource) {
  for (const auto& row : rows) {
    if (row.resource == resource && row.error.empty() && row.seconds > 0) return &row;
  }
  return nullptr;
}

std::string streams_text(int streams) { return streams > 0 ? std::to_string(streams) : ""; }

Json json_of(const TransferRow& row) {
  Json out{{"section", row.section}, {"memory", row.memory},   {"direction", row.direction},
           {"layout", row.layout},   {"streams", row.streams}, {"bytes", row.bytes}};
  if (!row.error.empty()) {
    out["error"] = row.error;
    return out;
  }
  out["seconds"] = row.seconds;
  if (row.bytes > 0) out["bytes_per_second"] = row.rate();
  if (row.share > 0) out["share_of_link"] = row.share;
  return out;
}

Json json_of(const AllocationRow& row) {
  Json out{{"workload", row.workload},
           {"group", row.group},
           {"title", row.title},
           {"parameter", row.parameter},
           {"resource", row.resource}};
  if (!row.error.empty()) {
    out["error"] = row.error;
    return out;
  }
  out["seconds"] = row.seconds;
  out["per"] = row.per;
  return out;
}

template <class Row>
Json json_list(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) out.push_back(json_of(row));
  return out;
}

}  // namespace

std::string duration_text(double seconds) {
  constexpr const char* units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  for (; unit < 3 && seconds < 1; ++unit) seconds *= 1e3;
  const int digits = seconds < 10 ? 2 : seconds < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", seconds, digits, units[unit]);
}

std::string rate_text(double bytes_per_second) {
  const double rate = 1e-9 * bytes_per_second;
  return fmt::format("{:.{}f}", rate, rate < 1 ? 3 : rate < 10 ? 2 : rate < 1000 ? 1 : 0);
}

std::string share_text(double share) { return share > 0 ? fmt::format("{:.2f}", share) : ""; }

std::string heading(const Results& results) {
  std::string out = fmt::format("Quarry {}, {}, driver {}, {}\n{}\n", results.version,
                                results.device, results.driver, results.date, results.command);
  if (results.link.up > 0) {
    out += fmt::format("{}: {} GB/s to the device, {} GB/s back\n",
                       results.is_cpu ? "one copy in memory" : "the link, page-locked memory",
                       rate_text(results.link.up), rate_text(results.link.down));
  }
  return out;
}

std::string transfer_heading() {
  return fmt::format("{:<9} {:<4} {:<31} {:>7} {:>8} {:>9} {:>8} {:>11}\n", "memory", "way",
                     "layout", "streams", "size", "time", "GB/s", "of the link");
}

std::string transfer_line(const TransferRow& row) {
  const std::string start =
      fmt::format("{:<9} {:<4} {:<31} {:>7} {:>8} ", row.memory, row.direction, row.layout,
                  streams_text(row.streams), row.bytes > 0 ? size_text(row.bytes) : "");
  if (!row.error.empty()) return start + "failed: " + row.error + "\n";
  return start + fmt::format("{:>9} {:>8} {:>11}\n", duration_text(row.seconds),
                             row.bytes > 0 ? rate_text(row.rate()) : "", share_text(row.share));
}

std::string allocation_heading(const std::vector<std::string>& names) {
  std::string out = fmt::format("{:<46} {:<7}", "workload", "per");
  for (const auto& name : names) out += fmt::format(" {:>12}", name);
  const bool compares = std::find(names.begin(), names.end(), "driver_pool") != names.end();
  return out + (compares ? " pool/driver_pool\n" : "\n");
}

double share_of_driver_pool(const std::vector<AllocationRow>& rows, const std::string& resource) {
  const auto* const ours = find(rows, resource);
  const auto* const theirs = find(rows, "driver_pool");
  return ours && theirs ? ours->seconds / theirs->seconds : 0;
}

std::string allocation_line(const std::vector<AllocationRow>& rows) {
  std::string out = fmt::format("{:<46} {:<7}", rows[0].title, rows[0].per), errors;
  for (const auto& row : rows) {
    const bool was_left_out = row.error.empty() && row.seconds <= 0;
    out += fmt::format(" {:>12}", was_left_out        ? ""
                                  : row.error.empty() ? duration_text(row.seconds)
                                                      : "failed");
    if (!row.error.empty()) errors += "  " + row.resource + ": " + row.error + "\n";
  }
  const double share = share_of_driver_pool(rows, "pool");
  if (share > 0) out += fmt::format(" {:>16}", share_text(share));
  return out + "\n" + errors;
}

std::string to_json(const Results& results) {
  const bool transfers = results.part == "transfers";
  Json out{{"part", results.part},     {"version", results.version}, {"device", results.device},
           {"driver", results.driver}, {"date", results.date},       {"command", results.command},
           {"seconds", results.took}};
  if (transfers) {
    out["link"] = {{"up_bytes_per_second", results.link.up},
                   {"down_bytes_per_second", results.link.down}};
  }
  out["rows"] = transfers ? json_list(results.transfers) : json_list(results.allocation);
  return json_text(out);
}

}  // namespace bench
