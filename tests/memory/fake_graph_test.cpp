// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include <quarry/memory/graph.hpp>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

/// What graphs ask of the driver.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

class GraphCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "calls are counted on the fake driver";
    u_ += 1.f;
    Device().synchronize();
  }
  void TearDown() override { shim::clear_faults(); }

  const DeviceNDArray<float> u_ = zeros<float>({100});
};

TEST_F(GraphCalls, ALaunchIsOneCallWhateverTheNumberOfKernels) {
  const Graph graph = capture([&] {
    for (int i = 0; i < 50; ++i) u_ += 1.f;
  });
  graph();
  shim::reset_counts();
  graph();
  EXPECT_EQ(shim::calls(DriverFunction::GraphLaunch), 1);
  EXPECT_EQ(shim::calls() - shim::calls(DriverFunction::CtxGetCurrent), 1);
}

TEST_F(GraphCalls, AnUpdateOfTheSameStructureInstantiatesNothing) {
  float value = 1;
  int count = 2;
  const Graph graph = capture([&] {
    for (int i = 0; i < count; ++i) u_ += value;
  });
  shim::reset_counts();
  value = 2;
  graph.update();
  EXPECT_EQ(shim::calls(DriverFunction::GraphInstantiateWithFlags), 0);
  EXPECT_EQ(shim::calls(DriverFunction::GraphExecUpdate), 1);
  count = 3;
  graph.update();
  EXPECT_EQ(shim::calls(DriverFunction::GraphInstantiateWithFlags), 1);
}

/// Whatever the call that fails, nothing is left and the graph that was there works on.
TEST_F(GraphCalls, FailuresLeaveNothingAndTheGraphAsItWas) {
  float value = 1;
  const Graph graph = capture([&] {
    const DeviceNDArray<float> sums = u_ + value;
    u_(all) = sums;
  });
  Device().synchronize();
  const fake::Live before = fake::live();
  for (const auto function :
       {DriverFunction::StreamCreateWithPriority, DriverFunction::StreamBeginCapture,
        DriverFunction::StreamEndCapture, DriverFunction::GraphGetNodes,
        DriverFunction::GraphExecUpdate, DriverFunction::LaunchKernelEx}) {
    shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY, .function = function});
    EXPECT_THROW(graph.update(), Error) << static_cast<int>(function);
    shim::clear_faults();
    EXPECT_FALSE(detail::is_capturing());
  }
  for (const auto function :
       {DriverFunction::GraphInstantiateWithFlags, DriverFunction::StreamEndCapture}) {
    shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY, .function = function});
    EXPECT_THROW(capture([&] { u_ += 1.f; }), Error) << static_cast<int>(function);
    shim::clear_faults();
  }
  EXPECT_EQ(fake::live().graphs, before.graphs);
  fake::take_faults();  // an injected error leaves a capture that the driver would have ended
  graph();
  std::vector<float> got(100);
  u_.copy_to_host(got);
  EXPECT_EQ(got, std::vector<float>(100, 2.f));
}

}  // namespace
}  // namespace quarry
