// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/texture_options.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

/// What a texture is to give, in plain loops: the appendix "Texture Fetching" of the CUDA C++
/// Programming Guide, with weights of any precision.
namespace quarry::test {

class TextureModel {
 public:
  using Point = std::array<double, 3>;
  using Extents = std::array<std::int64_t, 3>;

  /// Elements at (x, y, z), x fastest; unused axes have the extent 1.
  TextureModel(const Extents& extents, std::vector<double> texels, const TextureOptions& options)
      : extents_(extents), texels_(std::move(texels)), options_(options) {}

  /// As the texture gets the coordinates.
  double operator()(Point at) const {
    if (options_.normalized_coordinates) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        at[axis] *= static_cast<double>(extents_[axis]);
      }
    }
    return options_.filter_mode == FilterMode::point ? nearest(at) : filtered(at);
  }

 private:
  double nearest(const Point& at) const {
    return texel({floor(at[0]), floor(at[1]), floor(at[2])});
  }
  /// The sum over the corners of the cell between elements that the point is in.
  double filtered(Point at) const {
    double sum = 0;
    for (double& x : at) x -= 0.5;
    for (int corner = 0; corner < 8; ++corner) {
      double weight = 1;
      Extents place{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const bool is_upper = ((corner >> axis) & 1) != 0;
        const double past = extents_[axis] == 1 ? 0 : at[axis] - std::floor(at[axis]);
        place[axis] = extents_[axis] == 1 ? 0 : floor(at[axis]) + is_upper;
        weight *= is_upper ? past : 1 - past;
      }
      if (weight > 0) sum += weight * texel(place);
    }
    return sum;
  }

  static std::int64_t floor(double x) { return static_cast<std::int64_t>(std::floor(x)); }

  double texel(Extents place) const {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (extents_[axis] == 1) {
        place[axis] = 0;
      } else if (!move_inside(place[axis], extents_[axis], options_.address_mode[axis])) {
        return double{options_.border_color[0]};
      }
    }
    return texels_[static_cast<std::size_t>((place[2] * extents_[1] + place[1]) * extents_[0] +
                                            place[0])];
  }

  /// False for what reads the border.
  static bool move_inside(std::int64_t& i, std::int64_t n, AddressMode mode) {
    const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
    switch (mode) {
      case AddressMode::wrap:
        i = modulo(i, n);
        return true;
      case AddressMode::clamp:
        i = i < 0 ? 0 : i < n ? i : n - 1;
        return true;
      case AddressMode::mirror:
        i = modulo(i, 2 * n);
        i = i < n ? i : 2 * n - 1 - i;
        return true;
      default:
        return i >= 0 && i < n;
    }
  }

  Extents extents_;
  std::vector<double> texels_;
  TextureOptions options_;
};

}  // namespace quarry::test
