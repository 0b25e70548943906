// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <functional>
#include <string>
#include <vector>

/// Plots as SVG for the page, which has the colours (classes c0 to c5) and the fonts.
namespace bench {

struct Point {
  double x = 0, y = 0;
};
struct Series {
  std::string name;
  std::vector<Point> points;
};
/// A value that the others are compared with; none where it is 0.
struct Mark {
  double value = 0;
  std::string name;
};
using NumberText = std::function<std::string(double)>;

/// Lines over an axis of powers: every series in x order.
struct LineChart {
  std::string title, x_title, y_title;
  NumberText x_text, y_text;
  bool log_y = false;  ///< else from 0
  std::vector<Series> series;
  Mark mark;
};
std::string to_svg(const LineChart& chart);

/// A row for every category, in it a value of every series (0: none): bars from 0 or, with `log`,
/// dots over an axis of powers of ten.
struct RowChart {
  std::string title, value_title;
  NumberText value_text;
  bool log = false;
  std::vector<std::string> categories;
  struct Values {
    std::string name;
    std::vector<double> values;
  };
  std::vector<Values> series;
  Mark mark;
};
std::string to_svg(const RowChart& chart);

std::string escaped(const std::string& text);  ///< for HTML

}  // namespace bench
