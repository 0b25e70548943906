// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;
using detail::UnfinishedWork;

std::size_t events() { return fake::live().events; }

/// Calls of the driver that fail: nothing is forgotten, the work is waited for instead.
class FakeUnfinishedWork : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
    before_ = fake::behaviour();
    fake::set_behaviour({.eagerness = 0, .polls_run_work = false});
  }
  void TearDown() override {
    if (test::kind() != test::Kind::fake) return;
    shim::clear_faults();
    fake::set_behaviour(before_);
  }

 private:
  fake::Behaviour before_;
};

class FakeFailingCall : public FakeUnfinishedWork,
                        public testing::WithParamInterface<DriverFunction> {};

TEST_P(FakeFailingCall, LeavesNothingUnfinishedUnseen) {
  for (const std::int64_t nth : {1, 2}) {
    const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
    const auto a = zeros<float>({1000}, {.stream = s}), b = zeros<float>({1000}, {.stream = t});
    const std::size_t events_before = events();
    shim::inject({CUDA_ERROR_OUT_OF_MEMORY, GetParam(), nth});
    UnfinishedWork work(s, {&t, 1});
    shim::clear_faults();
    work.wait();
    EXPECT_EQ(fake::pending(), 0u) << "call " << nth;
    EXPECT_EQ(events(), events_before);
  }
}

INSTANTIATE_TEST_SUITE_P(UnfinishedWork, FakeFailingCall,
                         testing::Values(DriverFunction::EventCreate, DriverFunction::EventRecord,
                                         DriverFunction::StreamQuery));

TEST_F(FakeUnfinishedWork, WaitsForTheDeviceWhereItCannotWaitForAnEvent) {
  const Stream s = stream({.non_blocking = true});
  const auto a = zeros<float>({1000}, {.stream = s});
  UnfinishedWork work(s, {});
  EXPECT_FALSE(work.is_done());
  shim::inject({CUDA_ERROR_INVALID_VALUE, DriverFunction::EventSynchronize});
  work.wait();
  EXPECT_EQ(fake::pending(), 0u);
}

}  // namespace
}  // namespace quarry
