// SPDX-License-Identifier: BSD-3-Clause
// Moving averages of daily prices, some of which are missing. Usage: series PRICES.npy
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;
using qy::_, qy::all, qy::range;

int main(int, char** argv) {
  const auto prices = qy::to_device(qy::load_npy<double>(argv[1]));
  const auto gaps = qy::flatnonzero(qy::isnan(prices));
  prices(gaps) = (prices(gaps - 1) + prices(gaps + 1)) / 2;
  std::cout << "filled " << prices(gaps) << " on days " << gaps << '\n';

  const int n = 20;
  const auto windows = qy::sliding_window_view(prices, n);
  const auto mean = windows.mean(1);
  const auto band = 2 * windows.std(1);
  const auto today = prices(range(n - 1, _));
  const auto outside = qy::flatnonzero(qy::abs(today - mean) > band);
  std::cout << "moving average " << mean << '\n';
  std::cout << "outside its band on days " << outside + n - 1 << '\n';

  const auto weights = qy::eval(qy::exp(-qy::arange(n)(range(_, _, -1)) / 5));
  const auto smooth = (windows * weights).sum(1) / weights.sum();
  const auto above = qy::eval(smooth > mean);
  const auto crossings = qy::flatnonzero(above(range(1, _)) != above(range(_, -1)));
  std::cout << "the averages cross on days " << crossings + n << '\n';

  const auto returns = qy::eval(prices(range(1, _)) / prices(range(_, -1)) - 1);
  const auto volatility = qy::sqrt(252 * returns.var({.ddof = 1}));
  std::cout << "volatility " << volatility << " mean return " << returns.mean() << '\n';
  std::cout << "best day " << returns.argmax() + 1 << " with " << returns.max() << '\n';
  std::cout << "worst day " << returns.argmin() + 1 << " with " << returns.min() << '\n';

  const auto weeks = prices(range(prices.len() / 5 * 5)).reshape({-1, 5});
  const auto table = qy::column_stack({weeks(all, 0), weeks.max(1), weeks.min(1), weeks(all, -1)});
  std::cout << table(range(8)) << '\n';
}
