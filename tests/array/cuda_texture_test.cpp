// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/cuda_array.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "array/model.hpp"
#include "array/texture_kernels.hpp"
#include "array/texture_model.hpp"

/// What kernels on a GPU read through textures and write through surfaces, against plain loops.
namespace quarry {
namespace {

using test::filled;
using test::Shaped;
using test::TextureKernels;
using test::TextureModel;

constexpr AddressMode modes[] = {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror,
                                 AddressMode::border};

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> list(count);
  for (float& x : list) x = static_cast<float>(random() % 4096) / 4096;
  return list;
}

/// Points within twice the extents and outside. Their distances from edges and centres of elements
/// are multiples of 1/128, which the weights of 8 bits have exactly.
std::vector<float> points(const TextureModel::Extents& extents, std::size_t axes, bool normalized,
                          unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> list;
  for (int n = 0; n < 500; ++n) {
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const auto extent = static_cast<int>(extents[axis]);
      const int part = static_cast<int>(random() % static_cast<unsigned>(64 * 5 * extent));
      const float at = static_cast<float>(2 * part + 1) / 128 - static_cast<float>(2 * extent);
      list.push_back(normalized ? at / static_cast<float>(extent) : at);
    }
  }
  return list;
}

std::vector<double> doubles(const std::vector<float>& list) { return {list.begin(), list.end()}; }

/// At the centres of all elements, x fastest.
std::vector<float> centres(const ArrayDescriptor& d, std::size_t axes) {
  std::vector<float> list;
  for (std::size_t z = 0; z < d.planes(); ++z) {
    for (std::size_t y = 0; y < d.rows(); ++y) {
      for (std::size_t x = 0; x < d.width; ++x) {
        const std::size_t at[] = {x, y, z};
        for (std::size_t axis = 0; axis < axes; ++axis) {
          list.push_back(static_cast<float>(at[axis]) + 0.5f);
        }
      }
    }
  }
  return list;
}

/// Every combination of what is read beyond the edge and between elements.
template <class Check>
void for_all_options(const Check& check) {
  for (const bool normalized : {false, true}) {
    for (const FilterMode filter : {FilterMode::point, FilterMode::linear}) {
      for (std::size_t first = 0; first < 4; ++first) {
        TextureOptions options{.filter_mode = filter,
                               .normalized_coordinates = normalized,
                               .border_color = {0.25f, 0, 0, 0}};
        for (std::size_t axis = 0; axis < 3; ++axis) {  // another one along each axis
          options.address_mode[axis] = modes[(first + axis) % 4];
          const bool repeats = (first + axis) % 2 == 0;
          if (repeats && !normalized) options.address_mode[axis] = AddressMode::clamp;
        }
        SCOPED_TRACE(to_string(options.address_mode[0]) + (normalized ? ", normalised" : "") +
                     (filter == FilterMode::linear ? ", linear" : ""));
        check(options);
      }
    }
  }
}

void expect_model(const std::vector<float>& got, const TextureModel& model,
                  const std::vector<float>& at, std::size_t axes) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    TextureModel::Point point{};
    for (std::size_t axis = 0; axis < axes; ++axis) point[axis] = double{at[axes * i + axis]};
    ASSERT_NEAR(double{got[i]}, model(point), 1.0 / 128)
        << i << " at " << point[0] << ", " << point[1] << ", " << point[2];
  }
}

TEST_F(TextureKernels, ReadBetweenElementsAndBeyondTheEdgeAsTheOptionsSay) {
  struct Case {
    Shaped shaped;
    ArrayDescriptor descriptor;
    std::size_t axes;
  };
  for (const Case& c :
       {Case{Shaped::row, {.width = 16}, 1}, Case{Shaped::plane, {.width = 8, .height = 4}, 2},
        Case{Shaped::box, {.width = 8, .height = 4, .depth = 2}, 3}}) {
    const ArrayDescriptor& d = c.descriptor;
    const std::vector<float> elements = drawn(d.width * d.rows() * d.planes(), 5);
    const CudaArray array = filled(d, elements);
    const TextureModel::Extents extents{std::int64_t(d.width), std::int64_t(d.rows()),
                                        std::int64_t(d.planes())};
    for_all_options([&](const TextureOptions& options) {
      const auto at = points(extents, c.axes, options.normalized_coordinates, 7);
      const auto got = read<float>("float", c.shaped, Texture(array, options), at);
      expect_model(got, TextureModel(extents, doubles(elements), options), at, c.axes);
    });
  }
}

