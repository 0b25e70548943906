// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "backend/chosen_device.hpp"
#include "backend/cuda/driver/driver.hpp"

/// What the driver says of the CUDA arrays that it was asked for.
namespace quarry::backend {
namespace {

using namespace test;

class CudaArrays : public testing::Test {
 protected:
  void SetUp() override {
    if (is_on_cpu()) GTEST_SKIP() << "wants a GPU";
  }
  static CUDA_ARRAY3D_DESCRIPTOR description(const ArrayDescriptor& wanted) {
    Device& gpu = chosen_device();
    void* const array = gpu.create_array(wanted);
    EXPECT_NE(array, nullptr) << to_string(wanted);
    CUDA_ARRAY3D_DESCRIPTOR found{};
    EXPECT_EQ(cuda::driver().Array3DGetDescriptor(&found, static_cast<CUarray>(array)),
              CUDA_SUCCESS);
    gpu.destroy_array(array);
    return found;
  }
};

TEST_F(CudaArrays, HaveTheElementsThatWereAskedFor) {
  const std::pair<TypeId, CUarray_format> formats[] = {
      {TypeId::int8, CU_AD_FORMAT_SIGNED_INT8},      {TypeId::int16, CU_AD_FORMAT_SIGNED_INT16},
      {TypeId::int32, CU_AD_FORMAT_SIGNED_INT32},    {TypeId::uint8, CU_AD_FORMAT_UNSIGNED_INT8},
      {TypeId::uint16, CU_AD_FORMAT_UNSIGNED_INT16}, {TypeId::uint32, CU_AD_FORMAT_UNSIGNED_INT32},
      {TypeId::float16, CU_AD_FORMAT_HALF},          {TypeId::float32, CU_AD_FORMAT_FLOAT}};
  for (const auto& [type, format] : formats) {
    for (const unsigned channels : {1U, 2U, 4U}) {
      const auto found = description({.width = 16, .dtype = type, .num_channels = channels});
      EXPECT_EQ(found.Format, format);
      EXPECT_EQ(found.NumChannels, channels);
    }
  }
}

TEST_F(CudaArrays, HaveTheFormThatWasAskedFor) {
  const std::pair<ArrayDescriptor, unsigned> wanted[] = {
      {{.width = 16}, 0},
      {{.width = 16, .height = 8}, 0},
      {{.width = 16, .height = 8, .depth = 4}, 0},
      {{.width = 16, .depth = 4, .layered = true}, CUDA_ARRAY3D_LAYERED},
      {{.width = 16, .height = 8, .depth = 4, .layered = true}, CUDA_ARRAY3D_LAYERED},
      {{.width = 8, .height = 8, .depth = 6, .cubemap = true}, CUDA_ARRAY3D_CUBEMAP},
      {{.width = 8, .height = 8, .depth = 12, .layered = true, .cubemap = true},
       CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP},
      {{.width = 16, .height = 8, .surface_load_store = true}, CUDA_ARRAY3D_SURFACE_LDST},
      {{.width = 16, .height = 8, .texture_gather = true}, CUDA_ARRAY3D_TEXTURE_GATHER}};
  for (const auto& [form, flags] : wanted) {
    const auto found = description(form);
    EXPECT_EQ(found.Width, form.width) << to_string(form);
    EXPECT_EQ(found.Height, form.height) << to_string(form);
    EXPECT_EQ(found.Depth, form.depth) << to_string(form);
    EXPECT_EQ(found.Flags, flags) << to_string(form);
  }
}

}  // namespace
}  // namespace quarry::backend
