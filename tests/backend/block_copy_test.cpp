// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include <quarry/base/error.hpp>

#include "backend/chosen_device.hpp"

namespace quarry::backend {
namespace {

using namespace test;

class Copies : public Streams {};
INSTANTIATE_TEST_SUITE_P(DefaultAndCreated, Copies, testing::Bool());

constexpr Direction directions[] = {Direction::host_to_device, Direction::device_to_host,
                                    Direction::device_to_device};

/// A copy of bytes between places of `to` and `from`, as plain loops.
void copy_plainly(const Copy& c, unsigned char* to, const unsigned char* from) {
  for (std::size_t s = 0; s < c.slices; ++s) {
    for (std::size_t r = 0; r < c.rows; ++r) {
      std::memcpy(to + s * c.to_slice + r * c.to_pitch, from + s * c.from_slice + r * c.from_pitch,
                  c.bytes);
    }
  }
}

/// One past the last byte that is touched.
std::size_t extent(const Copy& c, std::size_t pitch, std::size_t slice) {
  return (c.slices - 1) * slice + (c.rows - 1) * pitch + c.bytes;
}

void expect_as_plain_loops(Copy c, Stream stream, bool blocking) {
  const Bytes source = random_bytes(extent(c, c.from_pitch, c.from_slice), 1);
  const Bytes target = random_bytes(extent(c, c.to_pitch, c.to_slice) + 5, 2);
  Bytes expected = target, host_target = target;
  copy_plainly(c, expected.data(), source.data());
  const DeviceBytes device_source(source), device_target(target);
  const bool to_host = c.direction == Direction::device_to_host;
  c.from = c.direction == Direction::host_to_device ? source.data() : device_source.data();
  c.to = to_host ? host_target.data() : device_target.data();
  chosen_device().copy(c, stream, blocking);
  if (!blocking) chosen_device().synchronize(stream);
  EXPECT_EQ(to_host ? host_target : device_target.bytes(), expected)
      << c.bytes << " bytes, " << c.rows << " rows, " << c.slices << " slices, pitches "
      << c.to_pitch << " " << c.from_pitch << ", slices " << c.to_slice << " " << c.from_slice;
}

TEST_P(Copies, OfSlicesAreThoseOfPlainLoops) {
  struct Case {
    std::size_t bytes, rows, slices, to_pitch, from_pitch, to_slice, from_slice;
  };
  const Case cases[] = {
      {12, 5, 7, 12, 12, 60, 60},   // dense
      {12, 5, 7, 16, 20, 80, 100},  // rows without a gap between the slices
      {12, 5, 7, 16, 20, 96, 140},  // slices of whole rows
      {12, 5, 7, 16, 20, 97, 141},  // of no whole rows
      {12, 5, 7, 12, 12, 60, 72},   // dense rows, gaps on one side
      {13, 5, 7, 17, 19, 17 * 5, 19 * 8}, {12, 1, 7, 0, 0, 16, 20},  // slices that are rows
      {12, 5, 7, 12, 0, 60, 12},                                     // a row that is repeated
      {12, 5, 7, 12, 12, 60, 0},                                     // a slice that is repeated
      {12, 5, 3, 16, 200, 80, 16},                                   // slices that interlock
      {1, 3, 100, 1, 300, 3, 3},          {12, 5, 1, 16, 20, 0, 0},
  };
  for (const Case& k : cases) {
    for (const Direction direction : directions) {
      for (const bool blocking : {false, true}) {
        expect_as_plain_loops({direction, nullptr, nullptr, k.bytes, k.rows, k.to_pitch,
                               k.from_pitch, k.slices, k.to_slice, k.from_slice},
                              stream_, blocking);
      }
    }
  }
}

TEST_P(Copies, OfNoSlicesRowsOrBytesTouchNothing) {
  for (const Direction direction : directions) {
    chosen_device().copy({direction, nullptr, nullptr, 0, 3, 4, 4, 5, 12, 12}, stream_, false);
    chosen_device().copy({direction, nullptr, nullptr, 4, 0, 4, 4, 5, 12, 12}, stream_, false);
    chosen_device().copy({direction, nullptr, nullptr, 4, 3, 4, 4, 0, 12, 12}, stream_, true);
  }
}

TEST_P(Copies, OfABatchAllArrive) {
  for (const std::size_t pieces : {0U, 1U, 10U, 5000U}) {
    for (const Direction direction : directions) {
      const Bytes source = random_bytes(pieces * 9 + 1, 3);
      Bytes host_target(source.size(), 0), expected = host_target;
      const DeviceBytes device_source(source), device_target(host_target);
      const bool from_host = direction == Direction::host_to_device;
      const bool to_host = direction == Direction::device_to_host;
      const unsigned char* const from = from_host ? source.data() : device_source.data();
      unsigned char* const to = to_host ? host_target.data() : device_target.data();
      std::vector<Piece> batch;
      for (std::size_t i = 0; i < pieces; ++i) {
        const std::size_t bytes = i % 9, at = 9 * i;
        batch.push_back({to + 9 * (pieces - 1 - i), from + at, bytes});
        std::memcpy(expected.data() + 9 * (pieces - 1 - i), source.data() + at, bytes);
      }
      chosen_device().copy_batch(direction, batch, stream_);
      chosen_device().synchronize(stream_);
      EXPECT_EQ(to_host ? host_target : device_target.bytes(), expected);
    }
  }
}

TEST_P(Copies, OfABatchAreOrderedInTheStream) {
  const unsigned char one = 1, two = 2;
  const DeviceBytes a(Bytes(1000, 0)), b(Bytes(1000, 0));
  const Piece halves[] = {{b.data(), a.data(), 500}, {b.data() + 500, a.data() + 500, 500}};
  chosen_device().fill(a.data(), &one, 1, 1000, stream_);
  chosen_device().copy_batch(Direction::device_to_device, halves, stream_);
  chosen_device().fill(a.data(), &two, 1, 1000, stream_);
  chosen_device().synchronize(stream_);
  EXPECT_EQ(b.bytes(), Bytes(1000, 1));
  EXPECT_EQ(a.bytes(), Bytes(1000, 2));
}

TEST_P(Copies, FillRowsAndNothingBetweenThem) {
  const unsigned char pattern[4] = {1, 2, 3, 4};
  for (const std::size_t size : {1U, 2U, 4U}) {
    for (const std::size_t width : {0U, 1U, 5U, 300U}) {
      for (const std::size_t height : {0U, 1U, 7U}) {
        const std::size_t pitch = size * (width + 3);
        const Bytes before = random_bytes(pitch * (height + 1), 4);
        Bytes expected = before;
        for (std::size_t i = 0; i < height * width * size; ++i) {
          const std::size_t row = i / (width * size), column = i % (width * size);
          expected[row * pitch + column] = pattern[column % size];
        }
        const DeviceBytes memory(before);
        chosen_device().fill_rows(memory.data(), pitch, pattern, size, width, height, stream_);
        chosen_device().synchronize(stream_);
        EXPECT_EQ(memory.bytes(), expected) << size << " " << width << " " << height;
      }
    }
  }
  const DeviceBytes row(Bytes(10, 9));
  chosen_device().fill_rows(row.data(), 0, pattern, 1, 10, 1, stream_);
  EXPECT_EQ(row.bytes(), Bytes(10, 1));
  EXPECT_THROW(chosen_device().fill_rows(nullptr, 8, pattern, 8, 1, 1, stream_), LogicError);
}

/// The fields of one side, and what of it a block copy may touch.
struct Side {
  SideKind kind;
  std::size_t x, y, z, pitch, height;
  std::size_t bytes() const { return pitch * height * (z + 3) + 64; }
  std::size_t at(std::size_t row, std::size_t plane) const {
    return ((z + plane) * height + y + row) * pitch + x;
  }
};

void expect_block(const Side& to, const Side& from, const BlockCopy& extents, Stream stream,
                  bool blocking) {
  Bytes source = random_bytes(from.bytes(), 5), target = random_bytes(to.bytes(), 6);
  Bytes expected = target;
  for (std::size_t z = 0; z < extents.depth; ++z) {
    for (std::size_t y = 0; y < extents.height; ++y) {
      std::memcpy(expected.data() + to.at(y, z), source.data() + from.at(y, z),
                  extents.width_in_bytes);
    }
  }
  const DeviceBytes device_source(source), device_target(target);
  const auto place = [](const Side& s, void* host, void* device) {
    return BlockSide{.kind = s.kind,
                     .address = s.kind == SideKind::host ? host : device,
                     .x_in_bytes = s.x,
                     .y = s.y,
                     .z = s.z,
                     .pitch = s.pitch,
                     .height = s.height};
  };
  BlockCopy copy = extents;
  copy.to = place(to, target.data(), device_target.data());
  copy.from = place(from, source.data(), device_source.data());
  chosen_device().copy_block(copy, stream, blocking);
  if (!blocking) chosen_device().synchronize(stream);
  EXPECT_EQ(to.kind == SideKind::host ? target : device_target.bytes(), expected)
      << extents.width_in_bytes << " x " << extents.height << " x " << extents.depth;
}

constexpr SideKind kinds[] = {SideKind::host, SideKind::device, SideKind::unified};

void for_each_pair_of_kinds(const std::function<void(SideKind, SideKind)>& f) {
  for (const SideKind to : kinds) {
    for (const SideKind from : kinds) {
      if (to != SideKind::host || from != SideKind::host) f(to, from);
    }
  }
}

TEST_P(Copies, OfPlanesHonourEveryField) {
  for_each_pair_of_kinds([&](SideKind to, SideKind from) {
    for (const bool blocking : {false, true}) {
      for (const bool unaligned : {false, true}) {
        expect_block({to, 3, 2, 0, 32, 9}, {from, 5, 1, 0, 48, 11},
                     {.width_in_bytes = 13, .height = 6, .unaligned = unaligned}, stream_,
                     blocking);
        expect_block({to, 0, 0, 0, 16, 1}, {from, 0, 0, 0, 16, 1},
                     {.width_in_bytes = 16, .unaligned = unaligned}, stream_, blocking);
      }
    }
  });
}

TEST_P(Copies, OfBlocksHonourEveryField) {
  for_each_pair_of_kinds([&](SideKind to, SideKind from) {
    for (const bool blocking : {false, true}) {
      expect_block({to, 3, 2, 1, 32, 9}, {from, 5, 1, 2, 48, 11},
                   {.width_in_bytes = 13, .height = 6, .depth = 3}, stream_, blocking);
      expect_block({to, 0, 0, 4, 32, 6}, {from, 0, 0, 0, 32, 6},
                   {.width_in_bytes = 32, .height = 6, .depth = 1}, stream_, blocking);
    }
  });
}

TEST_P(Copies, OfBlocksWithoutExtentTouchNothing) {
  BlockCopy copy{.width_in_bytes = 0, .height = 3, .depth = 3};
  chosen_device().copy_block(copy, stream_, true);
  copy = {.width_in_bytes = 3, .height = 0, .depth = 3};
  chosen_device().copy_block(copy, stream_, false);
  copy = {.width_in_bytes = 3, .height = 3, .depth = 0};
  chosen_device().copy_block(copy, stream_, true);
}

TEST_P(Copies, OfBlocksThatDoNotFitTheirPitchAreRefused) {
  const DeviceBytes memory(Bytes(1000, 0));
  Bytes host(1000);
  BlockCopy copy{.to = {.kind = SideKind::device, .address = memory.data(), .pitch = 16},
                 .from = {.kind = SideKind::host, .address = host.data(), .pitch = 12},
                 .width_in_bytes = 16,
                 .height = 4};
  EXPECT_THROW(chosen_device().copy_block(copy, stream_, true), LogicError);
  copy.from.pitch = 16;
  chosen_device().copy_block(copy, stream_, true);
}

TEST_P(Copies, ThatAreUnalignedAreOfOnePlane) {
  if (chosen_device().info().is_cpu) GTEST_SKIP() << "a copy of a GPU's driver";
  BlockCopy copy{.width_in_bytes = 1, .height = 1, .depth = 2, .unaligned = true};
  EXPECT_THROW(chosen_device().copy_block(copy, stream_, true), LogicError);
}

}  // namespace
}  // namespace quarry::backend
