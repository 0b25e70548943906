// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "memory/host_layouts.hpp"
#include "memory/staged/staging_pool.hpp"

/// Drivers that fail in the middle of a copy.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

class FakeTransfer : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "steers the fake driver";
  }
  void TearDown() override {
    shim::clear_faults();
    fake::set_behaviour({});
  }

  static std::vector<float> source() {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(i);
    return all;
  }
  static void check_that_all_works() {
    std::vector<float> back(count);
    to_device(source()).copy_to_host(back);
    ASSERT_EQ(back, source());
  }
  static constexpr std::size_t count = 5000;
};

/// Every call of the driver during copies each way, waiting and not, dense and strided.
TEST_F(FakeTransfer, AnyCallMayFail) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  const auto a = device_array<float>({count}), wide = device_array<float>({2 * count});
  const auto every_other = wide(range(0, 2 * static_cast<std::int64_t>(count), 2));
  auto host = source();
  const auto work = [&] {
    a.copy_to_device(host);
    a.copy_to_host(host);
    every_other.copy_to_device(host, s);
    every_other.copy_to_host(host, s);
    s.synchronize();
  };
  work();
  shim::reset_counts();
  work();
  const std::int64_t calls = shim::calls();
  for (std::int64_t k = 1; k <= calls; k += 1 + calls / 150) {
    shim::inject({.code = CUDA_ERROR_UNKNOWN, .nth = k});
    try {
      work();
    } catch (const Error&) {
    }
    shim::clear_faults();
    fake::run_pending();
    ASSERT_NO_FATAL_FAILURE(check_that_all_works()) << "after the failure of call " << k;
    host = source();
  }
  // a failed destruction keeps what it was to destroy
  test::forgive_leaks();
}

TEST_F(FakeTransfer, AFailureInTheMiddleComesOutAndNothingLeaks) {
  const test::TinyStagingPool tiny;
  const auto a = device_array<float>({count});
  const auto host = source();
  std::vector<float> back(count);
  a.copy_to_device(host);
  a.copy_to_host(back);
  const auto live = fake::live();
  for (const std::int64_t k : {1, 2, 7, 15}) {
    shim::inject({CUDA_ERROR_UNKNOWN, DriverFunction::MemcpyHtoDAsync, k});
    EXPECT_THROW(a.copy_to_device(host), RuntimeError) << k;
    shim::inject({CUDA_ERROR_UNKNOWN, DriverFunction::MemcpyDtoHAsync, k});
    EXPECT_THROW(a.copy_to_host(back), RuntimeError) << k;
    shim::clear_faults();
    ASSERT_NO_FATAL_FAILURE(check_that_all_works());
  }
  EXPECT_EQ(fake::live().events, live.events);
  EXPECT_EQ(fake::live().streams, live.streams);
}

/// Pieces that were queued before the failure are on their way when the program learns of it.
TEST_F(FakeTransfer, AQueuedDownloadThatHasFailedLeavesTheHostMemoryAlone) {
  const test::TinyStagingPool tiny;
  const Stream s = stream({.non_blocking = true});
  const auto a = to_device(source());
  std::vector<float> back(count);
  a.copy_to_host(back, s);
  s.synchronize();
  for (const auto call : {DriverFunction::MemcpyDtoHAsync, DriverFunction::LaunchHostFunc,
                          DriverFunction::EventRecord, DriverFunction::StreamWaitEvent}) {
    for (std::int64_t k = 1; k <= 12; ++k) {
      fake::set_behaviour({.eagerness = 0, .polls_run_work = false});
      shim::inject({CUDA_ERROR_UNKNOWN, call, k});
      bool has_failed = false;
      try {
        a.copy_to_host(back, s);
      } catch (const RuntimeError&) {
        has_failed = true;
        back.assign(count, -1.f);
      }
      shim::clear_faults();
      fake::set_behaviour({});
      fake::run_pending();
      s.synchronize();
      ASSERT_EQ(back, has_failed ? std::vector<float>(count, -1.f) : source()) << "call " << k;
    }
  }
  ASSERT_NO_FATAL_FAILURE(check_that_all_works());
}

