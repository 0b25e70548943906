// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <utility>

#include "backend/chosen_device.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/textures.hpp"
#include "fake_driver/fake_driver.hpp"

/// What the driver says of the textures and surfaces that it was asked for.
namespace quarry::backend {
namespace {

using namespace test;

constexpr TextureOptions as_floats{.read_as_integer = false};

class CudaTextures : public testing::Test {
 protected:
  void SetUp() override {
    if (is_on_cpu()) GTEST_SKIP() << "wants a GPU";
    array_ = gpu().create_array({.width = 8, .height = 4, .surface_load_store = true});
    memory_ = gpu().allocate(4096);
    ASSERT_NE(array_, nullptr);
    ASSERT_NE(memory_, nullptr);
  }
  void TearDown() override {
    if (is_on_cpu()) return;
    gpu().free(memory_, 4096);
    gpu().destroy_array(array_);
  }
  static Device& gpu() { return chosen_device(); }
  static std::size_t listed() { return gpu().ledger().inventory()[Owned::texture].count; }

  /// As the driver describes it, and as Quarry does.
  std::pair<CUDA_RESOURCE_DESC, TextureMemory> described(const TextureMemory& memory) {
    const std::uint64_t texture = gpu().textures().create_texture(memory, as_floats);
    CUDA_RESOURCE_DESC found{};
    EXPECT_EQ(cuda::driver().TexObjectGetResourceDesc(&found, texture), CUDA_SUCCESS);
    const TextureMemory again = gpu().textures().memory_of(texture);
    gpu().textures().destroy_texture(texture);
    EXPECT_EQ(again.source, memory.source);
    EXPECT_EQ(again.memory, memory.memory);
    return {found, again};
  }

  void *array_ = nullptr, *memory_ = nullptr;
};

TEST_F(CudaTextures, ReadTheMemoryThatWasAskedFor) {
  const auto [of_array, array] = described({TextureSource::array, array_});
  EXPECT_EQ(of_array.resType, CU_RESOURCE_TYPE_ARRAY);
  EXPECT_EQ(of_array.res.array.hArray, array_);

  const TextureFormat format{TypeId::int16, 4};
  const auto [of_row, row] = described({TextureSource::linear, memory_, format, 100});
  EXPECT_EQ(of_row.resType, CU_RESOURCE_TYPE_LINEAR);
  EXPECT_EQ(of_row.res.linear.devPtr, reinterpret_cast<CUdeviceptr>(memory_));
  EXPECT_EQ(of_row.res.linear.format, CU_AD_FORMAT_SIGNED_INT16);
  EXPECT_EQ(of_row.res.linear.numChannels, 4U);
  EXPECT_EQ(of_row.res.linear.sizeInBytes, 800U);
  EXPECT_EQ(row.format, format);
  EXPECT_EQ(row.width, 100U);

  const TextureFormat single{TypeId::float32, 1};
  const auto [of_rows, rows] = described({TextureSource::pitched, memory_, single, 10, 5, 512});
  EXPECT_EQ(of_rows.resType, CU_RESOURCE_TYPE_PITCH2D);
  EXPECT_EQ(of_rows.res.pitch2D.width, 10U);
  EXPECT_EQ(of_rows.res.pitch2D.height, 5U);
  EXPECT_EQ(of_rows.res.pitch2D.pitchInBytes, 512U);
  EXPECT_EQ(rows.format, single);
  EXPECT_EQ(rows.width, 10U);
  EXPECT_EQ(rows.height, 5U);
  EXPECT_EQ(rows.pitch, 512U);
}

TEST_F(CudaTextures, AreSampledAsWasAskedFor) {
  const TextureOptions options{
      .address_mode = {AddressMode::wrap, AddressMode::border, AddressMode::mirror},
      .filter_mode = FilterMode::linear,
      .read_as_integer = false,
      .normalized_coordinates = true,
      .border_color = {1, 2, 3, 4},
      .max_anisotropy = 8};
  const std::uint64_t texture =
      gpu().textures().create_texture({TextureSource::array, array_}, options);
  CUDA_TEXTURE_DESC found{};
  EXPECT_EQ(cuda::driver().TexObjectGetTextureDesc(&found, texture), CUDA_SUCCESS);
  EXPECT_EQ(found.addressMode[0], CU_TR_ADDRESS_MODE_WRAP);
  EXPECT_EQ(found.addressMode[1], CU_TR_ADDRESS_MODE_BORDER);
  EXPECT_EQ(found.addressMode[2], CU_TR_ADDRESS_MODE_MIRROR);
  EXPECT_EQ(found.filterMode, CU_TR_FILTER_MODE_LINEAR);
  EXPECT_EQ(found.flags, unsigned{CU_TRSF_NORMALIZED_COORDINATES});
  if (fake::is_installed()) {  // a GPU does not tell
    EXPECT_EQ(found.borderColor[2], 3);
  }
  EXPECT_EQ(found.maxAnisotropy, 8U);
  gpu().textures().destroy_texture(texture);
}

TEST_F(CudaTextures, AreInTheLedgerWithSurfaces) {
  const std::size_t before = listed();
  const std::uint64_t texture =
      gpu().textures().create_texture({TextureSource::array, array_}, as_floats);
  const std::uint64_t surface = gpu().textures().create_surface(array_);
  EXPECT_EQ(listed(), before + 2);
  EXPECT_EQ(gpu().textures().array_of(surface), array_);
  gpu().textures().destroy_texture(texture);
  gpu().textures().destroy_surface(surface);
  EXPECT_EQ(listed(), before);
}

}  // namespace
}  // namespace quarry::backend
