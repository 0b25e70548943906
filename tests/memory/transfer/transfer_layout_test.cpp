// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "fake_driver/test_device.hpp"
#include "memory/host_layouts.hpp"

/// Every pair of layouts, page-locked or pageable, waiting or queued, by every route: against plain
/// loops over bytes, with canaries in the gaps of both sides.
namespace quarry {
namespace {

using test::Bytes;
using test::copied;
using test::DeviceBlock;
using test::HostBlock;
using test::pattern;
using test::Placed;

struct Odd {
  float a, b, c;
};

struct How {
  bool page_locked, waits;
};

void upload_and_check(const Placed& host, const Placed& device, DType type, How how,
                      const Stream& s) {
  SCOPED_TRACE(host.name + " to " + device.name + (how.page_locked ? ", page-locked" : "") +
               (how.waits ? ", waits" : ", queued"));
  const Bytes source = pattern(host.bytes, 1), before = pattern(device.bytes, 2);
  HostBlock memory(source, how.page_locked);
  const DeviceBlock there(before);
  upload(there.at(device, type), {memory.data() + host.first, type, host.layout}, s, how.waits);
  if (!how.waits && !how.page_locked) {
    std::memset(memory.data(), 0xEE, source.size());  // may be reused on return
  }
  if (!how.waits) s.synchronize();
  ASSERT_EQ(there.bytes(), copied(before, device, source, host, type.itemsize()));
}

void download_and_check(const Placed& host, const Placed& device, DType type, How how,
                        const Stream& s) {
  SCOPED_TRACE(device.name + " to " + host.name + (how.page_locked ? ", page-locked" : "") +
               (how.waits ? ", waits" : ", queued"));
  const Bytes source = pattern(device.bytes, 3), before = pattern(host.bytes, 4);
  HostBlock memory(before, how.page_locked);
  const DeviceBlock there(source);
  download({memory.data() + host.first, type, host.layout}, there.at(device, type), s, how.waits);
  if (!how.waits) s.synchronize();
  ASSERT_EQ(memory.bytes(), copied(before, host, source, device, type.itemsize()));
}

void check_all_pairs(const Shape& shape, DType type, const Stream& s) {
  const auto all = test::placements(shape, type.itemsize());
  for (const bool page_locked : {false, true}) {
    for (const bool waits : {false, true}) {
      for (const Placed& host : all) {
        for (const Placed& device : all) {
          ASSERT_NO_FATAL_FAILURE(upload_and_check(host, device, type, {page_locked, waits}, s));
          ASSERT_NO_FATAL_FAILURE(download_and_check(host, device, type, {page_locked, waits}, s));
        }
      }
      for (const Placed& host : test::repeating(shape, type.itemsize())) {
        for (const Placed& device : all) {
          ASSERT_NO_FATAL_FAILURE(upload_and_check(host, device, type, {page_locked, waits}, s));
        }
      }
    }
  }
}

class TransferLayouts : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Streams, TransferLayouts, testing::Bool(), [](const auto& p) {
  return std::string(p.param ? "Created" : "Default");
});

TEST_P(TransferLayouts, SmallArraysByTheDriver) {
  const Stream s = GetParam() ? stream() : default_stream();
  check_all_pairs({2, 3, 4}, dtype_of<float>, s);
  check_all_pairs({1, 5, 1}, dtype_of<std::uint8_t>, s);
}

TEST_P(TransferLayouts, ManyChunksThroughASmallPool) {
  const test::TinyStagingPool tiny;
  const Stream s = GetParam() ? stream() : default_stream();
  check_all_pairs({9, 10, 11}, dtype_of<float>, s);
  check_all_pairs({4, 5, 33}, dtype_of<Odd>, s);
}

TEST_P(TransferLayouts, SizesAroundTheThresholds) {
  const test::TinyStagingPool tiny;
  const Stream s = GetParam() ? stream() : default_stream();
  for (const std::int64_t bytes :
       {1, 63, 64, 65, 127, 128, 129, 511, 512, 513, 899, 900, 901, 1799, 1800, 1801, 2701, 9000}) {
    const Placed dense = test::placed("dense", {bytes}, {1}, 1),
                 apart = test::placed("apart", {bytes}, {3}, 1);
    for (const bool page_locked : {false, true}) {
      for (const bool waits : {false, true}) {
        for (const Placed* host : {&dense, &apart}) {
          for (const Placed* device : {&dense, &apart}) {
            const How how{page_locked, waits};
            ASSERT_NO_FATAL_FAILURE(
                upload_and_check(*host, *device, dtype_of<std::uint8_t>, how, s));
            ASSERT_NO_FATAL_FAILURE(
                download_and_check(*host, *device, dtype_of<std::uint8_t>, how, s));
          }
        }
      }
    }
  }
}

TEST(TransferLayout, FourAxesAndManyPieces) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  const Shape shape{3, 4, 5, 40};
  const Placed pieces = test::placed("pieces", shape, {4000, 900, 60, 1}, 4),
               dense = test::placed("dense", shape, {800, 200, 40, 1}, 4),
               apart = test::placed("apart", shape, {1, 3, 13, 70}, 4);
  for (const bool page_locked : {false, true}) {
    for (const bool waits : {false, true}) {
      for (const Placed* host : {&pieces, &dense, &apart}) {
        for (const Placed* device : {&pieces, &dense, &apart}) {
          const How how{page_locked, waits};
          ASSERT_NO_FATAL_FAILURE(upload_and_check(*host, *device, dtype_of<int>, how, s));
          ASSERT_NO_FATAL_FAILURE(download_and_check(*host, *device, dtype_of<int>, how, s));
        }
      }
    }
  }
}

TEST(TransferLayout, ScalarsOfNoAxes) {
  const Stream s = stream();
  const Placed one = test::placed("scalar", {}, {}, 8);
  for (const bool waits : {false, true}) {
    upload_and_check(one, one, dtype_of<double>, {false, waits}, s);
    download_and_check(one, one, dtype_of<double>, {true, waits}, s);
  }
}

TEST(TransferLayout, LargeArraysGoThroughTheRealPool) {
  const Stream s = stream();
  const Shape shape{3, 1024, 1000};  // 12 MB
  const Placed c = test::placed("C", shape, {1024000, 1000, 1}, 4),
               f = test::placed("F", shape, {1, 3, 3072}, 4),
               block = test::placed("block", shape, {1229000, 1200, 1}, 4),
               other = test::placed("every other", shape, {2048000, 2000, 2}, 4);
  for (const bool waits : {false, true}) {
    for (const Placed* host : {&c, &f, &block, &other}) {
      const How how{false, waits};
      ASSERT_NO_FATAL_FAILURE(upload_and_check(*host, c, dtype_of<float>, how, s));
      ASSERT_NO_FATAL_FAILURE(download_and_check(*host, c, dtype_of<float>, how, s));
    }
  }
}

}  // namespace
}  // namespace quarry