TEST_F(TextureKernels, ReadLayers) {
  const std::vector<float> elements = drawn(8 * 4 * 3, 6);
  const CudaArray planes = filled({.width = 8, .height = 4, .depth = 3, .layered = true}, elements);
  const CudaArray rows = filled({.width = 32, .depth = 3, .layered = true}, elements);
  for_all_options([&](const TextureOptions& options) {
    for (int layer = 0; layer < 3; ++layer) {
      const std::vector<double> own(elements.begin() + 32 * layer,
                                    elements.begin() + 32 * (layer + 1));
      const auto with_layer = [&](const std::vector<float>& at, std::size_t axes) {
        std::vector<float> list;
        for (std::size_t i = 0; i < at.size(); i += axes) {
          for (std::size_t axis = 0; axis < axes; ++axis) list.push_back(at[i + axis]);
          list.push_back(static_cast<float>(layer));
        }
        return list;
      };
      const bool normalized = options.normalized_coordinates;
      const auto in_plane = points({8, 4, 1}, 2, normalized, 8);
      expect_model(
          read<float>("float", Shaped::planes, Texture(planes, options), with_layer(in_plane, 2)),
          TextureModel({8, 4, 1}, own, options), in_plane, 2);
      const auto in_row = points({32, 1, 1}, 1, normalized, 9);
      expect_model(
          read<float>("float", Shaped::rows, Texture(rows, options), with_layer(in_row, 1)),
          TextureModel({32, 1, 1}, own, options), in_row, 1);
    }
  });
}

TEST_F(TextureKernels, ReadTheNearestLayerForOneThatIsNot) {
  const std::vector<float> elements = drawn(8 * 4 * 2, 11);
  const CudaArray two = filled({.width = 8, .height = 4, .depth = 2, .layered = true}, elements);
  const CudaArray one = filled({.width = 8, .height = 4, .depth = 1, .layered = true},
                               std::vector<float>(elements.begin(), elements.begin() + 32));
  for (const int layer : {0, 1, 2, 7}) {
    std::vector<float> at;
    for (int i = 0; i < 32; ++i) {
      for (const int part : {i % 8, i / 8}) at.push_back(static_cast<float>(part) + 0.5f);
      at.push_back(static_cast<float>(layer));
    }
    const auto first = elements.begin() + (layer > 0 ? 32 : 0);
    EXPECT_EQ(read<float>("float", Shaped::planes, Texture(two), at),
              std::vector<float>(first, first + 32))
        << layer;
    EXPECT_EQ(read<float>("float", Shaped::planes, Texture(one), at),
              std::vector<float>(elements.begin(), elements.begin() + 32))
        << layer;
  }
}

/// The direction in which a cube's face (+x, -x, +y, ...) has the element at (s, t) in [-1, 1].
std::array<float, 3> direction(int face, float s, float t) {
  switch (face) {
    case 0:
      return {1, -t, -s};
    case 1:
      return {-1, -t, s};
    case 2:
      return {s, 1, t};
    case 3:
      return {s, -1, -t};
    case 4:
      return {s, -t, 1};
    default:
      return {-s, -t, -1};
  }
}

TEST_F(TextureKernels, ReadCubesByDirection) {
  const std::vector<float> elements = drawn(4 * 4 * 12, 10);
  const CudaArray cube = filled({.width = 4, .height = 4, .depth = 6, .cubemap = true},
                                std::vector<float>(elements.begin(), elements.begin() + 96));
  const CudaArray cubes =
      filled({.width = 4, .height = 4, .depth = 12, .layered = true, .cubemap = true}, elements);
  std::vector<float> at, at_layers;
  for (int face = 0; face < 12; ++face) {
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 4; ++x) {
        const float s = (static_cast<float>(x) + 0.5f) / 2 - 1,
                    t = (static_cast<float>(y) + 0.5f) / 2 - 1;
        for (const float part : direction(face % 6, s, t)) {
          if (face < 6) at.push_back(3 * part);  // of any length
          at_layers.push_back(part);
        }
        at_layers.push_back(static_cast<float>(face / 6));
      }
    }
  }
  EXPECT_EQ(read<float>("float", Shaped::cube, Texture(cube), at),
            std::vector<float>(elements.begin(), elements.begin() + 96));
  EXPECT_EQ(read<float>("float", Shaped::cubes, Texture(cubes), at_layers), elements);
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0);
}

/// Numbers that are easily changed: denormal ones, zeros with a sign, infinities.
template <class T>
std::vector<T> delicate(std::size_t count) {
  using Real = decltype(std::abs(T()));
  using Limits = std::numeric_limits<Real>;
  constexpr Real numbers[] = {Real(-0.0),         Limits::denorm_min(), -Limits::min() / 3,
                              Limits::infinity(), Limits::max(),        Real(1) / 3};
  std::vector<T> list(count);
  const std::span<Real> parts(reinterpret_cast<Real*>(list.data()),
                              count * sizeof(T) / sizeof(Real));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = i % 7 == 6 ? static_cast<Real>(i) : numbers[i % 7];
  }
  return list;
}

