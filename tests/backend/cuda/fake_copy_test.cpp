// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "backend/cuda/fake_table.hpp"

/// The structured, batched and peer copies of the fake driver.
namespace quarry::fake {
namespace {

using Bytes = std::vector<unsigned char>;

class FakeCopy : public FakeDriver {
 protected:
  static Bytes counting(std::size_t n) {
    Bytes values(n);
    std::iota(values.begin(), values.end(), static_cast<unsigned char>(0));
    return values;
  }
  void upload(const Bytes& values) {
    EXPECT_EQ(cu().MemcpyHtoD(memory_, values.data(), values.size()), CUDA_SUCCESS);
  }
  Bytes download(std::size_t n) {
    Bytes values(n);
    EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemcpyDtoH(values.data(), memory_, n), CUDA_SUCCESS);
    return values;
  }
};

/// A box of 2 x 3 x 4 (slices, rows, bytes) between blocks with offsets in every direction.
CUDA_MEMCPY3D box() {
  CUDA_MEMCPY3D c{};
  c.WidthInBytes = 4, c.Height = 3, c.Depth = 2;
  c.srcXInBytes = 1, c.srcY = 1, c.srcZ = 1, c.srcPitch = 6, c.srcHeight = 4;
  c.dstXInBytes = 2, c.dstY = 0, c.dstZ = 1, c.dstPitch = 7, c.dstHeight = 3;
  return c;
}

void expect_box(const Bytes& to, const Bytes& from, const CUDA_MEMCPY3D& c) {
  std::size_t copied = 0;
  for (std::size_t z = 0; z < c.Depth; ++z) {
    for (std::size_t y = 0; y < c.Height; ++y) {
      for (std::size_t x = 0; x < c.WidthInBytes; ++x, ++copied) {
        const std::size_t there = ((z + c.dstZ) * c.dstHeight + y + c.dstY) * c.dstPitch;
        const std::size_t here = ((z + c.srcZ) * c.srcHeight + y + c.srcY) * c.srcPitch;
        EXPECT_EQ(to.at(there + x + c.dstXInBytes), from.at(here + x + c.srcXInBytes));
      }
    }
  }
  const auto untouched = std::count(to.begin(), to.end(), 0xFB);
  EXPECT_EQ(static_cast<std::size_t>(untouched) + copied, to.size());
}

TEST_F(FakeCopy, BoxesGoFromEveryCornerToEveryCorner) {
  const Bytes from = counting(3 * 4 * 6);
  CUDA_MEMCPY3D c = box();
  c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = from.data();
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstDevice = memory_;
  EXPECT_EQ(cu().Memcpy3D(&c), CUDA_SUCCESS);
  expect_box(download(3 * 3 * 7), from, c);
  cu().MemsetD8Async(memory_, 0xFB, bytes, nullptr);
  c.srcMemoryType = CU_MEMORYTYPE_UNIFIED, c.srcDevice = reinterpret_cast<CUdeviceptr>(from.data());
  c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  EXPECT_EQ(cu().Memcpy3DAsync(&c, stream()), CUDA_SUCCESS);
  expect_box(download(3 * 3 * 7), from, c);
}

TEST_F(FakeCopy, RowsLeaveTheDeviceFromTheirOffsets) {
  upload(counting(100));
  Bytes to(40, 0);
  CUDA_MEMCPY2D c{};
  c.srcMemoryType = CU_MEMORYTYPE_DEVICE, c.srcDevice = memory_, c.srcPitch = 10;
  c.srcXInBytes = 3, c.srcY = 2;
  c.dstMemoryType = CU_MEMORYTYPE_HOST, c.dstHost = to.data(), c.dstPitch = 8, c.dstXInBytes = 1;
  c.WidthInBytes = 5, c.Height = 3;
  for (auto* const copy : {cu().Memcpy2D, cu().Memcpy2DUnaligned}) {
    EXPECT_EQ(copy(&c), CUDA_SUCCESS);
    EXPECT_EQ(to[1], 23);
    EXPECT_EQ(to[2 * 8 + 5], 47);
    EXPECT_EQ(to[0], 0);
    EXPECT_EQ(to[6], 0);
  }
}

TEST_F(FakeCopy, PitchesAndHeightsMustHoldTheBox) {
  const Bytes from = counting(200);
  const auto result = [&](auto change) {
    CUDA_MEMCPY3D c = box();
    c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = from.data();
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstDevice = memory_;
    change(c);
    return cu().Memcpy3D(&c);
  };
  EXPECT_EQ(result([](CUDA_MEMCPY3D&) {}), CUDA_SUCCESS);
  EXPECT_EQ(result([](auto& c) { c.srcPitch = 4; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& c) { c.dstPitch = 0; }), CUDA_SUCCESS);
  EXPECT_EQ(result([](auto& c) { c.srcHeight = 3; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& c) { c.dstPitch = std::size_t{1} << 31; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& c) { c.srcMemoryType = CU_MEMORYTYPE_ARRAY; }),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result([](auto& c) { c.srcHeight = 0; }), CUDA_SUCCESS);
  EXPECT_EQ(result([](auto& c) { c.Depth = 1, c.srcHeight = 2; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(take_faults().empty());
}

/// Host memory with two registrations beside one another.
class FakeCrossing : public FakeCopy {
 protected:
  FakeCrossing() {
    EXPECT_EQ(cu().MemHostRegister(&host[100], 100, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemHostRegister(&host[200], 100, 0), CUDA_SUCCESS);
  }
  ~FakeCrossing() override {
    EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemHostUnregister(&host[100]), CUDA_SUCCESS);
    EXPECT_EQ(cu().MemHostUnregister(&host[200]), CUDA_SUCCESS);
    EXPECT_TRUE(take_faults().empty());
  }
  /// Rows of 5 bytes, 10 apart, both ways.
  std::array<CUresult, 4> copy_rows(std::size_t at, std::size_t rows) {
    const CUstream s = stream();
    CUDA_MEMCPY2D up{};
    up.srcMemoryType = CU_MEMORYTYPE_HOST, up.srcHost = &host[at], up.srcPitch = 10;
    up.dstMemoryType = CU_MEMORYTYPE_DEVICE, up.dstDevice = memory_, up.dstPitch = 10;
    up.WidthInBytes = 5, up.Height = rows;
    CUDA_MEMCPY3D down{};
    down.srcMemoryType = CU_MEMORYTYPE_DEVICE, down.srcDevice = memory_, down.srcPitch = 10;
    down.dstMemoryType = CU_MEMORYTYPE_HOST, down.dstHost = &host[at], down.dstPitch = 10;
    down.WidthInBytes = 5, down.Height = 1, down.Depth = rows;
    down.srcHeight = down.dstHeight = 1;
    return {cu().Memcpy2D(&up), cu().Memcpy2DAsync(&up, s), cu().Memcpy3D(&down),
            cu().Memcpy3DAsync(&down, s)};
  }
  std::array<CUresult, 6> copy_run(std::size_t at, std::size_t n) {
    const CUstream s = stream();
    CUdeviceptr there = reinterpret_cast<CUdeviceptr>(&host[at]), device = memory_;
    std::size_t first = 0;
    CUmemcpyAttributes order{};
    order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    const auto batch = [&](CUdeviceptr to, CUdeviceptr from) {
      return cu().MemcpyBatchAsync(&to, &from, &n, 1, &order, &first, 1, s);
    };
    return {cu().MemcpyHtoD(device, &host[at], n),
            cu().MemcpyHtoDAsync(device, &host[at], n, s),
            cu().MemcpyDtoH(&host[at], device, n),
            cu().MemcpyDtoHAsync(&host[at], device, n, s),
            batch(device, there),
            batch(there, device)};
  }
  Bytes host = counting(400);
};

template <std::size_t n>
std::array<CUresult, n> all(CUresult result) {
  std::array<CUresult, n> results{};
  results.fill(result);
  return results;
}

TEST_F(FakeCrossing, CopiesInsideARegistrationOrOutsideOfAllAreDone) {
  for (const auto& [at, n] : {std::pair{100, 100}, {150, 50}, {200, 100}, {0, 100}, {300, 100}}) {
    EXPECT_EQ(copy_run(static_cast<std::size_t>(at), static_cast<std::size_t>(n)),
              all<6>(CUDA_SUCCESS))
        << at;
  }
  EXPECT_EQ(copy_rows(100, 10), all<4>(CUDA_SUCCESS));
  EXPECT_EQ(copy_rows(0, 10), all<4>(CUDA_SUCCESS));
}

TEST_F(FakeCrossing, CopiesThatCrossAnEdgeAreInvalid) {
  for (const auto& [at, n] : {std::pair{99, 2}, {199, 2}, {299, 2}, {0, 400}, {100, 200}}) {
    EXPECT_EQ(copy_run(static_cast<std::size_t>(at), static_cast<std::size_t>(n)),
              all<6>(CUDA_ERROR_INVALID_VALUE))
        << at;
  }
  EXPECT_EQ(copy_rows(90, 2), all<4>(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(copy_rows(190, 2), all<4>(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(copy_rows(250, 8), all<4>(CUDA_ERROR_INVALID_VALUE));
}

class FakeBatch : public FakeCopy {
 protected:
  static constexpr std::size_t count = 8;
  FakeBatch() {
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = memory_ + i;
      from[i] = memory_ + 100 + i;
      sizes[i] = 1;
    }
    for (auto& each : attributes) each.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  CUresult copy(CUstream s, std::size_t n = 1) {
    return cu().MemcpyBatchAsync(to.data(), from.data(), sizes.data(), count, attributes.data(),
                                 first.data(), n, s);
  }
  std::array<CUdeviceptr, count> to{}, from{};
  std::array<std::size_t, count> sizes{}, first{0, 4};
  std::array<CUmemcpyAttributes, 2> attributes{};
};

TEST_F(FakeBatch, AllAreCopiedInTheOrderOfTheStream) {
  upload(counting(200));
  reset_statistics();
  EXPECT_EQ(copy(CU_STREAM_PER_THREAD, 2), CUDA_SUCCESS);
  const Bytes after = download(count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(after[i], 100 + i);
  EXPECT_EQ(statistics().batches, 1);
  EXPECT_EQ(statistics().batched_copies, static_cast<std::int64_t>(count));
}

TEST_F(FakeBatch, TheLegacyStreamAndBadAttributesAreRefused) {
  const CUstream s = stream();
  EXPECT_EQ(copy(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(s, 0), CUDA_ERROR_INVALID_VALUE);
  first[1] = 0;
  EXPECT_EQ(copy(s, 2), CUDA_ERROR_INVALID_VALUE);
  first[0] = 1;
  EXPECT_EQ(copy(s, 1), CUDA_ERROR_INVALID_VALUE);
  first[0] = 0;
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_EQ(copy(s, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FakeBatch, CopiesHaveNoOrderAmongEachOther) {
  std::set<unsigned char> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    behave(seed);
    upload(counting(200));
    to.fill(memory_);
    EXPECT_EQ(copy(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    seen.insert(download(1)[0]);
  }
  EXPECT_GT(seen.size(), 1U);
}

TEST_F(FakeBatch, TheAttributesSayWhenPageableMemoryIsRead) {
  Bytes host = counting(count);
  for (std::size_t i = 0; i < count; ++i) from[i] = reinterpret_cast<CUdeviceptr>(&host[i]);
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  EXPECT_EQ(copy(CU_STREAM_PER_THREAD, 2), CUDA_SUCCESS);
  host.assign(count, 77);
  const Bytes after = download(count);
  EXPECT_EQ(after[3], 3);
  EXPECT_EQ(after[4], 77);
}

TEST_F(FakeCopy, DevicesCopyToEachOtherWithoutAccess) {
  CUcontext other = nullptr;
  ASSERT_EQ(cu().DevicePrimaryCtxRetain(&other, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSetCurrent(other), CUDA_SUCCESS);
  CUdeviceptr there = 0;
  ASSERT_EQ(cu().MemAlloc(&there, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemsetD8Async(there, 9, bytes, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSetCurrent(context_), CUDA_SUCCESS);
  reset_statistics();
  EXPECT_EQ(cu().MemcpyPeer(memory_, context_, there, other, 10), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemcpyPeerAsync(memory_ + 10, context_, there, other, 10, stream()), CUDA_SUCCESS);
  CUDA_MEMCPY3D_PEER c{};
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = there, c.srcContext = other, c.srcPitch = 10;
  c.dstDevice = memory_ + 20, c.dstContext = context_, c.dstPitch = 20;
  c.WidthInBytes = 10, c.Height = 2, c.Depth = 1;
  EXPECT_EQ(cu().Memcpy3DPeer(&c), CUDA_SUCCESS);
  const Bytes after = download(50);
  EXPECT_EQ(std::count(after.begin(), after.end(), 9), 40);
  EXPECT_EQ(statistics().bytes_between_devices, 40);
  EXPECT_EQ(cu().MemcpyPeer(memory_, other, there, other, 10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take_faults().size(), 1U);
  EXPECT_EQ(cu().MemFree(there), CUDA_SUCCESS);
}

}  // namespace
}  // namespace quarry::fake
