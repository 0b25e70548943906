// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include <quarry/base/error.hpp>

#include "backend/chosen_device.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"

namespace quarry::backend {
namespace {

using namespace test;
using cuda::DriverFunction;
using cuda::LiveHandles;

/// The fake of a GPU, under the shim.
class CudaMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (is_on_cpu() || !fake::is_installed()) GTEST_SKIP() << "wants the shim";
  }
  void TearDown() override { cuda::shim::clear_faults(); }
  static Device& gpu() { return chosen_device(); }

  /// What `make` has added to `field`.
  static std::size_t added(std::size_t LiveHandles::*field, const std::function<void()>& make) {
    const std::size_t before = cuda::shim::live().*field;
    make();
    return cuda::shim::live().*field - before;
  }
  static void fail(DriverFunction function, CUresult code) {
    cuda::shim::inject({.code = code, .function = function});
  }
};

TEST_F(CudaMemory, OfEveryKindIsFreedAndNothingIsLeft) {
  gpu().free_pooled(gpu().allocate_pooled(1, nullptr), 1, nullptr);  // makes the pool
  const LiveHandles before = cuda::shim::live();
  void *pitched = nullptr, *pooled = nullptr, *host = nullptr, *managed = nullptr;
  std::vector<char> memory(5000);
  using L = LiveHandles;
  EXPECT_EQ(added(&L::device_blocks, [&] { pitched = gpu().allocate_pitched(10, 3, 4).memory; }),
            1U);
  EXPECT_EQ(added(&L::pooled_bytes, [&] { pooled = gpu().allocate_pooled(1000, nullptr); }), 1000U);
  EXPECT_EQ(added(&L::host_bytes, [&] { host = gpu().allocate_host(1000, {}); }), 1000U);
  EXPECT_EQ(added(&L::managed_bytes, [&] { managed = gpu().allocate_managed(99, Attach::global); }),
            99U);
  EXPECT_EQ(added(&L::registered_bytes, [&] { gpu().register_host(memory.data(), 5000, {}); }),
            5000U);
  gpu().free(pitched, 0);
  gpu().free_pooled(pooled, 1000, nullptr);
  gpu().free_host(host);
  gpu().free(managed, 99);
  gpu().unregister_host(memory.data());
  EXPECT_EQ(cuda::shim::live(), before);
  EXPECT_EQ(before.pools, cuda::shim::live().pools);
}

TEST_F(CudaMemory, OfNullIsFreedWithoutACallOfTheDriver) {
  cuda::shim::reset_counts();
  gpu().free(nullptr, 0);
  gpu().free_host(nullptr);
  gpu().free_pooled(nullptr, 0, nullptr);
  EXPECT_EQ(cuda::shim::calls(), 0);
}

