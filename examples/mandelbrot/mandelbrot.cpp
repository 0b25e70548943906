// SPDX-License-Identifier: BSD-3-Clause
// The Mandelbrot set: after how many steps each point leaves the circle. Usage: mandelbrot N
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;
using qy::range, qy::_;

int main(int, char** argv) {
  const int n = std::stoi(argv[1]), limit = 100;
  const auto b = qy::linspace(-1.25, 1.25, n)(qy::all, qy::newaxis), a = qy::linspace(-2., 0.5, n);
  auto x = qy::zeros<double>({n, n}), y = x.copy();
  auto inside = qy::ones<bool>({n, n});
  const auto steps = qy::zeros<int>({n, n});
  for (int step = 0; step < limit; ++step) {
    std::tie(x, y) =
        qy::eval(qy::where(inside, x * x - y * y + a, x), qy::where(inside, 2 * x * y + b, y));
    inside = x * x + y * y < 4;
    steps += inside;
  }
  const auto escaped = qy::eval(steps < limit);
  const auto rows = qy::flatnonzero(inside.any(1)), columns = qy::flatnonzero(inside.any(0));
  std::cout << "area " << 2.5 * 2.5 * inside.mean() << " slowest to leave " << steps(escaped).max()
            << "\nmean steps of those that leave " << steps(escaped).mean()
            << "\nleaving after 0, 1, 2, ... steps " << qy::bincount(steps(escaped))(range(20))
            << "\nrows " << rows(0) << " to " << rows(-1) << " columns " << columns(0) << " to "
            << columns(-1) << "\nsymmetric " << (steps == qy::flipud(steps)).all() << '\n'
            << steps(range(_, _, n / 16), range(_, _, n / 16)) << '\n';
}
