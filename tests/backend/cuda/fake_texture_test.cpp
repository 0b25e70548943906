// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include "backend/cuda/fake_table.hpp"

/// The textures and surfaces of the fake driver.
namespace quarry::fake {
namespace {

class FakeTexture : public FakeDriver {
 protected:
  FakeTexture() {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    d.Width = 8, d.Height = 4;
    d.Format = CU_AD_FORMAT_FLOAT;
    d.NumChannels = 1;
    d.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    EXPECT_EQ(cu().Array3DCreate(&array_, &d), CUDA_SUCCESS);
  }
  ~FakeTexture() override {
    if (array_) cu().ArrayDestroy(array_);
  }
  CUDA_RESOURCE_DESC of_array() const {
    CUDA_RESOURCE_DESC r{};
    r.resType = CU_RESOURCE_TYPE_ARRAY;
    r.res.array.hArray = array_;
    return r;
  }
  CUDA_RESOURCE_DESC of_memory() const {
    CUDA_RESOURCE_DESC r{};
    r.resType = CU_RESOURCE_TYPE_LINEAR;
    r.res.linear = {memory_, CU_AD_FORMAT_FLOAT, 1, 1024};
    return r;
  }
  CUDA_RESOURCE_DESC of_rows() const {
    CUDA_RESOURCE_DESC r{};
    r.resType = CU_RESOURCE_TYPE_PITCH2D;
    r.res.pitch2D = {memory_, CU_AD_FORMAT_FLOAT, 1, 8, 4, 32};
    return r;
  }
  static CUDA_TEXTURE_DESC clamped() {
    CUDA_TEXTURE_DESC d{};
    for (auto& mode : d.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
    return d;
  }
  static CUresult create(const CUDA_RESOURCE_DESC& r, const CUDA_TEXTURE_DESC& d) {
    CUtexObject texture = 0;
    const CUresult result = cu().TexObjectCreate(&texture, &r, &d, nullptr);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(cu().TexObjectDestroy(texture), CUDA_SUCCESS);
    }
    return result;
  }
  static CUtexObject made(const CUDA_RESOURCE_DESC& r) {
    CUtexObject texture = 0;
    const CUDA_TEXTURE_DESC d = clamped();
    EXPECT_EQ(cu().TexObjectCreate(&texture, &r, &d, nullptr), CUDA_SUCCESS);
    return texture;
  }
  template <class Change>
  CUresult changed(CUDA_RESOURCE_DESC r, Change change) const {
    CUDA_TEXTURE_DESC d = clamped();
    change(r, d);
    return create(r, d);
  }
  using Resource = CUDA_RESOURCE_DESC;
  using Sampling = CUDA_TEXTURE_DESC;