TEST_F(CudaMemory, ThatTheDriverHasNotIsANullPointer) {
  gpu().free_pooled(gpu().allocate_pooled(1, nullptr), 1, nullptr);
  const LiveHandles before = cuda::shim::live();
  const auto expect_null = [](DriverFunction function, const std::function<void*()>& make) {
    fail(function, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(make(), nullptr);
    fail(function, CUDA_ERROR_UNKNOWN);
    EXPECT_THROW(make(), RuntimeError);
  };
  expect_null(DriverFunction::MemAlloc, [] { return gpu().allocate(10); });
  expect_null(DriverFunction::MemAllocPitch,
              [] { return gpu().allocate_pitched(10, 10, 4).memory; });
  expect_null(DriverFunction::MemHostAlloc, [] { return gpu().allocate_host(10, {}); });
  expect_null(DriverFunction::MemAllocManaged,
              [] { return gpu().allocate_managed(10, Attach::global); });
  expect_null(DriverFunction::MemAllocFromPoolAsync,
              [] { return gpu().allocate_pooled(10, nullptr); });
  EXPECT_EQ(cuda::shim::live(), before);
}

TEST_F(CudaMemory, RegistrationsThatTheSystemRefusesAreMemoryErrors) {
  std::vector<char> memory(5000);
  for (const CUresult code : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OPERATING_SYSTEM}) {
    fail(DriverFunction::MemHostRegister, code);
    EXPECT_THROW(gpu().register_host(memory.data(), 5000, {}), MemoryError);
  }
  fail(DriverFunction::MemHostRegister, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THROW(gpu().register_host(memory.data(), 5000, {}), LogicError);
  gpu().register_host(memory.data(), 5000, {});
  gpu().unregister_host(memory.data());
}

TEST_F(CudaMemory, ThatIsNotRegisteredIsNotUnregistered) {
  std::vector<char> memory(5000);
  EXPECT_THROW(gpu().unregister_host(memory.data()), LogicError);
  gpu().register_host(memory.data(), 5000, {});
  gpu().unregister_host(memory.data());
  EXPECT_THROW(gpu().unregister_host(memory.data()), LogicError);
  EXPECT_EQ(fake::take_faults().size(), 2U);
}

TEST_F(CudaMemory, BlockingCopiesOfARowAreOneCall) {
  std::vector<char> host(4096);
  void* const memory = gpu().allocate(4096);
  gpu().synchronize();
  cuda::shim::reset_counts();
  gpu().copy({Direction::host_to_device, memory, host.data(), 4096}, nullptr, true);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyHtoD), 1);
  const auto waits = cuda::shim::calls(DriverFunction::StreamSynchronize);
  EXPECT_LE(waits, 1);  // where there are streams that do not wait for the default one
  EXPECT_LE(cuda::shim::calls(), 2 * (1 + waits));  // each asks for the thread's context
  gpu().free(memory, 4096);
}

TEST_F(CudaMemory, CopiesOfSlicesAreOneCallWhereTheDriverHasIt) {
  void* const memory = gpu().allocate(10000);
  std::vector<char> host(10000);
  Copy copy{Direction::host_to_device, memory, host.data(), 10, 5, 16, 20, 7, 96, 140};
  cuda::shim::reset_counts();
  gpu().copy(copy, nullptr, true);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::Memcpy3DAsync), 1);
  copy.to_slice = 97;
  cuda::shim::reset_counts();
  gpu().copy(copy, nullptr, true);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::Memcpy3DAsync), 0);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::Memcpy2DAsync), 7);
  copy = {Direction::host_to_device, memory, host.data(), 10, 5, 10, 10, 7, 50, 50};
  cuda::shim::reset_counts();
  gpu().copy(copy, nullptr, true);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyHtoD), 1);
  gpu().free(memory, 10000);
}

TEST_F(CudaMemory, BatchesAreOneCallButInTheLegacyStream) {
  const Stream stream = gpu().create_stream({});
  EXPECT_FALSE(gpu().has_batched_copies(nullptr));
  EXPECT_FALSE(gpu().has_batched_copies(gpu().legacy_stream()));
  if (!gpu().has_batched_copies(stream)) {
    gpu().destroy_stream(stream);
    GTEST_SKIP() << "this driver has no batched copies";
  }
  auto* const memory = static_cast<char*>(gpu().allocate(1000));
  const Piece pieces[] = {{memory, memory + 500, 100}, {memory + 200, memory + 700, 100}};
  cuda::shim::reset_counts();
  gpu().copy_batch(Direction::device_to_device, pieces, stream);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyBatchAsync), 1);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyDtoDAsync), 0);
  gpu().copy_batch(Direction::device_to_device, pieces, nullptr);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyBatchAsync), 1);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyDtoDAsync), 2);
  gpu().synchronize();
  gpu().free(memory, 1000);
  gpu().destroy_stream(stream);
}

/// The driver without some of its functions.
class OlderDriver {
 public:
  explicit OlderDriver(const std::function<void(cuda::DriverTable&)>& forget)
      : before_(cuda::driver()), older_(before_) {
    forget(older_);
    cuda::use_driver(&older_);
  }
  ~OlderDriver() { cuda::use_driver(&before_); }
  OlderDriver(const OlderDriver&) = delete;
  OlderDriver& operator=(const OlderDriver&) = delete;

