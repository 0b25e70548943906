// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bench {

namespace {

constexpr double width = 640, letter = 7.3, thick = 12;

/// Values to places on the screen.
class Scale {
 public:
  Scale(double from, double to, double at_from, double at_to, bool log)
      : from_(log ? std::log(from) : from),
        to_(log ? std::log(to) : to),
        at_from_(at_from),
        at_to_(at_to),
        log_(log) {}
  double operator()(double value) const {
    const double v = log_ ? std::log(value) : value;
    return at_from_ + (v - from_) / (to_ - from_) * (at_to_ - at_from_);
  }

 private:
  double from_, to_, at_from_, at_to_;
  bool log_;
};

/// A range of values and where its grid lines are.
struct Axis {
  double from = 0, to = 1;
  std::vector<double> ticks;
};

Axis linear_axis(double most) {
  double step = std::pow(10, std::floor(std::log10(most)));
  for (const double part : {0.2, 0.5, 1.0}) {
    if (most / (part * step) <= 6) {
      step *= part;
      break;
    }
  }
  Axis axis{0, step * std::ceil(most * 1.02 / step), {}};
  for (double tick = 0; tick < axis.to + step / 2; tick += step) axis.ticks.push_back(tick);
  return axis;
}

/// From a 1, 2 or 5 to another; over more than two decades only the powers of ten have lines.
Axis log_axis(double least, double most) {
  Axis axis;
  double decade = std::pow(10, std::floor(std::log10(least)));
  for (const double part : {1.0, 2.0, 5.0}) {
    if (part * decade <= least) axis.from = part * decade;
  }
  axis.to = axis.from;
  const bool is_short = most / axis.from < 100;
  for (; axis.to < most || axis.to <= axis.from; decade *= 10) {
    for (const double part : {1.0, 2.0, 5.0}) {
      const double tick = part * decade;
      if (tick < axis.from || (axis.to >= most && axis.to > axis.from)) continue;
      if (part < 2 || is_short) axis.ticks.push_back(tick);
      axis.to = tick;
    }
  }
  return axis;
}

/// The values that occur, thinned until their labels fit.
Axis occurring(const std::vector<Series>& series, double room) {
  Axis axis;
  for (const auto& s : series) {
    for (const auto& p : s.points) axis.ticks.push_back(p.x);
  }
  std::sort(axis.ticks.begin(), axis.ticks.end());
  axis.ticks.erase(std::unique(axis.ticks.begin(), axis.ticks.end()), axis.ticks.end());
  axis.from = axis.ticks.front();
  axis.to = std::max(axis.ticks.back(), 2 * axis.from);
  const auto every =
      static_cast<std::size_t>(std::ceil(static_cast<double>(axis.ticks.size()) * 56 / room));
  std::vector<double> kept;
  for (std::size_t i = 0; i < axis.ticks.size(); i += every) kept.push_back(axis.ticks[i]);
  axis.ticks = kept;
  return axis;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* name) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", name, x1,
      y1, x2, y2);
}

/// Series differ in shape as well as in colour.
std::string marker(std::size_t series, double x, double y, const std::string& tip) {
  std::string shape;
  switch (series % 4) {
    case 0:
      shape = fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"", x, y);
      break;
    case 1:
      shape = fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"7.5\" height=\"7.5\"", x - 3.75,
                          y - 3.75);
      break;
    case 2:
      shape = fmt::format("<path d=\"M{:.1f} {:.1f}l5 8.5h-10z\"", x, y - 5.5);
      break;
    default:
      shape = fmt::format("<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\"", x, y - 5);
  }
  const std::string title = tip.empty() ? "" : "<title>" + escaped(tip) + "</title>";
  const char* const element = series % 4 == 0 ? "circle" : series % 4 == 1 ? "rect" : "path";
  return shape + fmt::format(" class=\"dot c{}\">{}</{}>\n", series % 6, title, element);
}

/// Names beside their markers, in lines from `top` on; moves `top` below them.
template <class List>
std::string legend(const List& series, const Mark& mark, bool bars, double left, double& top) {
  std::string out;
  double x = left;
  const auto place = [&](const std::string& name, auto draw) {
    const double taken = 26 + letter * static_cast<double>(name.size()) + 16;
    if (x > left && x + taken > width) {
      x = left;
      top += 20;
    }
    out += draw(x + 9, top - 4) + text_at(x + 24, top, "start", name);
    x += taken;
  };
  for (std::size_t i = 0; i < series.size(); ++i) {
    place(series[i].name, [&](double at, double y) {
      return bars ? fmt::format(
                        "<rect class=\"bar c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"16\" "
                        "height=\"11\"/>\n",
                        i % 6, at - 8, y - 6)
                  : marker(i, at, y, "");
    });
  }
  if (mark.value > 0) {
    place(mark.name, [&](double at, double y) { return line(at - 9, y, at + 9, y, "mark"); });
  }
  top += 16;
  return out;
}

