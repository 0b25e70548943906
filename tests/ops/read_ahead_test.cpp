// SPDX-License-Identifier: BSD-3-Clause
// Reductions and copies that begin while the kernels ahead of them are running, where those write
// something else than they read.
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

constexpr std::int64_t n = 1 << 18;  // as much as is in the caches of all multiprocessors
using Array = DeviceNDArray<std::int32_t>;

/// Whether the last kernel reads ahead; only the fake driver tells.
bool reads_ahead() { return fake::last_beginning().reads_ahead; }
void expect_reads_ahead(bool expected) {
  if (test::kind() == test::Kind::fake) {
    EXPECT_EQ(reads_ahead(), expected);
  }
}

/// More kernels than may be running at the same time, none of which has to do with other arrays.
class Others {
 public:
  void reduce() {
    for (Array& a : arrays_) sums_.push_back(sum(a, 0));
  }

 private:
  std::vector<Array> arrays_ = [] {
    std::vector<Array> arrays;
    for (int k = 0; k < 16; ++k) arrays.push_back(full<std::int32_t>({64}, k));
    return arrays;
  }();
  std::vector<DeviceNDArray<std::int64_t>> sums_;
};

/// Sums, and transposes, what write(i) has left in x, i everywhere, with other kernels between, and
/// compares all of it at the end, so that nothing waits.
template <class Write>
void check_all(Array& x, Write write) {
  const int times = test::kind() == test::Kind::cuda ? 400 : 20;
  Others others;
  std::vector<DeviceNDArray<std::int64_t>> sums;
  std::vector<DeviceNDArray<std::int64_t>> rows;
  const auto square = x.reshape({512, 512});
  int ahead = 0;
  for (int i = 0; i < times; ++i) {
    write(i);
    others.reduce();
    sums.push_back(sum(x, 0));
    ahead += reads_ahead() ? 1 : 0;
    const Array turned = square.transpose().copy();
    rows.push_back(sum(turned(i % 512), 0));
  }
  if (test::kind() == test::Kind::fake) {
    EXPECT_GE(ahead, times / 2);
  }
  for (int i = 0; i < times; ++i) {
    ASSERT_EQ(sums[static_cast<std::size_t>(i)].item(), i * n) << i;
    ASSERT_EQ(rows[static_cast<std::size_t>(i)].item(), i * 512) << i;
  }
}

TEST(ReadAhead, SeesWhatFillsHaveWritten) {
  Array x = zeros<std::int32_t>({n});
  check_all(x, [&](int i) { x.fill(i); });
}
TEST(ReadAhead, SeesWhatKernelsHaveWritten) {
  Array x = zeros<std::int32_t>({n});
  const Array zero = zeros<std::int32_t>({n});
  check_all(x, [&](int i) { x.assign(zero + i); });
}
TEST(ReadAhead, SeesWhatOneBlockHasWritten) {
  Array x = zeros<std::int32_t>({n});
  check_all(x, [&](int i) {
    x.fill(i);
    x(range(0, 64)) = x(range(64, 128)) + 0;
  });
}
TEST(ReadAhead, SeesWhatUploadsHaveWritten) {
  Array x = zeros<std::int32_t>({n});
  std::vector<std::int32_t> values(n);
  check_all(x, [&](int i) {
    std::fill(values.begin(), values.end(), i);
    x.copy_to_device(values);
  });
}
TEST(ReadAhead, SeesWhatOtherStreamsHaveWritten) {
  Array x = zeros<std::int32_t>({n});
  const Array zero = zeros<std::int32_t>({n});
  const Stream other = stream();
  check_all(x, [&](int i) {
    other.wait_event(current_stream().record());
    {
      const StreamGuard guard(other);
      x.assign(zero + i);
    }
    current_stream().wait_event(other.record());
  });
}
/// Of a chain each kernel reads what the one before has written.
TEST(ReadAhead, OfChainsNothing) {
  Array x = zeros<std::int32_t>({512, 512});
  for (int i = 0; i < 300; ++i) {
    Array turned = (x + 1).transpose().copy();
    x = turned;
  }
  const auto sums = sum(x, 1);
  for (int i = 0; i < 512; i += 73) EXPECT_EQ(sums(i).item(), 300 * 512);
}
/// A scatter writes anywhere.
TEST(ReadAhead, NotWhatAScatterMayWrite) {
  Array x = zeros<std::int32_t>({4096});
  const DeviceNDArray<std::int64_t> at = arange<std::int64_t>(4096);
  const Array ones = full<std::int32_t>({4096}, 1);
  for (int i = 1; i <= 20; ++i) {
    put<IndexMode::wrap>(x, at, ones * i);
    const auto total = sum(x, 0);
    expect_reads_ahead(false);
    ASSERT_EQ(total.item(), i * 4096);
  }
}
/// Work of other code in the stream is not known: what has the address may write.
TEST(ReadAhead, OnlyWhatIsPrivate) {
  const Array known = full<std::int32_t>({n}, 2), x = full<std::int32_t>({n}, 3);
  const Array all = full<std::int32_t>({2 * n}, 1);
  for (int i = 0; i < 3; ++i) sum(x, 0);  // the first ones take memory
  expect_reads_ahead(true);
  EXPECT_NE(known.device_pointer(), nullptr);
  sum(known, 0);
  expect_reads_ahead(false);
  sum(x, 0);
  expect_reads_ahead(true);
  sum(all(range(n, 2 * n)), 0);
  expect_reads_ahead(true);
  EXPECT_NE(all(range(0, 10)).device_pointer(), nullptr);  // of the same memory
  sum(all(range(n, 2 * n)), 0);
  expect_reads_ahead(false);
}

}  // namespace
}  // namespace quarry
