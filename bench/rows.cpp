// SPDX-License-Identifier: BSD-3-Clause
// Row programs over rows of 8192 elements, and over columns, of one contiguous array.
#include "device.hpp"

#include <cmath>

namespace {

using namespace bench;

constexpr std::int64_t columns = 8192;

/// An array of rows of 8192 elements, or of as few as there are.
Array<float> matrix() {
  const std::int64_t row = std::min(columns, large());
  return input<float>(0).reshape({large() / row, row});
}

/// What a row, or a column, gives: the mean, the deviation, and the sum of exponentials.
struct Line {
  double mean, deviation, exponentials;

  Line(std::int64_t n, std::int64_t first, std::int64_t step) {
    const auto at = [=](std::int64_t i) { return double(uniform(0, first + i * step)); };
    mean = sum_of(n, at) / static_cast<double>(n);
    const double m = mean;
    const auto square = [=](std::int64_t i) { return (at(i) - m) * (at(i) - m); };
    deviation = std::sqrt(sum_of(n, square) / static_cast<double>(n));
    exponentials = sum_of(n, [=](std::int64_t i) { return std::exp(at(i)); });
  }
};

/// f(x, axis) has a result for every element, which is expected(element, its line).
template <class F, class E>
void every_element(Run& run, int axis, const F& f, const E& expected) {
  const auto x = matrix();
  const std::int64_t rows = x.shape()[0], row = x.shape()[1];
  Array<float> out;
  const auto work = [&] { out = f(x, axis); };
  work();
  const std::int64_t n = axis == 1 ? row : rows, step = axis == 1 ? 1 : row;
  for (const std::int64_t k : {std::int64_t{0}, (axis == 1 ? rows : row) - 1}) {
    const std::int64_t first = axis == 1 ? k * row : k;
    const Line line(n, first, step);
    const auto want = [&](std::int64_t i) { return expected(uniform(0, first + i * step), line); };
    check(axis == 1 ? out(k).copy() : out(qy::all, k).copy(), want, 1e-4);
  }
  run.bytes = 8. * static_cast<double>(large());
  run.size = times(rows, row);
  on_device(run, work);
}

/// f(x, 1) has a result for every row, which is expected(its line).
template <class F, class E>
void every_row(Run& run, const F& f, const E& expected) {
  const auto x = matrix();
  const std::int64_t rows = x.shape()[0], row = x.shape()[1];
  Array<float> out;
  const auto work = [&] { out = f(x); };
  work();
  const std::int64_t last = rows - 1;
  expect_near(out(last).item(), expected(Line(row, last * row, 1)), 1e-4, "the last row");
  run.bytes = 4. * static_cast<double>(large());
  run.size = times(rows, row);
  on_device(run, work);
}

void softmax(Run& run, int axis) {
  every_element(
      run, axis, [](const auto& x, int a) { return qy::softmax(x, a); },
      [](double x, const Line& line) { return std::exp(x) / line.exponentials; });
}
void log_softmax(Run& run) {
  every_element(
      run, 1, [](const auto& x, int a) { return qy::log_softmax(x, a); },
      [](double x, const Line& line) { return x - std::log(line.exponentials); });
}
void standardise(Run& run) {
  every_element(
      run, 1, [](const auto& x, int a) { return qy::standardise(x, a); },
      [](double x, const Line& line) { return (x - line.mean) / line.deviation; });
}
void logsumexp(Run& run) {
  every_row(
      run, [](const auto& x) { return qy::logsumexp(x, 1); },
      [](const Line& line) { return std::log(line.exponentials); });
}
void var(Run& run) {
  every_row(
      run, [](const auto& x) { return qy::var(x, 1); },
      [](const Line& line) { return line.deviation * line.deviation; });
}

[[maybe_unused]] const bool rows[] = {
    row("quarry/softmax", [](Run& run) { softmax(run, 1); }),
    row("quarry/softmax_axis0", [](Run& run) { softmax(run, 0); }),
    row("quarry/log_softmax", log_softmax),
    row("quarry/standardise", standardise),
    row("quarry/logsumexp", logsumexp),
    row("quarry/var_rows", var),
};

}  // namespace
