// SPDX-License-Identifier: BSD-3-Clause
// Conway's game of life on a torus. Usage: life BOARD.npy
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;

int main(int, char** argv) {
  auto alive = qy::to_device(qy::load_npy<bool>(argv[1]));
  const auto rule = qy::zeros<bool>({2, 9});
  rule(0, 3) = true;                // a cell is born beside three others
  rule(1, qy::range(2, 4)) = true;  // and lives on beside two or three
  auto age = alive.astype<int>();

  for (int generation = 1; generation <= 100; ++generation) {
    auto padded = qy::pad<qy::PadMode::wrap>(alive, 1);
    auto neighbours = qy::sliding_window_view(padded, {3, 3}).sum({2, 3}) - alive;
    alive = rule(alive.astype<int>(), neighbours);
    age = qy::where(alive, age + 1, 0);
    if (generation % 20 == 0)
      std::cout << generation << " living " << alive.sum() << " born " << (age == 1).sum() << '\n';
  }

  const auto old = qy::eval(age > 50);
  const auto places = qy::nonzero(old);
  std::cout << "living in each row " << alive.sum(1) << '\n';
  std::cout << "living in each column " << alive.sum(0) << '\n';
  std::cout << "ages " << age(alive) << '\n';
  std::cout << "the oldest " << age.max() << " in row " << age.max(1).argmax() << '\n';
  std::cout << "over 50: " << old.sum() << " at " << places[0] << ' ' << places[1] << '\n';
  std::cout << age << '\n';
}
