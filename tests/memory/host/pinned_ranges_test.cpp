// SPDX-License-Identifier: BSD-3-Clause
#include "memory/host/pinned_ranges.hpp"

#include <quarry/quarry.hpp>

#include <quarry/memory/registered.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace quarry::memory {
namespace {

TEST(PinnedRanges, SplitIsWhatCrossesTheEdgeOfARegistrationOfTheDriver) {
  if (Device().is_cpu()) GTEST_SKIP() << "the CPU copies everything in one piece";
  std::vector<char> host(8192);
  const auto splits = [&](std::size_t at, std::size_t n) { return is_split(&host[at], n); };
  EXPECT_FALSE(splits(0, 8192));
  {
    const RegisteredHostMemory part(&host[100], 300), all(&host[50], 400);
    for (const std::size_t edge : {50u, 100u, 400u, 450u}) {
      EXPECT_TRUE(splits(edge - 1, 2)) << edge;
      EXPECT_FALSE(splits(edge - 1, 1)) << edge;
      EXPECT_FALSE(splits(edge, 1)) << edge;
      EXPECT_FALSE(splits(edge - 1, 0)) << edge;
    }
    EXPECT_FALSE(splits(0, 50) || splits(100, 300) || splits(450, 5000));
    EXPECT_TRUE(splits(0, 8192) && splits(50, 400));
  }
  EXPECT_FALSE(splits(0, 8192));
}

TEST(PinnedRanges, WhatTheDriverRefusesSplitsNothing) {
  if (Device().is_cpu()) GTEST_SKIP() << "the CPU copies everything in one piece";
  std::vector<char> host(8192);
  backend::Device& device = Device().backend();
  device.register_host(&host[100], 100, {});  // behind the library's back
  EXPECT_THROW(RegisteredHostMemory(&host[150], 100), LogicError);
  EXPECT_FALSE(is_split(host.data(), 8192));
  device.unregister_host(&host[100]);
}

}  // namespace
}  // namespace quarry::memory
