// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "terrain.hpp"

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

/// The same on the host with xtensor alone, line by line. xt::maximum, unlike NumPy's, keeps a NaN
/// only as its second argument.
inline Relief<xt::xtensor<float, 2>> relief(const xt::xtensor<float, 2>& z, const Scene& scene) {
  using namespace xt::placeholders;
  auto north = xt::range(_, -2), west = north;  // not const: xt::view would not take them
  auto middle = xt::range(1, -1);
  auto south = xt::range(2, _), east = south;
  auto dzdx =
      (xt::view(z, north, east) + 2.f * xt::view(z, middle, east) + xt::view(z, south, east) -
       (xt::view(z, north, west) + 2.f * xt::view(z, middle, west) + xt::view(z, south, west))) /
      (8 * scene.dx);
  auto dzdy =
      (xt::view(z, south, west) + 2.f * xt::view(z, south, middle) + xt::view(z, south, east) -
       (xt::view(z, north, west) + 2.f * xt::view(z, north, middle) + xt::view(z, north, east))) /
      (8 * scene.dy);
  xt::xtensor<float, 2> slope = xt::atan(xt::hypot(dzdx, dzdy));
  xt::xtensor<float, 2> aspect = xt::atan2(-dzdx, dzdy);

  const float up = std::sin(scene.altitude * radians);
  const float level = std::cos(scene.altitude * radians);
  auto facing = xt::cos(aspect - scene.azimuth * radians);
  xt::xtensor<float, 2> shade =
      255.f * xt::maximum(0.f, up * xt::cos(slope) + level * xt::sin(slope) * facing);
  return {std::move(slope), std::move(aspect), std::move(shade)};
}
