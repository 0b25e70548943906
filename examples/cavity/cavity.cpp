// SPDX-License-Identifier: BSD-3-Clause
// Flow in a square cavity whose lid moves: the equations of Navier and Stokes for an incompressible
// fluid, by finite differences. A step is captured once and launched as a whole.
// Usage: cavity STEPS
#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;

constexpr int n = 41;
constexpr double dt = 0.001, viscosity = 0.1, d = 2. / (n - 1);
const auto in = qy::range(1, -1), after = qy::range(2, qy::_), before = qy::range(qy::_, -2);

auto east(const auto& w) { return w(in, after); }
auto west(const auto& w) { return w(in, before); }
auto north(const auto& w) { return w(after, in); }
auto south(const auto& w) { return w(before, in); }

void move(const auto& w, const auto& un, const auto& vn, const auto& gradient) {
  const auto wn = w.copy();
  const auto drift = un(in, in) * (wn(in, in) - west(wn)) + vn(in, in) * (wn(in, in) - south(wn));
  const auto around = east(wn) + west(wn) + north(wn) + south(wn) - 4 * wn(in, in);
  w(in, in) = wn(in, in) - dt / d * (drift + gradient / 2) + viscosity * dt / (d * d) * around;
  w(0) = w(qy::all, 0) = w(qy::all, -1) = w(-1) = 0;
}

int main(int, char** argv) {
  const auto u = qy::zeros<double>({n, n}), v = u.copy(), p = u.copy(), b = u.copy();
  const auto step = qy::capture([&] {
    const auto ux = east(u) - west(u), uy = north(u) - south(u);
    const auto vx = east(v) - west(v), vy = north(v) - south(v);
    b(in, in) = (ux + vy) / (2 * d * dt) - (ux * ux + 2 * uy * vx + vy * vy) / (4 * d * d);
    for (int i = 0; i < 50; ++i) {
      const auto q = p.copy();
      p(in, in) = (east(q) + west(q) + north(q) + south(q) - d * d * b(in, in)) / 4;
      p(qy::all, -1) = p(qy::all, -2);
      p(0) = p(1);
      p(qy::all, 0) = p(qy::all, 1);
      p(-1) = 0;
    }
    const auto un = u.copy(), vn = v.copy();
    move(u, un, vn, east(p) - west(p));
    move(v, un, vn, north(p) - south(p));
    u(-1) = 1;
  });

  for (int t = 0; t < std::stoi(argv[1]); ++t) step();
  std::cout << "energy " << qy::sum(u * u + v * v) / 2 << '\n';
  std::cout << "pressure from " << p.min() << " to " << p.max() << " at " << p.argmax() << '\n';
  std::cout << "u in the middle " << u(qy::all, n / 2) << '\n';
  std::cout << "v in the middle " << v(n / 2) << '\n';
}
