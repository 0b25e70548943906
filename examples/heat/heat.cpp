// SPDX-License-Identifier: BSD-3-Clause
// Heat in a plate whose upper edge is kept at 1, by Jacobi steps on slices.
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <cstdio>
#include <cstdlib>

namespace qy = quarry;
using Plate = qy::DeviceNDArray<float>;
const auto in = qy::range(1, -1), up = qy::range(qy::_, -2), down = qy::range(2, qy::_);

void in_place(Plate& u, int steps) {  // the two sides overlap: as if through a temporary
  for (int i = 0; i < steps; ++i)
    u(in, in) = 0.25f * (u(down, in) + u(up, in) + u(in, down) + u(in, up));
}

void two_buffers(Plate& u, int steps) {
  Plate v = u.copy();
  for (int i = 0; i < steps; ++i) {
    v(in, in) = 0.25f * (u(down, in) + u(up, in) + u(in, down) + u(in, up));
    std::swap(u, v);  // the handles change places, not the cells
  }
}

void plain_loop(xt::xarray<float>& u, int steps) {
  for (int step = 0; step < steps; ++step) {
    const xt::xarray<float> v = u;
    for (std::size_t i = 1; i + 1 < u.shape(0); ++i)
      for (std::size_t j = 1; j + 1 < u.shape(1); ++j)
        u(i, j) = 0.25f * (v(i + 1, j) + v(i - 1, j) + v(i, j + 1) + v(i, j - 1));
  }
}

Plate timed(const char* name, void (*form)(Plate&, int), const Plate& start, int steps) {
  Plate rehearsal = start.copy(), u = start.copy();
  form(rehearsal, 1);  // compiles the kernel
  const qy::Event begin = qy::current_stream().record();
  form(u, steps);
  const qy::Event end = qy::current_stream().record();
  end.synchronize();
  std::printf("%-11s %10.3f ms\n", name, begin.elapsed_time(end));
  return u;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 512, steps = argc > 2 ? std::atoi(argv[2]) : 100;
  if (n < 3 || steps < 0) return std::puts("usage: heat [n >= 3] [steps >= 0]"), 2;
  Plate start = qy::zeros<float>({n, n});
  start(0) = 1.f;
  const Plate a = timed("in place", in_place, start, steps);
  const Plate b = timed("two buffers", two_buffers, start, steps);
  xt::xarray<float> plain = (n <= 512 ? start : b).copy_to_host();
  if (n <= 512) plain_loop(plain, steps);  // it takes too long for more
  const bool agree = qy::max(qy::abs(a - b) + qy::abs(a - qy::to_device(plain))).item() < 1e-6f;
  return std::puts(agree ? "the forms agree" : "THE FORMS DIFFER"), agree ? 0 : 1;
}
