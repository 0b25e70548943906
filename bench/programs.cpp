// SPDX-License-Identifier: BSD-3-Clause
// Whole programs: heat in a plate by slices, and the relief of a real elevation model, tiled.
#include <quarry/memory/graph.hpp>
#include <quarry/npy.hpp>
#include <quarry/xtensor.hpp>

#include "../examples/hillshade/terrain.hpp"
#include "device.hpp"

namespace {

using namespace bench;
using Plate = Array<float>;

constexpr int steps = 200;
const qy::Range inner = qy::range(1, -1), before = qy::range(qy::_, -2),
                after = qy::range(2, qy::_);

void step(const Plate& to, const Plate& u) {
  to(inner, inner) =
      0.25f * (u(after, inner) + u(before, inner) + u(inner, after) + u(inner, before));
}

void in_place(Plate& u, Plate&, int count) {
  for (int i = 0; i < count; ++i) step(u, u);
}
void two_buffers(Plate& u, Plate& v, int count) {
  for (int i = 0; i < count; ++i) {
    step(v, u);
    std::swap(u, v);
  }
}

/// What both forms do, by plain loops.
std::vector<float> plain_heat(std::int64_t n, int count) {
  std::vector<float> u(static_cast<std::size_t>(n * n)), v;
  for (std::int64_t i = 0; i < n * n; ++i) u[static_cast<std::size_t>(i)] = uniform(0, i);
  v = u;
  const auto width = static_cast<std::size_t>(n);
  for (int t = 0; t < count; ++t, std::swap(u, v))
    for (std::size_t i = 1; i + 1 < width; ++i)
      for (std::size_t j = i * width + 1; j < i * width + width - 1; ++j)
        v[j] = 0.25f * (u[j + width] + u[j - width] + u[j + 1] + u[j - 1]);
  return u;
}

/// `arrays` is what one step must move, in plates: read and write, and for the form that works in
/// place the temporary as well.
void heat(Run& run, void (*form)(Plate&, Plate&, int), int arrays) {
  const std::int64_t n = std::max<std::int64_t>(side() / 4, 8);
  const Plate start = random_array<float>(0, n * n).reshape({n, n});
  Plate u = start.copy(), v = start.copy();
  form(u, v, 5);
  const std::vector<float> expected = plain_heat(n, 5);
  check(
      u, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; }, 1e-6);
  run.bytes = 4. * arrays * steps * static_cast<double>(n * n);
  run.size = times(n, n) + " x " + std::to_string(steps);
  on_device(
      run, [&] { form(u, v, steps); }, 1);
}

/// As many steps as a graph, which is launched at once.
void heat_captured(Run& run) {
  const std::int64_t n = std::max<std::int64_t>(side() / 4, 8);
  Plate u = random_array<float>(0, n * n).reshape({n, n}), v = u.copy();
  const auto work = [&] { two_buffers(u, v, steps); };
  const qy::Graph graph = qy::capture(work);
  graph();
  const std::vector<float> expected = plain_heat(n, steps);
  check(
      u, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; }, 1e-4);
  run.bytes = 4. * 2 * steps * static_cast<double>(n * n);
  run.size = times(n, n) + " x " + std::to_string(steps);
  on_device(run, graph, 1);
}

/// The example's heights, repeated `tile` times both ways.
xt::xarray<float> terrain(std::size_t tile) {
  const xt::xarray<float> z = qy::load_npy<float>(QUARRY_SOURCE_DIR "/examples/data/jacksboro.npy");
  const std::size_t rows = z.shape(0), columns = z.shape(1);
  xt::xarray<float> tiled = xt::xarray<float>::from_shape({tile * rows, tile * columns});
  for (std::size_t i = 0; i < tiled.shape(0); ++i)
    for (std::size_t j = 0; j < tiled.shape(1); ++j) tiled(i, j) = z(i % rows, j % columns);
  return tiled;
}

/// Slope and shade at (i, j) of the result, in double precision.
std::pair<double, double> relief_at(const xt::xarray<float>& z, std::size_t i, std::size_t j) {
  const Scene scene;
  const auto h = [&](std::size_t a, std::size_t b) { return static_cast<double>(z(i + a, j + b)); };
  const double x =
      (h(0, 2) + 2 * h(1, 2) + h(2, 2) - h(0, 0) - 2 * h(1, 0) - h(2, 0)) / (8. * scene.dx);
  const double y =
      (h(2, 0) + 2 * h(2, 1) + h(2, 2) - h(0, 0) - 2 * h(0, 1) - h(0, 2)) / (8. * scene.dy);
  const double slope = std::atan(std::hypot(x, y)), aspect = std::atan2(-x, y);
  const double altitude = scene.altitude * std::numbers::pi / 180;
  const double facing = std::cos(aspect - scene.azimuth * std::numbers::pi / 180);
  const double light =
      std::sin(altitude) * std::cos(slope) + std::cos(altitude) * std::sin(slope) * facing;
  return {slope, 255 * std::max(light, 0.)};
}

void hillshade(Run& run) {
  const auto tile = static_cast<std::size_t>(std::max<std::int64_t>(24 * side() / 16384, 1));
  const xt::xarray<float> heights = terrain(tile);
  const Plate z = qy::to_device(heights);
  Relief<Plate> result;
  const auto work = [&] { result = relief(z, Scene{}); };
  work();
  const auto columns = static_cast<std::int64_t>(heights.shape(1)) - 2;
  const auto at = [&](std::int64_t i) {
    return relief_at(heights, static_cast<std::size_t>(i / columns),
                     static_cast<std::size_t>(i % columns));
  };
  check(
      result.slope, [&](std::int64_t i) { return at(i).first; }, 1e-4);
  check(
      result.shade, [&](std::int64_t i) { return at(i).second; }, 1e-2);
  run.bytes = 6. * 4 * static_cast<double>(heights.size());  // z to slope and aspect, both to shade
  run.size = times(static_cast<std::int64_t>(heights.shape(0)), columns + 2);
  on_device(run, work);
}

[[maybe_unused]] const bool rows[] = {
    row("quarry/heat_in_place", [](Run& run) { heat(run, in_place, 4); }),
    row("quarry/heat_two_buffers", [](Run& run) { heat(run, two_buffers, 2); }),
    row("quarry/heat_captured", heat_captured),
    row("quarry/hillshade", hillshade),
};

}  // namespace
