// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/graphs.md.
#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

#include <cmath>
#include <vector>

#include "check.hpp"

namespace qy = quarry;

int main() {
  const auto in = qy::range(1, -1), after = qy::range(2, qy::_), before = qy::range(qy::_, -2);
  // example-begin step
  auto u = qy::zeros<float>({128, 128}), v = u.copy();
  u(0) = 1.f;
  auto step = qy::capture([&] {
    v(in, in) = 0.25f * (u(after, in) + u(before, in) + u(in, after) + u(in, before));
    u(in, in) = v(in, in);
  });
  for (int i = 0; i < 500; ++i) step();  // in the current stream, or step.launch(s)
  // example-end
  CHECK(u(1, 64).item() > 0.9f && u(1, 64).item() < 1.f);

  u.fill(1.f);
  v.fill(10.f);
  // example-begin numbers
  auto dt = qy::full<float>({}, 0.1f);
  auto advance = qy::capture([&] { u += dt * v; });
  advance();
  dt.fill(0.05f);
  advance();
  // example-end
  CHECK(std::abs(u(0, 0).item() - 2.5f) < 1e-6f);

  // example-begin update
  float rate = 0.1f;
  auto decay = qy::capture([&] { u *= 1.f - rate; });
  decay();
  rate = 0.2f;
  u = v.copy();
  decay.update();
  decay();  // another array, by another number
  // example-end
  CHECK(std::abs(u(0, 0).item() - 8.f) < 1e-5f);

  // example-begin host
  std::vector<float, qy::PinnedAllocator<float>> input(128 * 128, 2.f), output(128 * 128);
  auto filter = qy::capture([&] {
    u.copy_to_device(input, qy::current_stream());
    const qy::DeviceNDArray<float> squares = u * u;
    squares.copy_to_host(output, qy::current_stream());
  });
  filter();
  qy::current_stream().synchronize();  // `output` is there, and `input` may be written again
  // example-end
  CHECK(output[0] == 4.f && output.back() == 4.f);

  u = qy::zeros<float>({128, 128});
  u(3, 5) = 2.f;
  // example-begin peaks
  auto found = qy::zeros<float>({16});
  auto peaks =
      qy::capture([&] { found(qy::all) = qy::select(u, u > 0.9f, {.size = 16, .fill = -1.f}); });
  peaks();  // the first 16 elements above 0.9; qy::count_nonzero(u > 0.9f) tells how many there are
  // example-end
  CHECK(found(0).item() == 2.f && found(1).item() == -1.f && found(15).item() == -1.f);
}
