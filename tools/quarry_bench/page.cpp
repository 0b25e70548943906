// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/quarry_bench/chart.hpp"
#include "tools/quarry_bench/plots.hpp"
#include "tools/quarry_bench/text.hpp"
#include "tools/workloads.hpp"

namespace bench {

namespace {

/// The colours are Okabe and Ito's, which stay apart for the colour-blind, lighter on a dark page.
constexpr const char* style = R"(
:root { color-scheme: light dark; --back: #fdfdfc; --text: #1c1d1f; --quiet: #5a5e66;
  --grid: #dcdee2; --panel: #fff; --bar: #d7e7f3; --mark: #1c1d1f;
  --c0: #0072b2; --c1: #d55e00; --c2: #00835f; --c3: #b3548a; --c4: #9c6a00; --c5: #3f8fc4; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --text: #e8e9eb; --quiet: #a3a8b1; --grid: #363a42; --panel: #1e2126;
    --bar: #24435a; --mark: #f3f3f3;
    --c0: #56b4e9; --c1: #ff8f4d; --c2: #2fc79a; --c3: #e59ac8; --c4: #f0c24b; --c5: #a9b4ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1400px; background: var(--back);
  color: var(--text); font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 26px; margin: 0 0 12px; }
h2 { font-size: 19px; margin: 36px 0 12px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: 14px ui-monospace, "DejaVu Sans Mono", monospace; }
p { max-width: 90ch; color: var(--quiet); }
.plots { display: grid; gap: 18px; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); }
figure { margin: 0; padding: 14px 14px 8px; background: var(--panel); border: 1px solid var(--grid);
  border-radius: 6px; }
figcaption { font-weight: 600; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--text); font-size: 13px; }
svg text.axis { fill: var(--quiet); }
.grid, .tick { stroke: var(--grid); stroke-width: 1; }
.mark { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 6 4; }
.line { fill: none; stroke: currentColor; stroke-width: 2.2; }
.dot, .bar { fill: currentColor; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); }
.c3 { color: var(--c3); } .c4 { color: var(--c4); } .c5 { color: var(--c5); }
.tables { display: grid; gap: 0 36px; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 14px 0 6px; }
th, td { padding: 3px 14px 3px 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th { color: var(--quiet); font-weight: 500; }
th.left, td.left { text-align: left; }
td.share { background: linear-gradient(var(--bar), var(--bar)) no-repeat left / var(--part) 100%;
  padding-left: 6px; }
)";

std::string row_of(const std::vector<std::string>& cells, std::size_t left, const char* tag) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out +=
        fmt::format("<{0}{1}>{2}</{0}>", tag, i < left ? " class=\"left\"" : "", escaped(cells[i]));
  }
  return out;
}

std::string open_table(const std::string& caption, const std::vector<std::string>& heads,
                       std::size_t left) {
  return "<div class=\"scroll\"><table><caption>" + escaped(caption) + "</caption><thead>" +
         row_of(heads, left, "th") + "</tr></thead><tbody>\n";
}

constexpr const char* close_table = "</tbody></table></div>\n";

std::string transfer_tables(const Results& results) {
  std::string out, section;
  for (const auto& row : results.transfers) {
    if (row.section != section) {
      out += (section.empty() ? "" : close_table) +
             open_table(
                 row.section,
                 {"memory", "way", "layout", "streams", "size", "time", "GB/s", "of the link"}, 3);
    }
    section = row.section;
    const bool failed = !row.error.empty();
    out += row_of(
        {row.memory, row.direction, row.layout, row.streams > 0 ? std::to_string(row.streams) : "",
         row.bytes > 0 ? size_text(row.bytes) : "", failed ? row.error : duration_text(row.seconds),
         failed || row.bytes == 0 ? "" : rate_text(row.rate())},
        3, "td");
    out += fmt::format("<td class=\"share\" style=\"--part: {:.0f}%\">{}</td></tr>\n",
                       100 * std::min(row.share, 1.0), share_text(row.share));
  }
  return section.empty() ? out : out + close_table;
}

std::string allocation_table(const Results& results) {
  std::vector<std::string> heads{"workload", "per"}, names;
  for (const auto& row : results.allocation) {
    if (std::find(names.begin(), names.end(), row.resource) == names.end()) {
      names.push_back(row.resource);
    }
  }
  heads.insert(heads.end(), names.begin(), names.end());
  const bool compares = std::find(names.begin(), names.end(), "driver_pool") != names.end();
  if (compares) heads.emplace_back("pool / driver_pool");
  std::string out = open_table("Time of one call, pair or buffer", heads, 2);
  for (const auto& rows : by_workload(results.allocation)) {
    std::vector<std::string> cells{rows[0].title, rows[0].per};
    for (const auto& name : names) {
      const auto found = std::find_if(rows.begin(), rows.end(),
                                      [&](const auto& row) { return row.resource == name; });
      const bool failed = found != rows.end() && !found->error.empty();
      cells.push_back(found == rows.end() ? ""
                      : failed            ? found->error
                                          : duration_text(found->seconds));
    }
    if (compares) cells.push_back(share_text(share_of_driver_pool(rows, "pool")));
    out += row_of(cells, 2, "td") + "</tr>\n";
  }
  return out + close_table;
}

std::string facts(const Results& results) {
  const auto fact = [](const char* name, const std::string& text) {
    return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, text);
  };
  std::string out = "<dl>\n" + fact("device", escaped(results.device)) +
                    fact("driver", escaped(results.driver)) + fact("date", results.date) +
                    fact("Quarry", results.version) +
                    fact("command", "<code>" + escaped(results.command) + "</code>");
  if (results.link.up > 0) {
    out += fact(results.is_cpu ? "one copy in memory" : "the link",
                fmt::format("{} GB/s to the device, {} GB/s back, by the device's own call, large "
                            "{}copies in this run",
                            rate_text(results.link.up), rate_text(results.link.down),
                            results.is_cpu ? "" : "page-locked "));
  }
  return out + fact("took", duration_text(results.took)) + "</dl>\n";
}

}  // namespace

std::string to_page(const Results& results) {
  const bool transfers = results.part == "transfers";
  const std::string title = transfers ? "Quarry: transfers" : "Quarry: allocation";
  std::string plots;
  for (const auto& plot : transfers ? transfer_plots(results) : allocation_plots(results)) {
    plots += plot;
  }
  const char* const note =
      transfers
          ? "Times are medians, until the copy is done. GB/s are 10^9 bytes of elements a "
            "second; a copy on the device reads and writes each of them. Every configuration "
            "was checked before it was timed."
          : "Times are medians. <code>nothing</code> is a resource that does nothing: what the "
            "loop around the calls costs, which is in every time here.";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n{2}<p>{3}</p>\n"
      "<div class=\"plots\">\n{4}</div>\n<h2>All results</h2>\n<div "
      "class=\"tables\">{5}</div>\n</body></html>\n",
      title, style, facts(results), note, plots,
      transfers ? transfer_tables(results) : allocation_table(results));
}

}  // namespace bench
