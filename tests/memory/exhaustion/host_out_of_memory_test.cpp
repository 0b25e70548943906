// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <new>
#include <optional>

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "memory/exhaustion/failing_new.hpp"
#include "memory/exhaustion/host_programs.hpp"
#include "memory/exhaustion/spared_driver.hpp"
#include "memory/host_layouts.hpp"
#include "memory/staged/thresholds.hpp"

/// Every allocation of host memory that a program makes on its thread, or that the library makes on
/// threads of its own, fails once, and then for good: the program has right values or throws
/// std::bad_alloc or Error; nothing is lost, and the same program works afterwards.
namespace quarry {
namespace {

using test::Failing;
using test::Program;

class HostOutOfMemory : public testing::TestWithParam<Program> {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cuda) GTEST_SKIP() << "wants the CPU or the fake driver";
    if (GetParam().prepare && backend::cuda_devices().size() < 2) GTEST_SKIP() << "wants two GPUs";
    if (test::kind() == test::Kind::fake) spared_.emplace();
    before_ = memory::thresholds_of(device());
    memory::set_thresholds(device(), small_copies());
    for (int i = 0; i < 2; ++i) {  // what is made once is there
      if (GetParam().prepare) GetParam().prepare();
      ASSERT_TRUE(GetParam().run());
    }
    release();
    modules_ = held().live.modules;
    fake::take_faults();
  }

  void TearDown() override {
    if (!IsSkipped()) memory::set_thresholds(device(), before_);
  }

  static backend::Device& device() { return Device().backend(); }

  /// Little memory, and yet every way to carry it.
  static memory::TransferThresholds small_copies() {
    memory::TransferThresholds t;
    t.staged_bytes = 4096;
    t.taken_bytes = t.probe_bytes = 1024;
    t.chunk_bytes = 4096;
    t.least_chunk = 2048;
    t.block_bytes = 1024;
    t.threads = t.strided_threads = 2;
    t.buffers = t.pipeline_buffers = 4;
    return t;
  }

  static std::vector<Device> devices() {
    std::vector<Device> all{Device::cpu()};
    for (const auto& gpu : backend::cuda_devices()) all.emplace_back(*gpu);
    return all;
  }

  static void release() {
    if (test::kind() == test::Kind::fake) fake::run_pending();
    for (const Device& d : devices()) {
      d.synchronize();
      default_stream(d).synchronize();  // drops what callbacks hold
      detail::trim_host_memory(d);
      trim_pool(d);
    }
  }

  struct Held {
    fake::Live live = {};
    std::size_t active = 0;
  };
  static Held held() {
    Held held;
    if (test::kind() == test::Kind::fake) held.live = fake::live();
    for (const Device& d : devices()) held.active += pool_statistics(d).active_bytes;
    return held;
  }

  /// Runs the program with the nth allocation failing; whether there was such a one.
  template <class FailingNew>
  bool fail(std::int64_t nth, Failing how) const {
    if (GetParam().prepare) GetParam().prepare();
    const Held before = held();
    bool is_right = true;
    try {
      const FailingNew failing(nth, how);
      is_right = GetParam().run();
    } catch (const std::bad_alloc&) {  // the other right answers
    } catch (const Error&) {
    }
    EXPECT_TRUE(is_right) << "wrong values";
    const bool has_failed = FailingNew::failures() > 0;
    EXPECT_TRUE(GetParam().run()) << "the next time";
    release();
    expect_nothing_lost(before, held());
    EXPECT_LE(held().live.modules, modules_) << "kernels that were loaded and lost";
    EXPECT_EQ(fake::take_faults(), std::vector<std::string>{});
    return has_failed;
  }

  static void expect_nothing_lost(const Held& before, const Held& after) {
    EXPECT_LE(after.active, before.active);
    EXPECT_EQ(after.live.device_blocks, before.live.device_blocks);
    EXPECT_EQ(after.live.device_bytes, before.live.device_bytes);
    EXPECT_LE(after.live.host_blocks, before.live.host_blocks);
    EXPECT_LE(after.live.host_bytes, before.live.host_bytes);
    EXPECT_EQ(after.live.registrations, before.live.registrations);
    EXPECT_EQ(after.live.managed_blocks, before.live.managed_blocks);
    EXPECT_EQ(after.live.pool_blocks, before.live.pool_blocks);
    EXPECT_LE(after.live.streams, before.live.streams);
    EXPECT_LE(after.live.events, before.live.events);
  }

  /// Each allocation in turn; how many there were.
  template <class FailingNew>
  std::int64_t fail_each() const {
    std::int64_t points = 0;
    for (const Failing how : {Failing::once, Failing::for_good}) {
      for (std::int64_t nth = 1; points < 4000; ++nth, ++points) {
        SCOPED_TRACE(testing::Message()
                     << "allocation " << nth << (how == Failing::once ? "" : " and on"));
        if (!fail<FailingNew>(nth, how)) break;
        if (HasFailure()) return points;
      }
    }
    return points;
  }

 private:
  std::optional<test::SparedDriver> spared_;
  memory::TransferThresholds before_;
  std::size_t modules_ = 0;
};

TEST_P(HostOutOfMemory, ThrowsOrWorksAndLosesNothing) {
  const std::int64_t points = fail_each<test::FailingNew>();
  EXPECT_GT(points, 4) << "does the library use this program's operator new?";
  EXPECT_LT(points, 4000);
  RecordProperty("points", static_cast<int>(points));
}

/// What the work of streams and copies takes while it runs.
TEST_P(HostOutOfMemory, AlsoOnTheThreadsOfTheLibrary) {
  const std::int64_t points = fail_each<test::FailingNewElsewhere>();
  EXPECT_LT(points, 4000);
  RecordProperty("points", static_cast<int>(points));
}

INSTANTIATE_TEST_SUITE_P(All, HostOutOfMemory, testing::ValuesIn(test::host_programs()),
                         [](const auto& info) { return std::string(info.param.name); });

/// So many axes that to walk them takes memory.
TEST(NoHostMemory, WhileAQueuedDownloadIsUnpackedComesOutOfItsStream) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
  const test::TinyStagingPool tiny;
  const Shape shape = Shape::filled(10, 2);
  const test::Placed dense =
                         test::placed("dense", shape, {512, 256, 128, 64, 32, 16, 8, 4, 2, 1}, 4),
                     apart = test::placed("apart", shape,
                                          {19683, 6561, 2187, 729, 243, 81, 27, 9, 3, 1}, 4);
  const test::Bytes source = test::pattern(dense.bytes, 1), before = test::pattern(apart.bytes, 2);
  const test::DeviceBlock there(source);
  const Stream s = stream({.non_blocking = true});
  test::HostBlock memory(before, false);
  const HostRef to{memory.data() + apart.first, dtype_of<float>, apart.layout};
  const auto queue = [&] { download(to, there.at(dense, dtype_of<float>), s, false); };
  {
    const test::FailingNewElsewhere failing(1, Failing::for_good);
    queue();
    EXPECT_THROW(s.synchronize(), std::bad_alloc);
  }
  EXPECT_GT(test::FailingNewElsewhere::failures(), 0);
  queue();
  s.synchronize();
  EXPECT_EQ(memory.bytes(), test::copied(before, apart, source, dense, 4));
}

}  // namespace
}  // namespace quarry
