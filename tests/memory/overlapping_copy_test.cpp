// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <vector>

/// Raw copies within one piece of memory: one whose ranges share a part of their bytes would depend
/// on the order in which they are visited, and is refused before anything is written.
namespace quarry {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes counted(std::size_t size) {
  Bytes values(size);
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return values;
}

/// A copy of `bytes` bytes from one address to another.
using Copy = std::function<void(const DevicePtr& to, const DevicePtr& from, std::size_t bytes)>;

void check_every_distance(const Copy& copy) {
  constexpr std::ptrdiff_t middle = 64, bytes = 16;
  const auto memory = mem_alloc(192);
  for (std::ptrdiff_t distance = -bytes - 2; distance <= bytes + 2; ++distance) {
    Bytes want = counted(192), have(192);
    memcpy_htod(memory, want);
    const bool overlaps = distance != 0 && std::abs(distance) < bytes;
    try {
      copy(memory + middle + distance, memory + middle, bytes);
      EXPECT_FALSE(overlaps) << distance;
      std::copy_n(counted(192).begin() + middle, bytes, want.begin() + middle + distance);
    } catch (const AliasError&) {
      EXPECT_TRUE(overlaps) << distance;
    }
    synchronize();
    memcpy_dtoh(have, memory);
    EXPECT_EQ(have, want) << distance;
  }
}

TEST(OverlappingCopy, OnTheDevice) {
  check_every_distance([](const DevicePtr& to, const DevicePtr& from, std::size_t bytes) {
    memcpy_dtod(to, from, bytes);
  });
}
TEST(OverlappingCopy, InAStream) {
  const Stream s = stream();
  check_every_distance([&](const DevicePtr& to, const DevicePtr& from, std::size_t bytes) {
    memcpy_dtod_async(to, from, bytes, s);
  });
}
TEST(OverlappingCopy, OfAPeerThatIsTheSameDevice) {
  check_every_distance([](const DevicePtr& to, const DevicePtr& from, std::size_t bytes) {
    memcpy_peer(to, from, bytes);
  });
}

/// Memory that the host and the device see.
TEST(OverlappingCopy, BetweenTheHostAndTheDevice) {
  auto shared = mapped_array<std::uint8_t>({64});
  std::iota(shared.begin(), shared.end(), std::uint8_t{0});
  const auto at = [&](std::size_t first) { return shared.host_span().subspan(first, 16); };
  const DevicePtr device(shared);
  EXPECT_THROW(memcpy_htod(device + 8, at(0)), AliasError);
  EXPECT_THROW(memcpy_dtoh(at(8), device), AliasError);
  EXPECT_EQ(Bytes(shared.begin(), shared.end()), counted(64));
  memcpy_htod(device + 16, at(0));
  EXPECT_EQ(shared.at(16), 0);
  EXPECT_EQ(shared.at(31), 15);
}

TEST(OverlappingCopy, WithinACudaArray) {
  const CudaArray array({.width = 64, .dtype = TypeId::uint8}),
      other({.width = 64, .dtype = TypeId::uint8});
  memcpy_htoa(array, 0, counted(64));
  EXPECT_THROW(memcpy_atoa(array, 8, array, 0, 16), AliasError);
  EXPECT_THROW(memcpy_atoa(array, 0, array, 8, 16), AliasError);
  memcpy_atoa(array, 16, array, 0, 16);
  memcpy_atoa(other, 8, array, 0, 16);
  Bytes have(64);
  memcpy_atoh(have, array, 0);
  EXPECT_EQ(have[15], 15);
  EXPECT_EQ(have[16], 0);
  EXPECT_EQ(have[31], 15);
}

/// Where a box lies in its memory.
struct Place {
  std::size_t x, y, z, pitch, height;
  std::size_t byte(std::size_t i, std::size_t j, std::size_t k) const {
    return (z + k) * height * pitch + (y + j) * pitch + x + i;
  }
  bool operator==(const Place&) const = default;
};
struct Extents {
  std::size_t width, height, depth;
};

std::vector<std::size_t> bytes_of(const Place& place, const Extents& box) {
  std::vector<std::size_t> bytes;
  for (std::size_t k = 0; k < box.depth; ++k) {
    for (std::size_t j = 0; j < box.height; ++j) {
      for (std::size_t i = 0; i < box.width; ++i) bytes.push_back(place.byte(i, j, k));
    }
  }
  return bytes;
}

bool meet(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  const std::set<std::size_t> in_a(a.begin(), a.end());
  return std::any_of(b.begin(), b.end(), [&](std::size_t byte) { return in_a.contains(byte); });
}

TEST(OverlappingCopy, OfBoxesAgreesWithBruteForce) {
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::size_t size = 2000;
  const auto memory = mem_alloc(size);
  int refused = 0, copied = 0;
  for (int round = 0; round < 400; ++round) {
    const Extents box{1 + below(5), 1 + below(4), 1 + below(3)};
    const auto place = [&] {
      return Place{below(4), below(3), below(2), box.width + 3 + below(6),
                   box.height + 2 + below(2)};
    };
    const Place from = place(), to = below(8) ? place() : from;
    Bytes want = counted(size), have(size);
    memcpy_htod(memory, want);
    Memcpy3D copy;
    copy.set_src_device(memory);
    copy.set_dst_device(memory);
    copy.width_in_bytes = box.width;
    copy.height = box.height;
    copy.depth = box.depth;
    copy.src_x_in_bytes = from.x;
    copy.src_y = from.y;
    copy.src_z = from.z;
    copy.src_pitch = from.pitch;
    copy.src_height = from.height;
    copy.dst_x_in_bytes = to.x;
    copy.dst_y = to.y;
    copy.dst_z = to.z;
    copy.dst_pitch = to.pitch;
    copy.dst_height = to.height;
    const auto source = bytes_of(from, box), target = bytes_of(to, box);
    try {
      copy();
      ++copied;
      EXPECT_TRUE(source == target || !meet(source, target)) << round;
      for (std::size_t i = 0; i < source.size(); ++i) {
        want[target[i]] = static_cast<std::uint8_t>(source[i]);
      }
    } catch (const AliasError&) {
      ++refused;
      EXPECT_TRUE(source != target && meet(source, target)) << round;
    }
    memcpy_dtoh(have, memory);
    ASSERT_EQ(have, want) << round;
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(copied, 50);
}

}  // namespace
}  // namespace quarry
