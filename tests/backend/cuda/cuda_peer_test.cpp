// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>

#include <quarry/base/error.hpp>

#include "backend/chosen_device.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"

namespace quarry::backend {
namespace {

using namespace test;

/// Two GPUs, or the fakes of two.
class Peers : public testing::Test {
 protected:
  void SetUp() override {
    if (is_on_cpu() || cuda_devices().size() < 2) GTEST_SKIP() << "wants two GPUs";
  }
  void TearDown() override {
    if (IsSkipped()) return;
    here().disable_peer_access(there());
    there().disable_peer_access(here());
  }
  static Device& here() { return *cuda_devices().at(0); }
  static Device& there() { return *cuda_devices().at(1); }
};

TEST_F(Peers, AreEnabledAndDisabledAnyNumberOfTimes) {
  if (!here().can_access_peer(there())) {
    EXPECT_THROW(here().enable_peer_access(there()), LogicError);
    GTEST_SKIP() << "these GPUs are no peers";
  }
  for (int round = 0; round < 2; ++round) {
    here().enable_peer_access(there());
    here().enable_peer_access(there());
    here().disable_peer_access(there());
    here().disable_peer_access(there());
  }
  here().enable_peer_access(here());
  here().disable_peer_access(here());
}

TEST_F(Peers, CopyWithAndWithoutAccess) {
  const Bytes bytes = random_bytes(5000, 1);
  for (const bool enabled : {false, true}) {
    if (enabled && here().can_access_peer(there())) here().enable_peer_access(there());
    for (const bool blocking : {false, true}) {
      for (const bool created : {false, true}) {
        const Stream stream = created ? here().create_stream({}) : nullptr;
        const DeviceBytes from(bytes, there()), to(Bytes(5000, 0), here());
        there().synchronize();  // an upload that has returned is done for its own device only
        here().copy_from_peer(to.data() + 7, from.data() + 11, there(), 4000, stream, blocking);
        if (!blocking) here().synchronize(stream);
        Bytes expected(5000, 0);
        std::memcpy(expected.data() + 7, bytes.data() + 11, 4000);
        EXPECT_EQ(to.bytes(), expected);
        if (stream) here().destroy_stream(stream);
      }
    }
  }
  here().copy_from_peer(nullptr, nullptr, there(), 0, nullptr, true);
}

TEST_F(Peers, CopyFromADeviceToItself) {
  const Bytes bytes = random_bytes(100, 2);
  const DeviceBytes from(bytes), to(Bytes(100, 0));
  here().copy_from_peer(to.data(), from.data(), here(), 100, nullptr, true);
  EXPECT_EQ(to.bytes(), bytes);
}

TEST_F(Peers, CopyBlocksWithEveryField) {
  for (const bool blocking : {false, true}) {
    for (const bool to_here : {false, true}) {
      const Bytes source = random_bytes(10000, 3), target = random_bytes(10000, 4);
      Device &to_device = to_here ? here() : there(), &from_device = to_here ? there() : here();
      const DeviceBytes from(source, from_device), to(target, to_device);
      Bytes expected = target;
      for (std::size_t z = 0; z < 3; ++z) {
        for (std::size_t y = 0; y < 4; ++y) {
          std::memcpy(expected.data() + ((z + 1) * 9 + y + 2) * 32 + 3,
                      source.data() + ((z + 2) * 7 + y + 1) * 48 + 5, 13);
        }
      }
      const BlockSide target_side{.kind = SideKind::device,
                                  .address = to.data(),
                                  .x_in_bytes = 3,
                                  .y = 2,
                                  .z = 1,
                                  .pitch = 32,
                                  .height = 9,
                                  .device = &to_device};
      const BlockSide source_side{.kind = SideKind::device,
                                  .address = from.data(),
                                  .x_in_bytes = 5,
                                  .y = 1,
                                  .z = 2,
                                  .pitch = 48,
                                  .height = 7,
                                  .device = &from_device};
      here().copy_block(
          {.to = target_side, .from = source_side, .width_in_bytes = 13, .height = 4, .depth = 3},
          nullptr, blocking);
      here().synchronize();
      EXPECT_EQ(to.bytes(), expected);
    }
  }
}

TEST_F(Peers, BlocksOfTheCpuAreHostMemory) {
  const DeviceBytes memory(Bytes(100, 0));
  Bytes host(100, 1);
  BlockCopy copy{.to = {.kind = SideKind::device, .address = memory.data(), .pitch = 10},
                 .from = {.kind = SideKind::device, .address = host.data(), .pitch = 10},
                 .width_in_bytes = 10,
                 .height = 10};
  copy.from.device = &cpu();
  EXPECT_THROW(here().copy_block(copy, nullptr, true), LogicError);
  copy.from = {.kind = SideKind::host, .address = host.data(), .pitch = 10};
  here().copy_block(copy, nullptr, true);
  EXPECT_EQ(memory.bytes(), host);
}

TEST_F(Peers, UseOneCallOfTheDriver) {
  if (!fake::is_installed()) GTEST_SKIP() << "wants the shim";
  using cuda::DriverFunction;
  const DeviceBytes from(Bytes(100, 1), there()), to(Bytes(100, 0), here());
  cuda::shim::reset_counts();
  here().copy_from_peer(to.data(), from.data(), there(), 100, nullptr, false);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyPeerAsync), 1);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::StreamSynchronize), 0);
  here().copy_from_peer(to.data(), from.data(), there(), 100, nullptr, true);
  EXPECT_EQ(cuda::shim::calls(DriverFunction::MemcpyPeer), 1);
}

}  // namespace
}  // namespace quarry::backend
