// SPDX-License-Identifier: BSD-3-Clause
// Classes by the vote of the nearest neighbours. Usage: neighbours SAMPLES.npy NEIGHBOURS
// A row of SAMPLES has the features and the class; every second one is known.
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>
#include <limits>

namespace qy = quarry;
using qy::_, qy::all, qy::newaxis, qy::range;

int main(int, char** argv) {
  const auto samples = qy::to_device(qy::load_npy<double>(argv[1]));
  const auto features = qy::eval(qy::standardise(samples(all, range(_, -1)), 0));
  const auto labels = samples(all, -1).astype<int>();
  const int k = std::stoi(argv[2]), classes = labels.max().item() + 1;
  const auto known = range(0, _, 2), asked = range(1, _, 2);
  const auto truth = labels(asked);
  const auto distances = qy::eval(qy::abs(features(asked, newaxis) - features(known)).sum(-1));

  const auto every = qy::arange(truth.len());
  const auto votes = qy::zeros<int>({truth.len(), classes});
  for (int vote = 0; vote < k; ++vote) {
    auto nearest = distances.argmin(1);
    votes(every, labels(known)(nearest)) += 1;
    distances(every, nearest) = std::numeric_limits<double>::infinity();
  }
  const auto guess = votes.argmax(1);
  const auto wrong = qy::eval(guess != truth);

  const auto confusion = qy::zeros<int>({classes, classes});
  qy::add_at(confusion(truth, guess), 1);
  const auto sure = votes.max(1) == k;
  std::cout << "known of each class " << qy::bincount(labels(known)) << '\n';
  std::cout << "wrong " << qy::flatnonzero(wrong) << " that is " << wrong.mean() << '\n';
  std::cout << "guessed " << guess(wrong) << " instead of " << truth(wrong) << '\n';
  std::cout << "unanimous " << sure.mean() << " and wrong " << (sure && wrong).sum() << '\n';
  std::cout << confusion << '\n';
  std::cout << "found of each class " << qy::diagonal(confusion) / confusion.sum(1) << '\n';
}
