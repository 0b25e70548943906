// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_table.hpp"

/// The stream-ordered pools of the fake driver.
namespace quarry::fake {
namespace {

class FakePool : public FakeDriver {
 protected:
  FakePool() {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    EXPECT_EQ(cu().MemPoolCreate(&pool_, &properties), CUDA_SUCCESS);
  }
  ~FakePool() override { cu().MemPoolDestroy(pool_); }
  CUdeviceptr take(std::size_t size, CUstream s) {
    CUdeviceptr block = 0;
    EXPECT_EQ(cu().MemAllocFromPoolAsync(&block, size, pool_, s), CUDA_SUCCESS);
    return block;
  }
  cuuint64_t figure(CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_EQ(cu().MemPoolGetAttribute(pool_, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  void keep(cuuint64_t threshold) {
    EXPECT_EQ(cu().MemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
              CUDA_SUCCESS);
  }
  CUmemoryPool pool_ = nullptr;
};

TEST_F(FakePool, ABlockIsUsableInTheOrderOfItsStream) {
  const CUstream s = stream();
  const CUdeviceptr block = take(100, s);
  EXPECT_EQ(cu().MemsetD8Async(block, 1, 100, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemFreeAsync(block, s), CUDA_SUCCESS);
  EXPECT_EQ(live().pool_blocks, 1U);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(live().pool_blocks, 0U);
  EXPECT_TRUE(take_faults().empty());
}

TEST_F(FakePool, WorkThatIsNotBehindTheAllocationIsMisuse) {
  const CUstream a = stream(), b = stream(CU_STREAM_NON_BLOCKING);
  std::size_t faults = 0;
  for (std::uint64_t seed = 1; seed <= 40 && faults == 0; ++seed) {
    behave(seed);
    const CUdeviceptr block = take(100, a);
    EXPECT_EQ(cu().MemsetD8Async(block, 1, 100, b), CUDA_SUCCESS);
    cu().CtxSynchronize();
    faults = take_faults().size();
  }
  EXPECT_EQ(faults, 1U);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  recover();
}

TEST_F(FakePool, AnEventCarriesTheOrderToAnotherStream) {
  const CUstream a = stream(), b = stream(CU_STREAM_NON_BLOCKING);
  const CUdeviceptr block = take(100, a);
  const CUevent there = event(CU_EVENT_DISABLE_TIMING), done = event(CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(cu().EventRecord(there, a), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamWaitEvent(b, there, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemsetD8Async(block, 1, 100, b), CUDA_SUCCESS);
  EXPECT_EQ(cu().EventRecord(done, b), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamWaitEvent(a, done, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemFreeAsync(block, a), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(take_faults().empty());
}

TEST_F(FakePool, WorkBehindTheFreeIsMisuse) {
  const CUstream s = stream();
  const CUdeviceptr block = take(100, s);
  EXPECT_EQ(cu().MemFreeAsync(block, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemsetD8Async(block, 1, 100, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemFreeAsync(block, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(take_faults().size(), 2U);
  recover();
}

TEST_F(FakePool, ItKeepsAsMuchAsItsThresholdSays) {
  const CUstream s = stream();
  for (const cuuint64_t threshold : {cuuint64_t{0}, ~cuuint64_t{0}}) {
    keep(threshold);
    const CUdeviceptr block = take(5'000'000, s);
    EXPECT_GE(figure(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 5'000'000U);
    EXPECT_GE(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 5'000'000U);
    EXPECT_EQ(cu().MemFreeAsync(block, s), CUDA_SUCCESS);
    EXPECT_EQ(cu().StreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(figure(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
    EXPECT_EQ(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) > 0, threshold > 0);
    EXPECT_GE(figure(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 5'000'000U);
  }
  EXPECT_EQ(cu().MemPoolTrimTo(pool_, 3'000'000), CUDA_SUCCESS);
  EXPECT_GE(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 3'000'000U);
  EXPECT_EQ(cu().MemPoolTrimTo(pool_, 0), CUDA_SUCCESS);
  EXPECT_EQ(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);
}

TEST_F(FakePool, MemoryOnItsWayBackIsWaitedForBeforeThereIsNone) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(cu().MemGetInfo(&free, &total), CUDA_SUCCESS);
  const CUstream s = stream();
  const std::size_t most = free / 4 * 3;
  CUdeviceptr block = take(most, s);
  CUdeviceptr none = 0;
  EXPECT_EQ(cu().MemAllocFromPoolAsync(&none, most, pool_, s), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu().MemFreeAsync(block, s), CUDA_SUCCESS);
  block = take(most, s);
  EXPECT_EQ(cu().MemFree(block), CUDA_SUCCESS);
  EXPECT_EQ(cu().CtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(FakePool, BlocksOutliveTheirPool) {
  const CUstream s = stream();
  const CUdeviceptr block = take(100, s);
  const std::size_t before = live().pools;
  EXPECT_EQ(cu().MemPoolDestroy(pool_), CUDA_SUCCESS);
  EXPECT_EQ(live().pools, before);
  EXPECT_EQ(cu().MemsetD8Async(block, 1, 100, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().MemFreeAsync(block, s), CUDA_SUCCESS);
  EXPECT_EQ(cu().StreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(live().pools, before - 1);
  EXPECT_TRUE(take_faults().empty());
  EXPECT_EQ(cu().MemPoolDestroy(pool_), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace quarry::fake
