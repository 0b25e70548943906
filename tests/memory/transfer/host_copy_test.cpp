// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/host_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace quarry::memory {
namespace {

std::byte* address(std::uintptr_t at) { return reinterpret_cast<std::byte*>(at); }

/// Addresses of one element, on the host and on the device.
using Pair = std::pair<const std::byte*, const std::byte*>;

std::vector<Pair> pairs(const HostRef& host, const DeviceRef& device) {
  std::vector<Pair> all{{host.data, device.data}};
  for (std::size_t d = 0; d < host.layout.rank(); ++d) {
    std::vector<Pair> next;
    for (const auto& [h, v] : all) {
      for (std::int64_t i = 0; i < host.layout.shape[d]; ++i) {
        next.emplace_back(h + i * host.layout.strides[d], v + i * device.layout.strides[d]);
      }
    }
    all = std::move(next);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Both sides dense, in any order of the axes, with gaps, reversed or repeating axes.
Strides drawn_strides(std::mt19937& random, const Shape& shape, std::int64_t itemsize) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  if (random() % 2) std::shuffle(order.begin(), order.end(), random);
  Strides strides = Strides::filled(shape.size(), 0);
  std::int64_t step = itemsize;
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto kind = random() % 8;
    if (kind == 0) step *= 2;
    strides[order[k]] = kind == 1 ? -step : kind == 2 ? 0 : step;
    step *= shape[order[k]];
  }
  return strides;
}

/// What is copied where, by plain loops: one run of bytes on both sides.
bool is_one_run(const std::vector<Pair>& all, std::int64_t itemsize) {
  for (std::size_t k = 1; k < all.size(); ++k) {
    if (all[k].first - all[k - 1].first != itemsize) return false;
    if (all[k].second - all[k - 1].second != itemsize) return false;
  }
  return true;
}

TEST(HostCopy, NamesTheSameElementsInTheOrderOfTheHost) {
  std::mt19937 random(1);
  int blocks = 0;
  for (int round = 0; round < 3000; ++round) {
    Shape shape;
    for (auto d = random() % 5; d > 0; --d) shape.push_back(1 + random() % 4);
    const Strides of_host = drawn_strides(random, shape, 4);
    const Strides of_device = random() % 3 ? drawn_strides(random, shape, 4) : of_host;
    const HostRef host{address(1 << 20), dtype_of<float>, {shape, of_host}};
    const DeviceRef device{address(2 << 20), dtype_of<float>, {shape, of_device}, nullptr};
    const HostCopy copy(backend::Direction::host_to_device, host, device, true);
    const auto all = pairs(host, device);
    ASSERT_EQ(pairs(copy.host, copy.device), all) << "round " << round;
    EXPECT_EQ(copy.bytes(), all.size() * 4);
    EXPECT_EQ(copy.is_block(), is_one_run(all, 4)) << "round " << round;
    blocks += copy.is_block();
    EXPECT_EQ(copy.host.layout.shape, copy.device.layout.shape);
    const auto& [extents, steps] = copy.host.layout;
    const Strides& others = copy.device.layout.strides;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      EXPECT_GT(extents[d], 1);
      EXPECT_GE(steps[d], 0);
      if (d == 0) continue;
      EXPECT_GE(steps[d - 1], steps[d]);
      EXPECT_FALSE(steps[d - 1] == extents[d] * steps[d] &&
                   others[d - 1] == extents[d] * others[d]);
    }
  }
  EXPECT_GT(blocks, 100);
}

TEST(HostCopy, ElementsOfTwoTypesAreNoBlock) {
  const HostRef host{address(1 << 20), dtype_of<float>, {{10}, {4}}};
  const DeviceRef wide{address(2 << 20), dtype_of<double>, {{10}, {8}}, nullptr};
  const DeviceRef other{address(2 << 20), dtype_of<std::int32_t>, {{10}, {4}}, nullptr};
  for (const DeviceRef& device : {wide, other}) {
    const HostCopy copy(backend::Direction::device_to_host, host, device, false);
    EXPECT_FALSE(copy.is_block());
    EXPECT_FALSE(copy.is_up());
    EXPECT_EQ(copy.bytes(), 40u);
  }
}

}  // namespace
}  // namespace quarry::memory
