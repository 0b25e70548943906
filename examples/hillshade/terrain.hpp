// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include <cmath>
#include <numbers>

inline constexpr float radians = std::numbers::pi_v<float> / 180;

/// The size of a cell and the place of the sun.
struct Scene {
  float dx = 74.573f;   ///< metres, west to east
  float dy = 92.475f;   ///< metres, north to south
  float azimuth = 315;  ///< degrees clockwise from north
  float altitude = 45;  ///< degrees above the horizon
};

/// What the terrain looks like at every cell that has eight neighbours: two rows and two columns
/// fewer than the heights have. A cell is NaN where a height that it is computed from is.
template <class Array>
struct Relief {
  Array slope;   ///< radians, 0 where it is level
  Array aspect;  ///< radians clockwise from north, the way downhill
  Array shade;   ///< 0 (dark) to 255 (facing the sun)
};

/// Gradient by Horn's 3x3 kernel, shade by the cosine of the angle between the surface's normal and
/// the sun: B. K. P. Horn, Hill Shading and the Reflectance Map, Proceedings of the IEEE 69(1),
/// 1981. Rows run from north to south. Two kernels, which move six arrays: z to slope and aspect,
/// both to shade.
inline Relief<quarry::DeviceNDArray<float>> relief(const quarry::DeviceNDArray<float>& z,
                                                   const Scene& scene) {
  namespace qy = quarry;
  const auto north = qy::range(qy::_, -2), west = north;
  const auto middle = qy::range(1, -1);
  const auto south = qy::range(2, qy::_), east = south;
  auto dzdx = (z(north, east) + 2.f * z(middle, east) + z(south, east) -
               (z(north, west) + 2.f * z(middle, west) + z(south, west))) /
              (8 * scene.dx);
  auto dzdy = (z(south, west) + 2.f * z(south, middle) + z(south, east) -
               (z(north, west) + 2.f * z(north, middle) + z(north, east))) /
              (8 * scene.dy);
  const auto [slope, aspect] = qy::eval(qy::atan(qy::hypot(dzdx, dzdy)), qy::atan2(-dzdx, dzdy));

  const float up = std::sin(scene.altitude * radians);
  const float level = std::cos(scene.altitude * radians);
  auto facing = qy::cos(aspect - scene.azimuth * radians);
  qy::DeviceNDArray<float> shade =
      255.f * qy::maximum(0.f, up * qy::cos(slope) + level * qy::sin(slope) * facing);
  return {slope, aspect, shade};
}
