// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/plots.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/quarry_bench/chart.hpp"
#include "tools/quarry_bench/text.hpp"
#include "tools/workloads.hpp"

namespace bench {

namespace {

std::string bytes_label(double bytes) { return size_text(static_cast<std::size_t>(bytes)); }
std::string plain_label(double value) { return fmt::format("{:.10g}", value); }
std::string rate_label(double rate) { return fmt::format("{:.4g}", 1e-9 * rate); }

/// "1 us" where duration_text says "1.00 us".
std::string tick_label(double seconds) {
  std::string text = duration_text(seconds * 1.000001);
  const auto dot = text.find('.'), space = text.find(' ');
  if (dot == std::string::npos) return text;
  const auto last = text.find_last_not_of('0', space - 1);
  return text.substr(0, last == dot ? dot : last + 1) + text.substr(space);
}

template <class List>
void drop_empty(List& series) {
  std::erase_if(series, [](const auto& s) { return s.points.empty(); });
}

bool is_plain(const TransferRow& row) {
  return row.error.empty() && row.layout == "contiguous" && row.streams == 0 && row.bytes > 0;
}

// --- transfers -----------------------------------------------------------------------------------

std::string rate_over_size(const Results& results, const std::string& title,
                           const std::string& direction, const Mark& mark) {
  LineChart chart{.title = title,
                  .x_title = "size of the copy",
                  .y_title = "GB/s",
                  .x_text = bytes_label,
                  .y_text = rate_label,
                  .series = {},
                  .mark = mark};
  for (const char* memory : {"pageable", "pinned", "mapped", "managed", "device"}) {
    Series series{memory, {}};
    for (const auto& row : results.transfers) {
      const bool both = direction == "both" && row.direction == "both" && row.error.empty();
      if (row.memory == memory && row.direction == direction && (is_plain(row) || both)) {
        series.points.push_back({static_cast<double>(row.bytes), row.rate()});
      }
    }
    chart.series.push_back(series);
  }
  drop_empty(chart.series);
  return chart.series.empty() ? "" : to_svg(chart);
}

std::string time_over_size(const Results& results) {
  LineChart chart{.title = "Small copies, until done",
                  .x_title = "size of the copy",
                  .y_title = "time",
                  .x_text = bytes_label,
                  .y_text = tick_label,
                  .log_y = true,
                  .series = {},
                  .mark = {}};
  for (const char* memory : {"pageable", "pinned"}) {
    for (const char* direction : {"H2D", "D2H"}) {
      Series series{std::string(memory) + " " + direction, {}};
      for (const auto& row : results.transfers) {
        if (is_plain(row) && row.memory == memory && row.direction == direction &&
            row.bytes <= (std::size_t{1} << 20)) {
          series.points.push_back({static_cast<double>(row.bytes), row.seconds});
        }
      }
      chart.series.push_back(series);
    }
  }
  drop_empty(chart.series);
  return chart.series.empty() ? "" : to_svg(chart);
}

/// Puts `value` into the series `name` at `category`, both made where they are missing.
void put(RowChart& chart, const std::string& category, const std::string& name, double value) {
  auto at = std::find(chart.categories.begin(), chart.categories.end(), category);
  if (at == chart.categories.end()) {
    chart.categories.push_back(category);
    for (auto& series : chart.series) series.values.push_back(0);
    at = chart.categories.end() - 1;
  }
  auto found = std::find_if(chart.series.begin(), chart.series.end(),
                            [&](const auto& series) { return series.name == name; });
  if (found == chart.series.end()) {
    chart.series.push_back({name, std::vector<double>(chart.categories.size())});
    found = chart.series.end() - 1;
  }
  found->values[static_cast<std::size_t>(at - chart.categories.begin())] = value;
}

std::size_t largest(const Results& results, bool (*is_wanted)(const TransferRow&)) {
  std::size_t bytes = 0;
  for (const auto& row : results.transfers) {
    if (is_wanted(row)) bytes = std::max(bytes, row.bytes);
  }
  return bytes;
}

bool is_strided(const TransferRow& row) {
  return row.error.empty() && row.bytes > 0 && row.layout != "contiguous";
}

std::string strided_bars(const Results& results, const std::string& direction, const Mark& mark) {
  const std::size_t bytes = largest(results, is_strided);
  const char* const title = direction == "H2D"   ? "Strided, host to device, "
                            : direction == "D2H" ? "Strided, device to host, "
                                                 : "Strided, on the device, ";
  RowChart chart{.title = title + size_text(bytes),
                 .value_title = "GB/s",
                 .value_text = rate_label,
                 .categories = {},
                 .series = {},
                 .mark = mark};
  for (const auto& row : results.transfers) {
    if (is_strided(row) && row.direction == direction && row.bytes == bytes) {
      put(chart, row.layout, row.memory, row.rate());
    }
  }
  return chart.categories.empty() ? "" : to_svg(chart);
}

std::string stream_bars(const Results& results, const Mark& mark) {
  const auto in_streams = [](const TransferRow& row) {
    return row.error.empty() && row.streams > 0 && row.direction != "both";
  };
  const std::size_t bytes = largest(results, in_streams);
  RowChart chart{.title = "Queued in streams, " + size_text(bytes),
                 .value_title = "GB/s",
                 .value_text = rate_label,
                 .categories = {},
                 .series = {},
                 .mark = mark};
  for (const auto& row : results.transfers) {
    if (!in_streams(row) || row.bytes != bytes) continue;
    put(chart, row.memory + " " + row.direction,
        fmt::format("{} stream{}", row.streams, row.streams == 1 ? "" : "s"), row.rate());
  }
  return chart.categories.empty() ? "" : to_svg(chart);
}

// --- allocation ----------------------------------------------------------------------------------

std::string time_over_parameter(const Results& results, const std::string& group,
                                const std::string& title, const std::string& x_title,
                                const NumberText& x_text) {
  LineChart chart{.title = title,
                  .x_title = x_title,
                  .y_title = "time",
                  .x_text = x_text,
                  .y_text = tick_label,
                  .log_y = true,
                  .series = {},
                  .mark = {}};
  for (const auto& row : results.allocation) {
    if (row.group != group || !row.error.empty()) continue;
    const bool half = group == "holes" && row.title.ends_with("512 B");
    const std::string name = row.resource + (group != "holes" ? ""
                                             : half           ? ", too small"
                                                              : ", fitting");
    auto found = std::find_if(chart.series.begin(), chart.series.end(),
                              [&](const auto& series) { return series.name == name; });
    if (found == chart.series.end()) {
      chart.series.push_back({name, {}});
      found = chart.series.end() - 1;
    }
    found->points.push_back({row.parameter, row.seconds});
  }
  return chart.series.empty() ? "" : to_svg(chart);
}

std::string random_dots(const Results& results) {
  RowChart chart{.title = "Random allocations and frees, a call",
                 .value_title = "time",
                 .value_text = tick_label,
                 .log = true,
                 .categories = {},
                 .series = {},
                 .mark = {}};
  for (const auto& row : results.allocation) {
    if ((row.group == "random" || row.group == "handover") && row.error.empty()) {
      put(chart, row.title, row.resource, row.seconds);
    }
  }
  return chart.categories.empty() ? "" : to_svg(chart);
}

std::vector<std::string> without_empty(std::vector<std::string> plots) {
  std::erase(plots, "");
  return plots;
}

}  // namespace

std::vector<std::string> transfer_plots(const Results& results) {
  const char* const name = results.is_cpu ? "one copy in memory" : "the link";
  const Mark up{results.link.up, name}, down{results.link.down, name};
  const Mark both{results.link.up + results.link.down, "the link, up and down"};
  return without_empty({rate_over_size(results, "Host to device, contiguous", "H2D", up),
                        rate_over_size(results, "Device to host, contiguous", "D2H", down),
                        time_over_size(results), stream_bars(results, up),
                        strided_bars(results, "H2D", up), strided_bars(results, "D2H", down),
                        rate_over_size(results, "Both ways at once", "both", both),
                        rate_over_size(results, "On the device, contiguous", "D2D", {}),
                        strided_bars(results, "D2D", {})});
}

std::vector<std::string> allocation_plots(const Results& results) {
  return without_empty(
      {time_over_parameter(results, "pair", "Allocate and free, a pair", "size", bytes_label),
       time_over_parameter(results, "lifo", "64 blocks, last in first out, a pair", "size",
                           bytes_label),
       time_over_parameter(results, "fifo", "64 blocks, first in first out, a pair", "size",
                           bytes_label),
       random_dots(results),
       time_over_parameter(results, "holes", "A pair of 1 KiB beside free holes", "holes",
                           plain_label),
       time_over_parameter(results, "streams", "Allocate, fill, free, a buffer", "streams",
                           plain_label),
       time_over_parameter(results, "threads", "Threads with a stream each, a call of one",
                           "threads", plain_label)});
}

std::vector<std::vector<AllocationRow>> by_workload(const std::vector<AllocationRow>& rows) {
  std::vector<std::vector<AllocationRow>> groups;
  for (const auto& row : rows) {
    if (groups.empty() || groups.back()[0].workload != row.workload) groups.emplace_back();
    groups.back().push_back(row);
  }
  return groups;
}

}  // namespace bench
