// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/cuda_array.hpp>
#include <quarry/array/texture.hpp>
#include <quarry/eigen.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "array/model.hpp"
#include "array/texture_kernels.hpp"
#include "array/texture_model.hpp"

/// Elements of textures on a GPU as kernels see them: integers, floats made of them, channels; and
/// textures of memory.
namespace quarry {
namespace {

using test::filled;
using test::Shaped;
using test::TextureKernels;
using test::TextureModel;
using Colour = std::array<float, 4>;

std::vector<float> centres(std::size_t n) {
  std::vector<float> list;
  for (std::size_t i = 0; i < n; ++i) list.push_back(static_cast<float>(i) + 0.5f);
  return list;
}

template <class T>
std::vector<T> some() {
  using Limits = std::numeric_limits<T>;
  return {Limits::min(), static_cast<T>(Limits::min() + 1), T(0), T(1), T(77), Limits::max()};
}

TEST_F(TextureKernels, ReadIntegersAsTheyAre) {
  const auto bytes = some<std::uint8_t>();
  const auto words = some<std::int16_t>();
  const auto numbers = some<std::int32_t>();
  EXPECT_EQ(read<std::uint8_t>("unsigned char", Shaped::row, Texture(np_to_array(bytes, Order::c)),
                               centres(6)),
            bytes);
  EXPECT_EQ(
      read<std::int16_t>("short", Shaped::row, Texture(np_to_array(words, Order::c)), centres(6)),
      words);
  EXPECT_EQ(
      read<std::int32_t>("int", Shaped::row, Texture(np_to_array(numbers, Order::c)), centres(6)),
      numbers);
}

/// -1 to 1, or 0 to 1.
template <class T>
float as_float(T value) {
  return std::max(-1.f,
                  static_cast<float>(value) / static_cast<float>(std::numeric_limits<T>::max()));
}

TEST_F(TextureKernels, ReadIntegersAsFloats) {
  const auto check = [](const auto& list) {
    const Texture texture(np_to_array(list, Order::c), {.read_as_integer = false});
    const auto got = read<float>("float", Shaped::row, texture, centres(list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) EXPECT_NEAR(got[i], as_float(list[i]), 1e-6f);
  };
  check(some<std::uint8_t>());
  check(some<std::int8_t>());
  check(some<std::uint16_t>());
  check(some<std::int16_t>());
  const std::vector<std::uint8_t> two{0, 255};
  const Texture filtered(np_to_array(two, Order::c),
                         {.filter_mode = FilterMode::linear, .read_as_integer = false});
  EXPECT_NEAR(read<float>("float", Shaped::row, filtered, {1.f})[0], 0.5f, 1.f / 128);
}

TEST_F(TextureKernels, ReadHalvesAsFloats) {
  const std::vector<float> list{0, 1, -2.5f, 65504, 0.0625f};
  const auto halves = to_device(list).astype<Eigen::half>();
  EXPECT_EQ(
      read<float>("float", Shaped::row, Texture(gpuarray_to_array(halves, Order::c)), centres(5)),
      list);
}

TEST_F(TextureKernels, ReadSrgbAsLinearNumbers) {
  const std::vector<std::uint8_t> list{0, 10, 128, 255, 255, 200, 60, 128};
  const CudaArray array = filled({.width = 2, .dtype = TypeId::uint8, .num_channels = 4}, list);
  const auto got = read<Colour>(
      "float4", Shaped::row, Texture(array, {.read_as_integer = false, .srgb = true}), centres(2));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double c = static_cast<double>(list[i]) / 255;
    const double linear = i % 4 == 3     ? c  // opacity is linear
                          : c <= 0.04045 ? c / 12.92
                                         : std::pow((c + 0.055) / 1.055, 2.4);
    EXPECT_NEAR(double{got[i / 4][i % 4]}, linear, 4e-3) << i;
  }
}

TEST_F(TextureKernels, ReadChannelsAndTheirBorder) {
  std::vector<float> list(5 * 6 * 4);
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<float>(i);
  const auto host = to_device(list).reshape({5, 6, 4});
  test::Host<float> matrix({5, 6, 4});
  std::copy(list.begin(), list.end(), matrix.data());
  const CudaArray array = make_multichannel_2d_array(matrix, Order::c);
  const AddressMode border = AddressMode::border;
  const Texture texture(
      array, {.address_mode = {border, border, border}, .border_color = {-1, -2, -3, -4}});
  const auto got =
      read<Colour>("float4", Shaped::plane, texture, {3.5f, 2.5f, 0.5f, 4.5f, 6.5f, 0.5f});
  const auto at = [&](std::size_t y, std::size_t x) {
    const float* const first = list.data() + (y * 6 + x) * 4;
    return Colour{first[0], first[1], first[2], first[3]};
  };
  EXPECT_EQ(got, (std::vector<Colour>{at(2, 3), at(4, 0), {-1, -2, -3, -4}}));
}

TEST_F(TextureKernels, ReadMatricesInBothOrders) {
  test::Host<float> matrix({3, 4});
  for (std::size_t i = 0; i < 12; ++i) matrix[i] = static_cast<float>(i);
  std::vector<float> at, transposed;
  for (std::size_t y = 0; y < 3; ++y) {
    for (std::size_t x = 0; x < 4; ++x) {
      at.insert(at.end(), {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f});
      transposed.insert(transposed.end(),
                        {static_cast<float>(y) + 0.5f, static_cast<float>(x) + 0.5f});
    }
  }
  const CudaArray c = matrix_to_array(matrix, Order::c), f = matrix_to_array(matrix, Order::f);
  EXPECT_EQ(read<float>("float", Shaped::plane, Texture(c), at), matrix.list());
  EXPECT_EQ(read<float>("float", Shaped::plane, Texture(f), transposed), matrix.list());
}

TEST_F(TextureKernels, ReadRowsInMemory) {
  const PitchedAllocation rows = mem_alloc_pitch(8 * sizeof(float), 4);
  std::vector<float> list(32);
  for (std::size_t i = 0; i < 32; ++i) list[i] = static_cast<float>(i % 11) / 11;
  Memcpy2D copy;
  copy.set_src_host(list);
  copy.set_dst_device(rows.allocation);
  copy.src_pitch = copy.width_in_bytes = 8 * sizeof(float);
  copy.dst_pitch = rows.pitch, copy.height = 4;
  copy();
  TextureOptions options{.filter_mode = FilterMode::linear, .normalized_coordinates = true};
  options.address_mode = {AddressMode::wrap, AddressMode::mirror, AddressMode::clamp};
  const Texture texture =
      Texture::pitched(rows.allocation, {.width = 8, .height = 4}, rows.pitch, options);
  const TextureModel model({8, 4, 1}, {list.begin(), list.end()}, options);
  std::vector<float> at;
  for (int i = -300; i < 300; ++i) {
    at.insert(at.end(),
              {static_cast<float>(2 * i + 1) / 1024, static_cast<float>(6 * i + 1) / 512});
  }
  const auto got = read<float>("float", Shaped::plane, texture, at);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(double{got[i]}, model({double{at[2 * i]}, double{at[2 * i + 1]}, 0}), 1.0 / 128)
        << i;
  }
}

/// Each plane is turned around its middle, one element of each row left out: see `turn`.
TEST_F(TextureKernels, WriteIntegersThroughSurfaces) {
  for (const bool is_layered : {false, true}) {
    const ArrayDescriptor d{.width = 4,
                            .height = 3,
                            .depth = 2,
                            .dtype = TypeId::int16,
                            .layered = is_layered,
                            .surface_load_store = true};
    std::vector<std::int16_t> list(24), want(24);
    for (std::size_t i = 0; i < 24; ++i) {
      list[i] = static_cast<std::int16_t>(i % 2 ? -3000 * int(i) : 1300 * int(i));
    }
    for (std::size_t i = 0; i < 24; ++i) {
      const std::size_t x = i % 4, y = i / 4 % 3, plane = i / 12 * 12;
      want[plane + (2 - y) * 4 + 3 - x] = list[plane + y * 4 + std::min<std::size_t>(x + 1, 3)];
    }
    const CudaArray from = filled(d, list), to(d);
    turn("short", is_layered ? Shaped::planes : Shaped::box, to, from);
    EXPECT_EQ(test::elements<std::int16_t>(to), want) << is_layered;
  }
}

}  // namespace
}  // namespace quarry
