// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

/// What the raw calls ask of the driver, and when memory goes back to it.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

class FakeRawCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "looks into the fake driver";
    trim_pool(Device());
    shim::reset_counts();
  }
  template <class F>
  static std::int64_t calls(DriverFunction function, F&& f) {
    const auto before = shim::calls(function);
    f();
    return shim::calls(function) - before;
  }
  static std::size_t blocks() { return shim::live().device_blocks; }
};

TEST_F(FakeRawCalls, ABlockThatAPoolHoldsTakesNoCall) {
  DeviceMemoryPool pool;
  pool.allocate(1000);
  const auto before = shim::calls();
  const auto again = pool.allocate(1001);
  EXPECT_EQ(shim::calls(), before);
}

TEST_F(FakeRawCalls, KnownMemoryIsNotAskedFor) {
  const auto memory = mem_alloc(400), other = mem_alloc(400);
  std::vector<std::byte> host(400);
  const auto asked = DriverFunction::PointerGetAttributes;
  EXPECT_EQ(calls(asked, [&] { memcpy_dtod(memory, other, 400); }), 0);
  EXPECT_EQ(calls(asked, [&] { memset_d8(memory, 1, 400); }), 0);
  EXPECT_EQ(calls(asked, [&] { memcpy_htod(memory, host); }), 1);
  EXPECT_EQ(calls(asked, [&] { memcpy_dtoh(host, memory); }), 1);
}

TEST_F(FakeRawCalls, EachBareAddressIsAskedForOnce) {
  const auto memory = mem_alloc(400), other = mem_alloc(400);
  const DevicePtr to(memory.device_pointer()), from(other.device_pointer());
  const auto asked = DriverFunction::PointerGetAttributes;
  EXPECT_EQ(calls(asked, [&] { memset_d8(to, 1, 400); }), 1);
  EXPECT_EQ(calls(asked, [&] { memcpy_dtod(to, other, 400); }), 1);
  EXPECT_EQ(calls(asked, [&] { memcpy_dtod(to, from, 400); }), 2);
  EXPECT_THROW(memcpy_dtod(to + 10, from, 400), LogicError);
}

TEST_F(FakeRawCalls, CopiesOnTheDeviceDoNotWait) {
  const auto memory = mem_alloc(400), other = mem_alloc(400);
  fake::set_behaviour({.eagerness = 0});
  memset_d8(memory, 1, 400);
  memcpy_dtod(other, memory, 400);
  EXPECT_EQ(fake::pending(), 2u);
  fake::set_behaviour({});
}

TEST_F(FakeRawCalls, ABlockThatCannotBeMadeChangesNoCounter) {
  DeviceMemoryPool pool;
  shim::inject(
      {.code = CUDA_ERROR_OUT_OF_MEMORY, .function = DriverFunction::MemAlloc, .persistent = true});
  EXPECT_THROW(pool.allocate(1000), MemoryError);
  shim::clear_faults();
  EXPECT_EQ(pool.active_blocks() + pool.held_blocks() + pool.managed_bytes(), 0u);
  EXPECT_NO_THROW(pool.allocate(1000));
}

TEST_F(FakeRawCalls, CleanupIsPutOffToTheEndOfTheScope) {
  const auto before = blocks();
  {
    const auto scope = defer_cleanup();
    mem_alloc(100);
    EXPECT_EQ(blocks(), before + 1);
    mem_alloc_pitch(100, 4);
    EXPECT_EQ(blocks(), before + 2);
    Buffer::allocate(5000, default_stream());
    trim_pool(Device());
    EXPECT_EQ(blocks(), before + 3);
  }
  EXPECT_EQ(blocks(), before);
  mem_alloc(100);
  EXPECT_EQ(blocks(), before);
}

TEST_F(FakeRawCalls, ScopesNest) {
  const auto before = blocks();
  {
    const auto outer = defer_cleanup();
    {
      const auto inner = defer_cleanup();
      mem_alloc(100);
    }
    EXPECT_EQ(blocks(), before + 1);
    mem_alloc(100);
    EXPECT_EQ(blocks(), before + 2);
  }
  EXPECT_EQ(blocks(), before);
}

TEST_F(FakeRawCalls, AScopeEndsWithAnException) {
  const auto before = blocks();
  EXPECT_THROW(
      {
        const auto scope = defer_cleanup();
        mem_alloc(100);
        throw std::runtime_error("leaves the scope");
      },
      std::runtime_error);
  EXPECT_EQ(blocks(), before);
  mem_alloc(100);
  EXPECT_EQ(blocks(), before);
}

TEST_F(FakeRawCalls, AScopeIsForAllThreadsOfItsDevice) {
  const auto before = blocks();
  {
    const auto scope = defer_cleanup(gpus[0]);
    std::thread([] { mem_alloc(100, gpus[0]); }).join();
    EXPECT_EQ(blocks(), before + 1);
    mem_alloc(100, gpus[1]);
    EXPECT_EQ(blocks(), before + 1);
  }
  EXPECT_EQ(blocks(), before);
}

TEST_F(FakeRawCalls, MemoryIsFreedInAScopeRatherThanMissed) {
  const auto scope = defer_cleanup();
  const std::size_t most = mem_get_info().free / 4 * 3;
  mem_alloc(most);
  EXPECT_NO_THROW(mem_alloc(most));
}

TEST_F(FakeRawCalls, PageLockedBlocksArePutOffAndUnregisteringIsNot) {
  const auto host_blocks = shim::live().host_blocks;
  backend::Device& device = Device().backend();
  std::vector<int> memory(1000);
  {
    const auto scope = defer_cleanup();
    PageLockedMemoryPool pool;
    pool.allocate(100).free();
    pool.free_held();
    EXPECT_EQ(shim::live().host_blocks, host_blocks + 1);
    for (int i = 0; i < 2; ++i) {
      device.register_host(memory.data(), 4000, {});
      device.unregister_host(memory.data());
    }
  }
  EXPECT_EQ(shim::live().host_blocks, host_blocks);
}

}  // namespace
}  // namespace quarry