  CUarray array_ = nullptr;
};

TEST_F(FakeTexture, IsDescribedAndCounted) {
  const auto before = live();
  for (const Resource& r : {of_array(), of_memory(), of_rows()}) {
    const CUtexObject texture = made(r);
    EXPECT_EQ(live().textures, before.textures + 1);
    Resource found{};
    Sampling sampling{};
    EXPECT_EQ(cu().TexObjectGetResourceDesc(&found, texture), CUDA_SUCCESS);
    EXPECT_EQ(found.resType, r.resType);
    EXPECT_EQ(cu().TexObjectGetTextureDesc(&sampling, texture), CUDA_SUCCESS);
    EXPECT_EQ(sampling.addressMode[1], CU_TR_ADDRESS_MODE_CLAMP);
    EXPECT_EQ(cu().TexObjectDestroy(texture), CUDA_SUCCESS);
  }
  EXPECT_EQ(live(), before);
  EXPECT_TRUE(take_faults().empty());
}

TEST_F(FakeTexture, OfMemoryIsRefusedWhereTheGpuCannotReadIt) {
  const auto refused = [&](const Resource& of, auto change) {
    EXPECT_EQ(changed(of, [&](Resource& r, Sampling&) { change(r); }), CUDA_ERROR_INVALID_VALUE);
  };
  refused(of_memory(), [](Resource& r) { r.flags = 1; });
  refused(of_memory(), [](Resource& r) { r.res.linear.devPtr += 256; });
  refused(of_memory(), [](Resource& r) { r.res.linear.numChannels = 3; });
  refused(of_memory(), [](Resource& r) { r.res.linear.sizeInBytes = bytes + 1; });
  refused(of_memory(), [](Resource& r) { r.res.linear.sizeInBytes = 0; });
  refused(of_rows(), [](Resource& r) { r.res.pitch2D.pitchInBytes = 48; });
  refused(of_rows(), [](Resource& r) { r.res.pitch2D.width = 9; });
  refused(of_rows(), [](Resource& r) { r.res.pitch2D.height = 0; });
  refused(of_rows(), [](Resource& r) { r.res.pitch2D.height = 129; });
  refused(of_rows(), [](Resource& r) { r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY; });
}

TEST_F(FakeTexture, IsRefusedWhereTheElementsDoNotAllowTheSampling) {
  constexpr auto refused = CUDA_ERROR_INVALID_VALUE;
  const auto of = [&](auto change) {
    return changed(of_array(), [&](Resource&, Sampling& d) { change(d); });
  };
  EXPECT_EQ(of([](Sampling& d) { d.addressMode[1] = CU_TR_ADDRESS_MODE_WRAP; }), refused);
  EXPECT_EQ(of([](Sampling& d) { d.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER; }), CUDA_SUCCESS);
  EXPECT_EQ(of([](Sampling& d) {
              d.addressMode[1] = CU_TR_ADDRESS_MODE_WRAP;
              d.flags = CU_TRSF_NORMALIZED_COORDINATES;
            }),
            CUDA_SUCCESS);
  EXPECT_EQ(of([](Sampling& d) { d.flags = 0x80; }), refused);
  EXPECT_EQ(of([](Sampling& d) { d.flags = CU_TRSF_SEAMLESS_CUBEMAP; }), refused);
  const auto linear = [&](CUarray_format format, unsigned flags) {
    return changed(of_rows(), [&](Resource& r, Sampling& d) {
      r.res.pitch2D.format = format;
      d.filterMode = CU_TR_FILTER_MODE_LINEAR;
      d.flags = flags;
    });
  };
  EXPECT_EQ(linear(CU_AD_FORMAT_FLOAT, 0), CUDA_SUCCESS);
  EXPECT_EQ(linear(CU_AD_FORMAT_UNSIGNED_INT8, 0), CUDA_SUCCESS);
  EXPECT_EQ(linear(CU_AD_FORMAT_UNSIGNED_INT8, CU_TRSF_READ_AS_INTEGER), refused);
  EXPECT_EQ(linear(CU_AD_FORMAT_SIGNED_INT32, 0), refused);
}

TEST_F(FakeTexture, ThatIsDestroyedIsNoHandle) {
  const CUtexObject texture = made(of_array());
  EXPECT_EQ(cu().SurfObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().TexObjectDestroy(texture), CUDA_SUCCESS);
  EXPECT_EQ(cu().TexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
  Resource found{};
  EXPECT_EQ(cu().TexObjectGetResourceDesc(&found, texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take_faults(), (std::vector<std::string>{"a handle that is no live surface",
                                                     "a handle that is no live texture",
                                                     "a handle that is no live texture"}));
}

TEST_F(FakeTexture, IsDestroyedBeforeWhatItReads) {
  const CUtexObject of_the_array = made(of_array());
  EXPECT_EQ(cu().ArrayDestroy(array_), CUDA_SUCCESS);
  array_ = nullptr;
  EXPECT_EQ(take_faults(),
            (std::vector<std::string>{"the array of a live texture or surface is freed"}));
  EXPECT_EQ(cu().TexObjectDestroy(of_the_array), CUDA_SUCCESS);

  const CUtexObject of_the_memory = made(of_memory());
  EXPECT_EQ(cu().MemFree(memory_), CUDA_SUCCESS);
  EXPECT_EQ(take_faults(),
            (std::vector<std::string>{"memory of a live texture or surface is freed"}));
  EXPECT_EQ(cu().TexObjectDestroy(of_the_memory), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemAlloc(&memory_, bytes), CUDA_SUCCESS);
}

TEST_F(FakeTexture, HasSurfacesOfArraysThatKernelsMayWrite) {
  CUsurfObject surface = 0;
  Resource r = of_memory();
  EXPECT_EQ(cu().SurfObjectCreate(&surface, &r), CUDA_ERROR_INVALID_VALUE);
  r = of_array();
  EXPECT_EQ(cu().SurfObjectCreate(&surface, &r), CUDA_SUCCESS);
  Resource found{};
  EXPECT_EQ(cu().SurfObjectGetResourceDesc(&found, surface), CUDA_SUCCESS);
  EXPECT_EQ(found.res.array.hArray, array_);
  EXPECT_EQ(cu().SurfObjectDestroy(surface), CUDA_SUCCESS);
  CUDA_ARRAY3D_DESCRIPTOR d{};
  EXPECT_EQ(cu().Array3DGetDescriptor(&d, array_), CUDA_SUCCESS);
  d.Flags = 0;
  CUarray closed = nullptr;
  EXPECT_EQ(cu().Array3DCreate(&closed, &d), CUDA_SUCCESS);
  r.res.array.hArray = closed;
  EXPECT_EQ(cu().SurfObjectCreate(&surface, &r), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().ArrayDestroy(closed), CUDA_SUCCESS);
}

}  // namespace
}  // namespace quarry::fake
