// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/block_copy.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

/// What CUDA arrays ask of the driver, and when they go back to it.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

class FakeArrays : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "looks into the fake driver";
    before_ = shim::live().arrays;
  }
  void TearDown() override {
    shim::clear_faults();
    if (test::kind() == test::Kind::fake) {
      EXPECT_EQ(shim::live().arrays, before_);
    }
  }
  std::size_t added() const { return shim::live().arrays - before_; }

  std::size_t before_ = 0;
};

TEST_F(FakeArrays, AreDestroyedOnce) {
  const auto destroyed = shim::calls(DriverFunction::ArrayDestroy);
  {
    CudaArray first({.width = 8}), second({.width = 8});
    EXPECT_EQ(added(), 2U);
    EXPECT_EQ(fake::live().arrays, before_ + 2);
    first.free();
    first.free();
    EXPECT_EQ(added(), 1U);
    first = std::move(second);
    EXPECT_EQ(added(), 1U);
  }
  EXPECT_EQ(added(), 0U);
  EXPECT_EQ(fake::live().arrays, before_);
  EXPECT_EQ(shim::calls(DriverFunction::ArrayDestroy), destroyed + 2);
}

TEST_F(FakeArrays, FindMemoryAtTheSecondAttempt) {
  const auto created = shim::calls(DriverFunction::Array3DCreate);
  shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY, .function = DriverFunction::Array3DCreate});
  const CudaArray array({.width = 8});
  EXPECT_EQ(added(), 1U);
  EXPECT_EQ(shim::calls(DriverFunction::Array3DCreate), created + 2);
}

TEST_F(FakeArrays, ThatAreRefusedLeaveNothing) {
  const std::pair<CUresult, bool> codes[] = {{CUDA_ERROR_OUT_OF_MEMORY, true},
                                             {CUDA_ERROR_INVALID_VALUE, false}};
  for (const auto& [code, is_memory] : codes) {
    shim::inject({.code = code, .function = DriverFunction::Array3DCreate, .persistent = true});
    if (is_memory) {
      EXPECT_THROW(CudaArray({.width = 8}), MemoryError);
    } else {
      EXPECT_THROW(CudaArray({.width = 8}), LogicError);
    }
    shim::clear_faults();
    EXPECT_EQ(added(), 0U);
  }
}

TEST_F(FakeArrays, StayUsableAfterACopyThatFailed) {
  const CudaArray array({.width = 8, .dtype = TypeId::uint8});
  memcpy_htoa(array, 0, std::vector<std::uint8_t>(8, 1));
  shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = DriverFunction::Memcpy3D});
  EXPECT_THROW(memcpy_htoa(array, 0, std::vector<std::uint8_t>(8, 2)), LogicError);
  std::vector<std::uint8_t> back(8);
  memcpy_atoh(back, array, 0);
  EXPECT_EQ(back, std::vector<std::uint8_t>(8, 1));
}

TEST_F(FakeArrays, CopiesAreOneCallEach) {
  const CudaArray array({.width = 8, .height = 2});
  std::vector<float> host(16, 1.f);
  Memcpy2D copy;
  copy.set_src_host(host);
  copy.set_dst_array(array);
  copy.width_in_bytes = 32;
  copy.height = 2;
  const auto plain = shim::calls(DriverFunction::Memcpy3D);
  copy();
  EXPECT_EQ(shim::calls(DriverFunction::Memcpy3D), plain + 1);
  const auto unaligned = shim::calls(DriverFunction::Memcpy2DUnaligned);
  copy(false);
  EXPECT_EQ(shim::calls(DriverFunction::Memcpy2DUnaligned), unaligned + 1);
}

}  // namespace
}  // namespace quarry
