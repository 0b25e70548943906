// SPDX-License-Identifier: BSD-3-Clause
// Reductions of contiguous arrays, over everything and over one axis, and of a fused expression.
#include "device.hpp"

namespace {

using namespace bench;

void declare(Run& run, int inputs, const std::string& size) {
  run.bytes = 4. * inputs * static_cast<double>(large());
  run.size = size;
}

void sum(Run& run) {
  const auto& x = input<float>(0);
  Array<float> out;
  const auto work = [&] { out = qy::sum(x); };
  work();
  expect_near(out.item(), sum_of(large(), [](std::int64_t i) { return uniform(0, i); }), 1e-5,
              "sum");
  declare(run, 1, std::to_string(large()));
  on_device(run, work);
}

void mean(Run& run) {
  const auto& x = input<float>(0);
  Array<float> out;
  const auto work = [&] { out = qy::mean(x); };
  work();
  const double total = sum_of(large(), [](std::int64_t i) { return uniform(0, i); });
  expect_near(out.item(), total / static_cast<double>(large()), 1e-5, "mean");
  declare(run, 1, std::to_string(large()));
  on_device(run, work);
}

/// The first position of the largest element.
std::int64_t first_largest() {
  std::int64_t best[64] = {};
  const std::size_t parts =
      in_parts(large(), [&best](std::size_t part, std::int64_t begin, std::int64_t end) {
        best[part] = begin;
        for (std::int64_t i = begin; i < end; ++i)
          if (uniform(0, i) > uniform(0, best[part])) best[part] = i;
      });
  std::int64_t first = best[0];
  for (std::size_t p = 1; p < parts; ++p)
    if (uniform(0, best[p]) > uniform(0, first)) first = best[p];
  return first;
}

void max(Run& run) {
  const auto& x = input<float>(0);
  Array<float> out;
  const auto work = [&] { out = qy::max(x); };
  work();
  expect_near(out.item(), uniform(0, first_largest()), 0, "max");
  declare(run, 1, std::to_string(large()));
  on_device(run, work);
}

void argmax(Run& run) {
  const auto& x = input<float>(0);
  Array<std::int64_t> out;
  const auto work = [&] { out = qy::argmax(x); };
  work();
  expect_near(static_cast<double>(out.item()), static_cast<double>(first_largest()), 0, "argmax");
  declare(run, 1, std::to_string(large()));
  on_device(run, work);
}

void sum_squares(Run& run) {
  const auto &a = input<float>(0), &b = input<float>(1);
  Array<float> out;
  const auto work = [&] { out = qy::sum((a - b) * (a - b)); };
  work();
  const auto square = [](std::int64_t i) {
    const double d = double(uniform(0, i)) - double(uniform(1, i));
    return d * d;
  };
  expect_near(out.item(), sum_of(large(), square), 1e-5, "sum of squares");
  declare(run, 2, std::to_string(large()));
  on_device(run, work);
}

void sum_axis(Run& run, std::int64_t rows, std::int64_t columns, int axis) {
  const auto x = input<float>(0).reshape({rows, columns});
  Array<float> out;
  const auto work = [&] { out = qy::sum(x, axis); };
  work();
  const std::int64_t results = axis == 0 ? columns : rows, terms = axis == 0 ? rows : columns;
  std::vector<float> host(static_cast<std::size_t>(results));
  out.copy_to_host(host);
  for (std::int64_t j = 0; j < results; j += results / 16 + 1) {
    const std::int64_t first = axis == 0 ? j : j * columns, step = axis == 0 ? columns : 1;
    const double want = sum_of(terms, [=](std::int64_t i) { return uniform(0, first + i * step); });
    expect_near(host[static_cast<std::size_t>(j)], want, 1e-5, "result " + std::to_string(j));
  }
  declare(run, 1, times(rows, columns));
  on_device(run, work);
}

[[maybe_unused]] const bool rows[] = {
    row("quarry/sum", sum),
    row("quarry/max", max),
    row("quarry/argmax", argmax),
    row("quarry/mean", mean),
    row("quarry/sum_axis0", [](Run& run) { sum_axis(run, side(), side(), 0); }),
    row("quarry/sum_axis1", [](Run& run) { sum_axis(run, side(), side(), 1); }),
    row("quarry/sum_tall_axis0", [](Run& run) { sum_axis(run, large() / 64, 64, 0); }),
    row("quarry/sum_tall_axis1", [](Run& run) { sum_axis(run, large() / 64, 64, 1); }),
    row("quarry/sum_squares", sum_squares),
};

}  // namespace