/// No event can be recorded behind the copies of a buffer, nor can their stream be waited for.
TEST_F(FakeTransfer, BuffersOfCopiesWhoseEndIsUnknownAreFreedWhenTheDeviceIsDone) {
  const test::TinyStagingPool tiny;
  backend::Device& device = Device().backend();
  const auto a = device_array<float>({count});
  const auto host = source();
  memory::trim_staging(device);
  const fake::Live before = fake::live();
  for (const std::int64_t k : {1, 2, 5}) {
    fake::set_behaviour({.eagerness = 0, .polls_run_work = false, .free_waits = false});
    shim::inject({CUDA_ERROR_UNKNOWN, DriverFunction::EventRecord, k, true});
    shim::inject({CUDA_ERROR_UNKNOWN, DriverFunction::StreamSynchronize, 2, true});  // but before
    EXPECT_THROW(a.copy_to_device(host), RuntimeError) << k;
    shim::clear_faults();
    EXPECT_GT(fake::live().host_blocks, before.host_blocks) << "copies of it are on their way";
    memory::trim_staging(device);
    EXPECT_EQ(fake::pending(), 0u) << "it was not waited for";
    EXPECT_EQ(fake::live().host_blocks, before.host_blocks) << k;
    EXPECT_EQ(fake::live().events, before.events) << k;
    ASSERT_NO_FATAL_FAILURE(check_that_all_works());
    memory::trim_staging(device);
  }
}

TEST_F(FakeTransfer, WithoutPageLockedMemoryTheDriverCopies) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  shim::inject({CUDA_ERROR_OUT_OF_MEMORY, DriverFunction::MemHostAlloc, 1, true});
  ASSERT_NO_FATAL_FAILURE(check_that_all_works());
  const test::Placed apart = test::placed("apart", {2000}, {3}, 4),
                     dense = test::placed("dense", {2000}, {1}, 4);
  for (const bool waits : {true, false}) {
    const test::Bytes from = test::pattern(apart.bytes, 1), into = test::pattern(dense.bytes, 2);
    test::HostBlock memory(from, false), back(from, false);
    const test::DeviceBlock there(into);
    upload(there.at(dense, dtype_of<float>),
           {memory.data() + apart.first, dtype_of<float>, apart.layout}, s, waits);
    download({back.data() + apart.first, dtype_of<float>, apart.layout},
             there.at(dense, dtype_of<float>), s, waits);
    s.synchronize();
    EXPECT_EQ(there.bytes(), test::copied(into, dense, from, apart, 4));
    EXPECT_EQ(back.bytes(), from);
  }
}

TEST_F(FakeTransfer, ADeviceThatIsFullRearrangesInParts) {
  constexpr std::int64_t n = 2000;
  const test::Placed host = test::placed("F", {n, n}, {1, n}, 4),
                     device = test::placed("C", {n, n}, {n, 1}, 4);
  const test::Bytes source = test::pattern(host.bytes, 1);
  test::HostBlock memory(source, false), back(test::pattern(host.bytes, 2), false);
  const test::DeviceBlock there(test::pattern(device.bytes, 3));
  trim_pool(Device());
  const std::size_t used = fake::live().device_bytes;
  fake::set_memory(0, used + (std::size_t{5} << 20));
  const HostRef from{memory.data() + host.first, dtype_of<float>, host.layout},
      to{back.data() + host.first, dtype_of<float>, host.layout};
  upload(there.at(device, dtype_of<float>), from, default_stream(), true);
  download(to, there.at(device, dtype_of<float>), default_stream(), true);
  fake::set_memory(0, std::size_t{1} << 30);
  EXPECT_EQ(back.bytes(), test::copied(back.bytes(), host, source, host, 4));
}

TEST_F(FakeTransfer, AnyOrderOfTheDevicesWork) {
  const test::TinyStagingPool tiny;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fake::set_behaviour({.seed = seed, .background = seed % 2 == 0, .eagerness = 0.1});
    const Stream s = stream();
    const auto host = source();
    std::vector<float> back(count), again(count);
    const auto a = to_device(host, s);
    a.copy_to_host(back, s);
    a.copy_to_host(again);
    s.synchronize();
    ASSERT_EQ(back, host);
    ASSERT_EQ(again, host);
  }
}

}  // namespace
}  // namespace quarry
