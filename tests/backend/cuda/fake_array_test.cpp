// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "backend/cuda/fake_table.hpp"

/// The CUDA arrays of the fake driver.
namespace quarry::fake {
namespace {

class FakeArray : public FakeDriver {
 protected:
  static CUDA_ARRAY3D_DESCRIPTOR plane(std::size_t width, std::size_t height) {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    d.Width = width;
    d.Height = height;
    d.Format = CU_AD_FORMAT_UNSIGNED_INT16;
    d.NumChannels = 2;
    return d;
  }
  static CUarray create(const CUDA_ARRAY3D_DESCRIPTOR& d) {
    CUarray array = nullptr;
    EXPECT_EQ(cu().Array3DCreate(&array, &d), CUDA_SUCCESS);
    return array;
  }
  /// From the test's device memory into the array.
  CUDA_MEMCPY3D copy_to(CUarray array, std::size_t width, std::size_t height) const {
    CUDA_MEMCPY3D c{};
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = memory_;
    c.srcPitch = 64;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = array;
    c.WidthInBytes = width;
    c.Height = height;
    c.Depth = 1;
    return c;
  }
};

TEST_F(FakeArray, IsDescribedAndCounted) {
  const auto before = live();
  const CUarray array = create(plane(10, 5));
  EXPECT_EQ(live().arrays, before.arrays + 1);
  CUDA_ARRAY3D_DESCRIPTOR found{};
  EXPECT_EQ(cu().Array3DGetDescriptor(&found, array), CUDA_SUCCESS);
  EXPECT_EQ(found.Width, 10U);
  EXPECT_EQ(found.Height, 5U);
  EXPECT_EQ(cu().ArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(live(), before);
}

TEST_F(FakeArray, OfAnUnknownFormIsRefused) {
  CUarray array = nullptr;
  const auto result = [&](auto&& change) {
    CUDA_ARRAY3D_DESCRIPTOR d = plane(10, 5);
    change(d);
    return cu().Array3DCreate(&array, &d);
  };
  EXPECT_EQ(result([](auto& d) { d.NumChannels = 3; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& d) { d.Width = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& d) { d.Width = 1 << 20; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& d) { d.Flags = CUDA_ARRAY3D_CUBEMAP; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& d) { d.Flags = CUDA_ARRAY3D_LAYERED; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& d) { d.Format = static_cast<CUarray_format>(0x99); }),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(array, nullptr);
}

TEST_F(FakeArray, ThatIsDestroyedIsNoHandle) {
  const CUarray array = create(plane(10, 5));
  EXPECT_EQ(cu().ArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(cu().ArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
  const auto copy = copy_to(array, 40, 5);
  EXPECT_EQ(cu().Memcpy3D(&copy), CUDA_ERROR_INVALID_HANDLE);
  CUDA_ARRAY3D_DESCRIPTOR found{};
  EXPECT_EQ(cu().Array3DGetDescriptor(&found, array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(take_faults().size(), 3U);
}

TEST_F(FakeArray, IsNotLeftByCopies) {
  const CUarray array = create(plane(10, 5));
  auto copy = copy_to(array, 40, 5);
  EXPECT_EQ(cu().Memcpy3D(&copy), CUDA_SUCCESS);
  const auto result = [&](auto&& change) {
    auto changed = copy;
    change(changed);
    return cu().Memcpy3D(&changed);
  };
  EXPECT_EQ(result([](auto& c) { c.dstXInBytes = 4; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& c) { c.dstY = 1; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& c) { c.dstZ = 1; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& c) { c.WidthInBytes = 38; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cu().ArrayDestroy(array), CUDA_SUCCESS);
}

TEST_F(FakeArray, OfAnotherDeviceIsForCopiesBetweenDevices) {
  const CUarray array = create(plane(10, 5));
  CUcontext other = nullptr;
  EXPECT_EQ(cu().DevicePrimaryCtxRetain(&other, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSetCurrent(other), CUDA_SUCCESS);
  std::vector<std::uint8_t> host(200);
  auto copy = copy_to(array, 40, 5);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 40;
  EXPECT_EQ(cu().Memcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D_PEER between{};
  between.srcMemoryType = CU_MEMORYTYPE_HOST;
  between.srcHost = host.data();
  between.srcPitch = 40;
  between.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  between.dstArray = array;
  between.srcContext = between.dstContext = other;  // ignored for an array
  between.WidthInBytes = 40;
  between.Height = 5;
  between.Depth = 1;
  EXPECT_EQ(cu().Memcpy3DPeer(&between), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);  // before the array goes
  EXPECT_EQ(cu().CtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cu().Memcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cu().ArrayDestroy(array), CUDA_SUCCESS);
}

TEST_F(FakeArray, ThatGoesBeforeAQueuedCopyIsAFault) {
  const CUarray array = create(plane(10, 5));
  const auto copy = copy_to(array, 40, 5);
  EXPECT_EQ(cu().Memcpy3DAsync(&copy, stream()), CUDA_SUCCESS);
  EXPECT_EQ(cu().ArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(take_faults().size(), 1U);
  recover();
}

}  // namespace
}  // namespace quarry::fake
