// SPDX-License-Identifier: BSD-3-Clause
// k-means clustering by Lloyd's steps. Usage: kmeans POINTS.npy CLUSTERS
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;
using qy::all, qy::newaxis, qy::range;

int main(int, char** argv) {
  const auto points = qy::to_device(qy::load_npy<double>(argv[1]));
  const int k = std::stoi(argv[2]);
  qy::DeviceNDArray<double> centres = points(range(k)), distances;
  qy::DeviceNDArray<std::int64_t> nearest, sizes;
  for (double shift = 1; shift > 1e-6;) {
    distances = qy::square(points(all, newaxis) - centres).sum(-1);
    nearest = distances.argmin(1);
    sizes = qy::bincount(nearest, k);
    auto sums = qy::zeros_like(centres);
    qy::add_at(sums(nearest), points);
    auto counts = sizes(all, newaxis);
    auto means = qy::eval(qy::where(counts > 0, sums / qy::maximum(counts, 1), centres));
    shift = qy::abs(means - centres).max().item();
    centres = means;
    std::cout << "sizes " << sizes << " shift " << shift << '\n';
  }

  auto way = qy::eval(qy::sqrt(distances.min(1)));
  auto among = qy::sqrt(qy::square(centres(all, newaxis) - centres).sum(-1));
  auto between = qy::eval(among(!qy::eye<bool>(k)));
  std::cout << "centres " << centres << "\nmean way " << way.mean() << " longest " << way.max()
            << "\nbetween from " << between.min() << " to " << between.max()
            << "\nthe largest cluster: " << qy::flatnonzero(nearest == sizes.argmax())
            << "\nthe smallest: " << qy::flatnonzero(nearest == sizes.argmin()) << '\n';
}
