// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/texture.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "message_of.hpp"

/// What textures and surfaces ask of the driver, and when they go back to it.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

class FakeTextures : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "looks into the fake driver";
    before_ = shim::live().textures;
  }
  void TearDown() override { shim::clear_faults(); }
  std::size_t added() const { return shim::live().textures - before_; }

  std::size_t before_ = 0;
};

TEST_F(FakeTextures, AreDestroyedWithTheLastHandleAndBeforeTheirArray) {
  const std::size_t arrays = fake::live().arrays;
  std::optional<CudaArray> array(std::in_place, ArrayDescriptor{.width = 8});
  std::optional<Texture> first(*array), second(first);
  EXPECT_EQ(added(), 1U);
  array.reset();
  first.reset();
  EXPECT_EQ(added(), 1U);
  EXPECT_EQ(fake::live().arrays, arrays + 1);
  second.reset();
  EXPECT_EQ(added(), 0U);
  EXPECT_EQ(fake::live().arrays, arrays);
  EXPECT_EQ(fake::take_faults(), std::vector<std::string>());  // of arrays below live textures
}

TEST_F(FakeTextures, AreDestroyedBeforeTheirMemory) {
  {
    std::optional<DeviceAllocation> memory = mem_alloc(1024);
    const Texture texture = Texture::linear(*memory, 1024, {});
    memory.reset();
    EXPECT_EQ(added(), 1U);
  }
  EXPECT_EQ(added(), 0U);
  EXPECT_EQ(fake::take_faults(), std::vector<std::string>());
}

/// A GPU blends along them in a linear filter.
TEST_F(FakeTextures, StayInsideAlongTheAxesThatTheyDoNotHave) {
  constexpr auto border = AddressMode::border;
  const auto told = [&](const ArrayDescriptor& descriptor) {
    const Texture texture(CudaArray(descriptor), {.address_mode = {border, border, border}});
    EXPECT_EQ(texture.options().address_mode[2], border) << "as it was asked for";
    CUDA_TEXTURE_DESC found{};
    EXPECT_EQ(backend::cuda::driver().TexObjectGetTextureDesc(&found, texture.handle()),
              CUDA_SUCCESS);
    return std::vector<int>(found.addressMode, found.addressMode + 3);
  };
  constexpr int b = CU_TR_ADDRESS_MODE_BORDER, c = CU_TR_ADDRESS_MODE_CLAMP;
  EXPECT_EQ(told({.width = 8}), (std::vector{b, c, c}));
  EXPECT_EQ(told({.width = 8, .depth = 4, .layered = true}), (std::vector{b, c, c}));
  EXPECT_EQ(told({.width = 8, .height = 4}), (std::vector{b, b, c}));
  EXPECT_EQ(told({.width = 8, .height = 4, .depth = 2, .layered = true}), (std::vector{b, b, c}));
  EXPECT_EQ(told({.width = 8, .height = 4, .depth = 2}), (std::vector{b, b, b}));
}

TEST_F(FakeTextures, ThatTheDriverRefusesLeaveNothing) {
  const CudaArray array({.width = 8, .surface_load_store = true});
  shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = DriverFunction::TexObjectCreate});
  EXPECT_EQ(test::message_of<LogicError>([&] { Texture{array}; }),
            "device 0 refuses a texture of a CUDA array: CUDA_ERROR_INVALID_VALUE (1): invalid "
            "argument");
  shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = DriverFunction::SurfObjectCreate});
  EXPECT_THROW(Surface{array}, LogicError);
  shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY, .function = DriverFunction::TexObjectCreate});
  EXPECT_THROW(Texture{array}, MemoryError);
  EXPECT_EQ(added(), 0U);
  const Texture texture(array);
  EXPECT_EQ(added(), 1U);
}

TEST_F(FakeTextures, OfManyElementsAreLeftToTheDriver) {
  const std::size_t bytes = (std::size_t{1} << 28) + 512;
  const DeviceAllocation memory = mem_alloc(bytes);
  EXPECT_NE(test::message_of<LogicError>([&] {
              Texture::linear(memory, bytes, {TypeId::uint8, 1});
            }).find("device 0 refuses a texture of 268435968 elements of 1 x uint8 in memory"),
            std::string::npos);
  Texture::linear(memory, bytes, {TypeId::uint16, 1});
}

}  // namespace
}  // namespace quarry
