// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "memory/source.hpp"

namespace quarry {
namespace {

struct Kind {
  const char* name;
  Resource (*make)();
};

class Upstream : public testing::TestWithParam<Kind> {
 protected:
  Resource resource = GetParam().make();
  Stream stream = quarry::stream({.device = resource.device()});
};

TEST_P(Upstream, KnowsItsNameItsSpaceAndItsDevice) {
  EXPECT_EQ(resource.name(), GetParam().name);
  const std::string space = to_string(resource.space());
  EXPECT_EQ(space, resource.name() == "driver_pool" ? "device" : resource.name());
}

TEST_P(Upstream, MemoryIsAlignedApartAndUsable) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (const std::size_t bytes : {1u, 100u, 4096u, 1u << 20}) {
    void* const memory = resource.allocate(stream, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    blocks.emplace_back(memory, bytes);
  }
  auto& device = *stream.state().device;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto value = static_cast<unsigned char>(i + 1);
    device.fill(blocks[i].first, &value, 1, static_cast<std::int64_t>(blocks[i].second),
                stream.state().native);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::vector<unsigned char> got(blocks[i].second);
    device.copy({backend::Direction::device_to_host, got.data(), blocks[i].first, got.size()},
                stream.state().native, true);
    EXPECT_EQ(got, std::vector(got.size(), static_cast<unsigned char>(i + 1)));
  }
  for (const auto& [memory, bytes] : blocks) resource.deallocate(stream, memory, bytes);
}

TEST_P(Upstream, FreesAreSafeWhileStreamsAreAtWork) {
  const Stream other = quarry::stream({.device = resource.device()});
  for (int i = 0; i < 20; ++i) {
    auto buffer = Buffer::allocate(1 << 16, stream, resource);
    test::fill(*buffer, 1, stream);
    other.wait_event(stream.record());
    buffer->used_on(other);
    test::fill(*buffer, 2, other);
  }
  resource.trim();
}

TEST_P(Upstream, MoreThanThereIsSaysHowMuch) {
  const std::size_t asked = std::size_t{1} << 55;
  try {
    resource.allocate(stream, asked);
    FAIL();
  } catch (const MemoryError& e) {
    EXPECT_EQ(e.report().requested, asked);
    EXPECT_GT(e.report().device_total, 0u);
    const std::string text = e.what();
    EXPECT_NE(text.find(std::to_string(asked)), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().name), std::string::npos) << text;
  }
  void* const memory = resource.allocate(stream, 100);  // the next one works
  resource.deallocate(stream, memory, 100);
}

TEST_P(Upstream, ZeroBytesAreNoMemory) {
  EXPECT_EQ(resource.allocate(stream, 0), nullptr);
  resource.deallocate(stream, nullptr, 0);
}

TEST_P(Upstream, AlignmentsThatItCannotGiveAreRefused) {
  for (const std::size_t alignment : {0u, 3u, 1u << 22}) {
    EXPECT_THROW(resource.allocate(stream, 100, alignment), LogicError);
  }
  for (const std::size_t alignment : {1u, 16u, 256u}) {
    resource.deallocate(stream, resource.allocate(stream, 100, alignment), 100, alignment);
  }
}

TEST_P(Upstream, UnderAPool) {
  Pool pool(resource);
  {
    const auto a = Buffer::allocate(5000, stream, Resource(pool));
    const auto b = Buffer::allocate(3 << 20, stream, Resource(pool));
    test::fill(*b, 3, stream);
    EXPECT_EQ(test::ends(*b, stream), std::pair(3u, 3u));
  }
  pool.trim();
  EXPECT_EQ(pool.statistics().held_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Upstream,
                         testing::Values(Kind{"device", [] { return device_resource(); }},
                                         Kind{"driver_pool", [] { return driver_pool_resource(); }},
                                         Kind{"pinned", [] { return pinned_resource(); }},
                                         Kind{"mapped", [] { return mapped_resource(); }},
                                         Kind{"managed", [] { return managed_resource(); }},
                                         Kind{"host", [] { return host_resource(); }}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace quarry
