// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "lifetimes/scene.hpp"
#include "memory/host_layouts.hpp"

/// Work is queued in a stream that is held back, its operands are dropped, and their memory is
/// taken by other arrays in other streams, with other values in it: what comes out is right, and
/// the other arrays keep their values. On the fake driver, whose queues run in an order of the
/// seed, for many seeds; elsewhere the stream is held until all of that has happened.
namespace quarry::test {
namespace {

enum class Results { kept, dropped };

class Lifetimes : public testing::TestWithParam<EntryPoint> {
 protected:
  void SetUp() override {
    if (GetParam().two_gpus && (Device().is_cpu() || gpus.size() < 2)) {
      GTEST_SKIP() << "wants two GPUs";
    }
    previous_ = fake::behaviour();
  }
  void TearDown() override {
    if (is_fake()) fake::set_behaviour(previous_);
  }

  static bool is_fake() { return kind() == Kind::fake; }
  static unsigned seeds() { return is_fake() ? 24 : 1; }
  static bool can_hold(const EntryPoint& entry) {
    const bool blocks = entry.blocks == Blocks::everywhere ||
                        entry.blocks == (Device().is_cpu() ? Blocks::on_the_cpu : Blocks::on_a_gpu);
    return !is_fake() && !blocks;
  }
  static void behave(unsigned seed) {
    if (!is_fake()) return;
    fake::set_behaviour(
        {.seed = seed, .eagerness = seed % 2 ? 0.0 : 0.25, .polls_run_work = seed % 4 < 2});
  }

  static void run(Results results, bool holds) {
    const EntryPoint& entry = GetParam();
    const TinyStagingPool pool;
    Scene scene(holds);
    Later result;
    {
      const StreamGuard guard(scene.held);
      result = entry.queue(scene);
    }
    if (results == Results::dropped && result.droppable) result = {};
    scene.refill(!is_fake() && !entry.joins);
    scene.open();
    if (!entry.waits || results == Results::dropped) scene.held.synchronize();
    if (results == Results::kept) {
      EXPECT_EQ(result.seen(), result.expected);
    }
    EXPECT_TRUE(scene.is_intact()) << "the next owner of the memory has lost its values";
  }

 private:
  fake::Behaviour previous_;
};

TEST_P(Lifetimes, OperandsMayBeDroppedAndTheirMemoryUsedAgain) {
  for (unsigned seed = 1; seed <= seeds(); ++seed) {
    for (const Results results : {Results::kept, Results::dropped}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", results "
                                      << (results == Results::kept ? "kept" : "dropped"));
      behave(seed);
      // First without the gate: a GPU loads kernels and page-locks memory when its streams are
      // idle.
      if (kind() == Kind::cuda) {
        ASSERT_NO_FATAL_FAILURE(run(results, false));
      }
      ASSERT_NO_FATAL_FAILURE(run(results, can_hold(GetParam())));
      ASSERT_FALSE(HasFailure());
    }
  }
}

std::string name_of(const testing::TestParamInfo<EntryPoint>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Expressions, Lifetimes, testing::ValuesIn(expression_entries()), name_of);
INSTANTIATE_TEST_SUITE_P(Reductions, Lifetimes, testing::ValuesIn(reduction_entries()), name_of);
INSTANTIATE_TEST_SUITE_P(Copies, Lifetimes, testing::ValuesIn(copy_entries()), name_of);
INSTANTIATE_TEST_SUITE_P(Host, Lifetimes, testing::ValuesIn(host_entries()), name_of);
INSTANTIATE_TEST_SUITE_P(Raw, Lifetimes, testing::ValuesIn(raw_entries()), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, Lifetimes, testing::ValuesIn(device_entries()), name_of);
INSTANTIATE_TEST_SUITE_P(Waiting, Lifetimes, testing::ValuesIn(waiting_entries()), name_of);

}  // namespace
}  // namespace quarry::test