template <class T>
class WideElements : public TextureKernels {
 protected:
  static std::string type() {
    return std::is_same_v<T, double>                ? "double"
           : std::is_same_v<T, std::complex<float>> ? "complex64"
           : std::is_same_v<T, float>               ? "float"
                                                    : "complex128";
  }
};
using WideTypes = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(WideElements, WideTypes);

TYPED_TEST(WideElements, AreReadAsTheyAre) {
  using T = TypeParam;
  const std::vector<T> list = delicate<T>(2 * 3 * 4);
  const auto on_device = to_device(list).reshape({2, 3, 4});
  test::Host<T> host({2, 3, 4});
  std::copy(list.begin(), list.end(), host.data());
  for (const Order order : {Order::c, Order::f}) {
    std::vector<T> want;  // a(z, y, x), or a(x, y, z)
    const bool is_c = order == Order::c;
    for (std::size_t z = 0; z < (is_c ? 2u : 4u); ++z) {
      for (std::size_t y = 0; y < 3; ++y) {
        for (std::size_t x = 0; x < (is_c ? 4u : 2u); ++x) {
          want.push_back(list[is_c ? (z * 3 + y) * 4 + x : (x * 3 + y) * 4 + z]);
        }
      }
    }
    const CudaArray made[] = {np_to_array(host, order), gpuarray_to_array(on_device, order)};
    for (const CudaArray& array : made) {
      const auto at = centres(array.descriptor(), 3);
      expect_same_bits(this->template read<T>(this->type(), Shaped::box, Texture(array), at), want);
    }
  }
  const CudaArray plane = gpuarray_to_array(on_device(1), Order::f);
  std::vector<T> columns;
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 3; ++x) columns.push_back(list[12 + x * 4 + y]);
  }
  expect_same_bits(this->template read<T>(this->type(), Shaped::plane, Texture(plane),
                                          centres(plane.descriptor(), 2)),
                   columns);
  const CudaArray row = np_to_array(list, Order::c);
  expect_same_bits(
      this->template read<T>(this->type(), Shaped::row, Texture(row), centres(row.descriptor(), 1)),
      list);
}

/// `turn` in plain loops.
template <class T>
std::vector<T> turned(const std::vector<T>& from, const ArrayDescriptor& d) {
  std::vector<T> to(from.size());
  for (std::size_t z = 0; z < d.planes(); ++z) {
    for (std::size_t y = 0; y < d.rows(); ++y) {
      for (std::size_t x = 0; x < d.width; ++x) {
        const std::size_t row = (z * d.rows() + y) * d.width,
                          other = (z * d.rows() + d.rows() - 1 - y) * d.width;
        to[other + d.width - 1 - x] = from[row + std::min(x + 1, d.width - 1)];
      }
    }
  }
  return to;
}

TYPED_TEST(WideElements, AreWrittenThroughSurfaces) {
  using T = TypeParam;
  const TextureFormat format = texture_format(dtype_of<T>);
  struct Case {
    Shaped shaped;
    std::size_t width, height, depth;
    bool layered = false, cubemap = false;
  };
  for (const Case& c :
       {Case{Shaped::row, 24, 0, 0}, Case{Shaped::plane, 6, 4, 0}, Case{Shaped::box, 4, 3, 2},
        Case{Shaped::planes, 4, 3, 2, true}, Case{Shaped::cube, 4, 4, 6, false, true}}) {
    const ArrayDescriptor d{.width = c.width,
                            .height = c.height,
                            .depth = c.depth,
                            .dtype = format.dtype,
                            .num_channels = format.num_channels,
                            .layered = c.layered,
                            .cubemap = c.cubemap,
                            .surface_load_store = true};
    const std::vector<T> list = delicate<T>(d.width * d.rows() * d.planes());
    const CudaArray from = filled(d, list), to(d);
    this->turn(this->type(), c.shaped, to, from);
    expect_same_bits(test::elements<T>(to), turned(list, d));
  }
  const std::vector<T> list = delicate<T>(12);
  const CudaArray layer = gpuarray_to_array(to_device(list).reshape({3, 4}), Order::c, true),
                  other(layer.descriptor());
  this->turn(this->type(), Shaped::planes, other, layer);
  expect_same_bits(test::elements<T>(other), turned(list, layer.descriptor()));
}

}  // namespace
}  // namespace quarry