 private:
  const cuda::DriverTable& before_;
  cuda::DriverTable older_;
};

std::string what_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const LogicError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_F(CudaMemory, WithoutThePoolsOfTheDriverSaysSo) {
  if (cuda_devices().size() < 2) GTEST_SKIP() << "wants a device without a pool";
  Device& other = *cuda_devices().at(1);
  other.reset();
  const OlderDriver older([](cuda::DriverTable& table) { table.MemPoolCreate = nullptr; });
  EXPECT_NE(what_of([&] { other.allocate_pooled(10, nullptr); }).find("CUDA 11.2"),
            std::string::npos);
  EXPECT_EQ(other.driver_pool().used, 0U);
  other.trim_driver_pool(0);
}

TEST_F(CudaMemory, WithoutMigrationSaysSo) {
  void* const memory = gpu().allocate_managed(1000, Attach::global);
  {
    const OlderDriver older([](cuda::DriverTable& table) {
      table.MemPrefetchAsync = nullptr;
      table.MemAdvise = nullptr;
    });
    EXPECT_NE(what_of([&] { gpu().prefetch(memory, 1000, gpu(), nullptr); }).find("CUDA 12.2"),
              std::string::npos);
    EXPECT_NE(what_of([&] {
                gpu().advise(memory, 1000, Advice::set_read_mostly, gpu());
              }).find("CUDA 12.2"),
              std::string::npos);
  }
  gpu().free(memory, 1000);
}

TEST_F(CudaMemory, WithoutBatchesCopiesOneByOne) {
  const OlderDriver older([](cuda::DriverTable& table) { table.MemcpyBatchAsync = nullptr; });
  const Stream stream = gpu().create_stream({});
  EXPECT_FALSE(gpu().has_batched_copies(stream));
  const Bytes bytes = random_bytes(100, 1);
  const DeviceBytes to(Bytes(100, 0));
  const Piece pieces[] = {{to.data(), bytes.data(), 40}, {to.data() + 40, bytes.data() + 40, 60}};
  gpu().copy_batch(Direction::host_to_device, pieces, stream);
  gpu().synchronize(stream);
  EXPECT_EQ(to.bytes(), bytes);
  gpu().destroy_stream(stream);
}

TEST_F(CudaMemory, PoolsThatCannotBeMadeAreAskedForAgain) {
  if (cuda_devices().size() < 2) GTEST_SKIP() << "wants a device without a pool";
  Device& other = *cuda_devices().at(1);
  other.reset();
  const std::size_t pools = cuda::shim::live().pools;
  fail(DriverFunction::MemPoolCreate, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(other.allocate_pooled(10, nullptr), nullptr);
  fail(DriverFunction::MemPoolSetAttribute, CUDA_ERROR_UNKNOWN);
  EXPECT_THROW(other.allocate_pooled(10, nullptr), RuntimeError);
  EXPECT_EQ(cuda::shim::live().pools, pools);
  void* const memory = other.allocate_pooled(10, nullptr);
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(cuda::shim::live().pools, pools + 1);
  other.free_pooled(memory, 10, nullptr);
}

TEST_F(CudaMemory, AResetDeviceMakesAnotherPool) {
  if (cuda_devices().size() < 2) GTEST_SKIP() << "needs a device of its own";
  Device& other = *cuda_devices().at(1);
  other.free_pooled(other.allocate_pooled(1000, nullptr), 1000, nullptr);
  const std::size_t pools = cuda::shim::live().pools;
  EXPECT_GT(other.driver_pool().used_high, 0U);
  other.reset();
  EXPECT_EQ(cuda::shim::live().pools, pools - 1);
  EXPECT_EQ(other.driver_pool().used_high, 0U);
  other.free_pooled(other.allocate_pooled(1000, nullptr), 1000, nullptr);
  EXPECT_EQ(cuda::shim::live().pools, pools);
}

}  // namespace
}  // namespace quarry::backend