std::string open(const std::string& title, double height) {
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1} {2:.0f}\" role=\"img\" "
      "aria-label=\"{0}\">\n",
      escaped(title), width, height);
}

/// The lines and markers of all series.
std::string curves(const LineChart& chart, const Scale& x, const Scale& y) {
  std::string out;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    std::string path, dots;
    for (const auto& p : chart.series[i].points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(p.x), y(p.y));
      dots += marker(i, x(p.x), y(p.y),
                     chart.series[i].name + ", " + chart.x_text(p.x) + ": " + chart.y_text(p.y));
    }
    out += fmt::format("<path class=\"line c{}\" d=\"{}\"/>\n{}", i % 6, path, dots);
  }
  return out;
}

/// The bars of category `k`, the first at height `at`, or its dots at that height.
std::string values_of(const RowChart& chart, std::size_t k, const Scale& x, double left,
                      double at) {
  std::string out;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const double v = chart.series[i].values[k];
    if (!(v > 0)) continue;
    const std::string tip =
        chart.series[i].name + ", " + chart.categories[k] + ": " + chart.value_text(v);
    if (chart.log) {
      out += marker(i, x(v), at, tip);
      continue;
    }
    out += fmt::format(
        "<rect class=\"bar c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{}\"><title>{}</title></rect>\n",
        i % 6, left, at + thick * static_cast<double>(i), x(v) - left, thick - 1, escaped(tip));
  }
  return out;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string to_svg(const LineChart& chart) {
  double least = std::numeric_limits<double>::max(), most = chart.mark.value;
  for (const auto& s : chart.series) {
    for (const auto& p : s.points) {
      least = std::min(least, p.y);
      most = std::max(most, p.y);
    }
  }
  if (!(most > 0)) return {};
  constexpr double left = 76, right = width - 16, bottom = 366, height = 410;
  double top = 34;
  std::string body = text_at(8, 16, "start", chart.y_title, " class=\"axis\"");
  body += legend(chart.series, chart.mark, false, left, top);
  const Axis xs = occurring(chart.series, right - left);
  const Axis ys = chart.log_y ? log_axis(least, most) : linear_axis(most);
  const Scale x(xs.from, xs.to, left + 8, right - 12, true),
      y(ys.from, ys.to, bottom, top, chart.log_y);
  for (const double tick : ys.ticks) {
    body += line(left, y(tick), right, y(tick), "grid") +
            text_at(left - 8, y(tick) + 4, "end", chart.y_text(tick));
  }
  for (const double tick : xs.ticks) {
    body += line(x(tick), bottom, x(tick), bottom + 5, "tick") +
            text_at(x(tick), bottom + 20, "middle", chart.x_text(tick));
  }
  body += text_at((left + right) / 2, height - 6, "middle", chart.x_title, " class=\"axis\"");
  if (chart.mark.value > 0) {
    body += line(left, y(chart.mark.value), right, y(chart.mark.value), "mark");
  }
  body += curves(chart, x, y);
  return open(chart.title, height) + body + "</svg></figure>\n";
}

std::string to_svg(const RowChart& chart) {
  double least = std::numeric_limits<double>::max(), most = chart.mark.value;
  std::size_t longest = 0;
  for (const auto& s : chart.series) {
    for (const double v : s.values) {
      if (v > 0) least = std::min(least, v);
      most = std::max(most, v);
    }
  }
  for (const auto& name : chart.categories) longest = std::max(longest, name.size());
  if (!(most > 0)) return {};
  const double left = 20 + letter * static_cast<double>(longest), right = width - 30;
  const double row = chart.log ? 26 : 12 + thick * static_cast<double>(chart.series.size());
  double top = 18;
  std::string body = legend(chart.series, chart.mark, !chart.log, 8, top);
  const double bottom = top + row * static_cast<double>(chart.categories.size());
  const Axis axis = chart.log ? log_axis(least, most) : linear_axis(most);
  const Scale x(axis.from, axis.to, left, right, chart.log);
  for (const double tick : axis.ticks) {
    body += line(x(tick), top, x(tick), bottom, "grid") +
            text_at(x(tick), bottom + 18, "middle", chart.value_text(tick));
  }
  for (std::size_t k = 0; k < chart.categories.size(); ++k) {
    const double at = top + row * static_cast<double>(k), middle = at + row / 2;
    body += text_at(left - 8, middle + 4, "end", chart.categories[k]);
    if (chart.log) body += line(left, middle, right, middle, "grid");
    body += values_of(chart, k, x, left, chart.log ? middle : at + 6);
  }
  if (chart.mark.value > 0) {
    body += line(x(chart.mark.value), top, x(chart.mark.value), bottom, "mark");
  }
  body += text_at((left + right) / 2, bottom + 38, "middle", chart.value_title, " class=\"axis\"");
  return open(chart.title, bottom + 46) + body + "</svg></figure>\n";
}

}  // namespace bench
