// SPDX-License-Identifier: BSD-3-Clause
// The PageRank of every page, by power iteration. Usage: pagerank LINKS.npy (rows: from, to)
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;

int main(int, char** argv) {
  const auto links = qy::to_device(qy::load_npy<std::int64_t>(argv[1]));
  const auto source = links(qy::all, 0), target = links(qy::all, 1);
  const int n = int(links.max().item()) + 1;
  const auto count = qy::bincount(source, n);
  const auto ends = qy::eval(count == 0);
  auto rank = qy::full({n}, 1. / n);
  int steps = 0;
  for (double change = 1; change > 1e-9; ++steps) {
    auto share = rank / qy::maximum(count, 1);
    auto received = qy::zeros<double>({n});
    qy::add_at(received(target), share(source));
    auto lost = rank(ends).sum() / n;
    auto updated = qy::eval(0.15 / n + 0.85 * (received + lost));
    change = qy::abs(updated - rank).sum().item();
    rank = updated;
  }
  const auto best = rank.argmax().item();
  std::cout << n << " pages, " << ends.sum() << " without links, " << steps << " steps\n";
  std::cout << "first " << best << " linked from " << source(target == best) << '\n';
  std::cout << "above twice the mean: " << qy::flatnonzero(rank > 2. / n) << '\n';
  std::cout << rank << '\n';
}
