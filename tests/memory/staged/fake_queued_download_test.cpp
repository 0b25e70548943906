// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"
#include "memory/host_layouts.hpp"

/// The page-locked memory of queued downloads: who may use it when, and the driver's calls.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;
using enum DriverFunction;
using Host = std::vector<std::uint8_t>;

class QueuedDownload : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counts the fake driver's calls";
    tiny_.emplace();
    fake::set_behaviour({.eagerness = 0, .polls_run_work = false, .free_waits = false});
  }
  void TearDown() override {
    shim::clear_faults();
    fake::set_behaviour({});
  }

  static DeviceNDArray<std::uint8_t> source(std::size_t bytes) {
    return full<std::uint8_t>({static_cast<std::int64_t>(bytes)}, std::uint8_t{7});
  }
  static bool has_come(const Host& host) { return host == Host(host.size(), 7); }
  static std::size_t locked_blocks() { return fake::live().host_blocks; }
  static void trim() { memory::trim_staging(Device().backend()); }

  std::optional<test::TinyStagingPool> tiny_;
  const Stream first_ = stream({.non_blocking = true}), second_ = stream({.non_blocking = true});
};

constexpr std::size_t sizes[] = {600, 1800, 1801, 2500, 5000, 30000, 70000, 200000};

TEST_F(QueuedDownload, ALaterOneInTheStreamTakesTheSameMemoryWhileTheFirstIsOnItsWay) {
  for (const std::size_t bytes : sizes) {
    const auto a = source(bytes);
    Device().synchronize();
    Host host(bytes), again(bytes);
    a.copy_to_host(host, first_);
    shim::reset_counts();
    a.copy_to_host(again, first_);
    for (const auto call : {MemHostAlloc, StreamCreateWithPriority, EventCreate, EventQuery,
                            StreamQuery, StreamSynchronize, EventSynchronize}) {
      EXPECT_EQ(shim::calls(call), 0) << bytes << " bytes";
    }
    const std::int64_t pieces = shim::calls(MemcpyDtoHAsync);
    EXPECT_EQ(shim::calls(LaunchHostFunc), pieces);
    // at the start and at the end an event of the stream, and with copy streams one of each
    EXPECT_EQ(shim::calls(StreamWaitEvent), pieces == 1 ? 0 : 8);
    EXPECT_EQ(shim::calls(EventRecord), pieces == 1 ? 1 : 6);
    EXPECT_GT(fake::pending(), 0u) << "nothing has waited";
    first_.synchronize();
    EXPECT_TRUE(has_come(host) && has_come(again)) << bytes << " bytes";
  }
}

TEST_F(QueuedDownload, AnotherStreamTakesMemoryThatIsNotInUse) {
  for (const std::size_t bytes : sizes) {
    const auto a = source(bytes);
    Device().synchronize();
    trim();
    const std::size_t none = locked_blocks();
    Host host(bytes), other(bytes), third(bytes);
    a.copy_to_host(host, first_);
    EXPECT_EQ(locked_blocks(), none + 1);
    a.copy_to_host(other, second_);
    EXPECT_EQ(locked_blocks(), none + 2) << "the first copy is on its way";
    second_.synchronize();
    EXPECT_TRUE(has_come(other));
    first_.synchronize();
    EXPECT_TRUE(has_come(host));
    const Stream late = stream({.non_blocking = true});
    a.copy_to_host(third, late);
    EXPECT_EQ(locked_blocks(), none + 2) << "both are free";
    late.synchronize();
    EXPECT_TRUE(has_come(third));
  }
}

TEST_F(QueuedDownload, TrimFreesTheMemoryThatIsNotInUseAndDoesNotWait) {
  for (const std::size_t bytes : sizes) {
    const auto a = source(bytes);
    Device().synchronize();
    trim();
    const fake::Live none = fake::live();
    Host host(bytes), other(bytes);
    {
      a.copy_to_host(host, first_);
      a.copy_to_host(other, second_);
      second_.synchronize();
      first_.synchronize();
      const test::Gate gate(first_);
      a.copy_to_host(host, first_);
      trim();
      EXPECT_EQ(locked_blocks(), none.host_blocks + 1) << "that of the copy behind the gate";
    }
    first_.synchronize();
    EXPECT_TRUE(has_come(host) && has_come(other));
    trim();
    EXPECT_EQ(fake::live().host_blocks, none.host_blocks);
    EXPECT_EQ(fake::live().events, none.events);
    EXPECT_EQ(fake::live().streams, none.streams);
  }
}

TEST_F(QueuedDownload, WhereLittleMemoryCanBePageLockedThePartsAreFewer) {
  constexpr std::size_t bytes = 5000;  // four parts of 1800
  const auto a = source(bytes);
  const std::size_t all = fake::set_host_memory(~std::size_t{0});
  for (const std::size_t limit : {7200u, 7199u, 3600u, 1800u}) {
    Device().synchronize();
    trim();
    fake::set_host_memory(fake::live().host_bytes + limit);
    Host host(bytes);
    a.copy_to_host(host, first_);
    EXPECT_GT(fake::pending(), 0u) << "it has not waited";
    first_.synchronize();
    EXPECT_TRUE(has_come(host)) << limit;
  }
  fake::set_host_memory(all);
}

/// Nothing can be recorded at the end of the copies.
TEST_F(QueuedDownload, MemoryOfCopiesWhoseEndIsUnknownIsNotUsedAgain) {
  constexpr std::size_t bytes = 5000;
  const auto a = source(bytes);
  Device().synchronize();
  for (const auto call : {EventRecord, StreamWaitEvent}) {
    for (const std::int64_t nth : {1, 3, 5, 6}) {
      trim();
      const fake::Live none = fake::live();
      Host host(bytes), other(bytes);
      shim::inject({CUDA_ERROR_UNKNOWN, call, nth, true});
      EXPECT_THROW(a.copy_to_host(host, first_), RuntimeError);
      shim::clear_faults();
      a.copy_to_host(other, first_);
      EXPECT_EQ(locked_blocks(), none.host_blocks + 2) << "call " << nth;
      trim();
      EXPECT_EQ(fake::pending(), 0u) << "the device was not waited for";
      EXPECT_EQ(locked_blocks(), none.host_blocks + 1);
      trim();
      EXPECT_EQ(locked_blocks(), none.host_blocks);
      EXPECT_EQ(fake::live().events, none.events);
      first_.synchronize();
      EXPECT_TRUE(has_come(other));
    }
  }
}

}  // namespace
}  // namespace quarry
