// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <complex>
#include <thread>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"
#include "memory/host_layouts.hpp"

/// What waits and what does not, several threads at once, and conversions on the way.
namespace quarry {
namespace {

std::vector<float> ramp(std::size_t n, float from) {
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = from + static_cast<float>(i % 1000);
  return all;
}

class Staging : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Elements, Staging, testing::Values(20, 100, 1000, 20000));

TEST_P(Staging, AnUploadIntoABusyStreamTakesTheHostMemoryAndDoesNotWait) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  const std::int64_t n = GetParam();
  auto host = ramp(static_cast<std::size_t>(n), 1);
  const auto a = full<float>({n}, -1.0f, {.stream = s}), before = full<float>({n}, 0.0f);
  test::Gate gate(s);
  before.copy_to_device(a, s);
  a.copy_to_device(host, s);  // returns though nothing can run
  std::fill(host.begin(), host.end(), 0.0f);
  gate.open();
  s.synchronize();
  std::vector<float> was(host.size()), is(host.size());
  before.copy_to_host(was);
  a.copy_to_host(is);
  EXPECT_EQ(was, std::vector<float>(host.size(), -1.0f)) << "queued before the upload";
  EXPECT_EQ(is, ramp(host.size(), 1));
}

/// On the fake driver in the orders of many seeds.
TEST_P(Staging, DownloadsOfSeveralStreamsDoNotMeet) {
  const bool is_fake = test::kind() == test::Kind::fake;
  const auto n = static_cast<std::size_t>(GetParam());
  const test::TinyStagingPool tiny;
  const fake::Behaviour before = is_fake ? fake::behaviour() : fake::Behaviour();
  for (unsigned seed = 1; seed <= (is_fake ? 20u : 2u); ++seed) {
    if (is_fake) fake::set_behaviour({.seed = seed});
    std::vector<Stream> streams;
    std::vector<std::vector<float>> hosts(4, std::vector<float>(n));
    for (std::size_t k = 0; k < hosts.size(); ++k) {
      streams.push_back(stream({.non_blocking = true}));
      const auto a = to_device(ramp(n, static_cast<float>(10 * k)));
      a.copy_to_host(hosts[k], streams[k]);
    }
    for (std::size_t k = 0; k < hosts.size(); ++k) {
      streams[k].synchronize();
      EXPECT_EQ(hosts[k], ramp(n, static_cast<float>(10 * k))) << "stream " << k;
    }
  }
  if (is_fake) fake::set_behaviour(before);
}

TEST_P(Staging, ADownloadFromABusyStreamDoesNotWait) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  const std::int64_t n = GetParam();
  const auto a = to_device(ramp(static_cast<std::size_t>(n), 5));
  std::vector<float> host(static_cast<std::size_t>(n), -7.0f);
  bool was_there = false;
  {
    test::Gate gate(s);
    a.copy_to_host(host, s);
    EXPECT_EQ(host, std::vector<float>(host.size(), -7.0f));
    s.add_callback([&](const Stream&) { was_there = host == ramp(host.size(), 5); });
    a.bind(s).fill(0.0f);  // comes after the download
    gate.open();
  }
  s.synchronize();
  EXPECT_TRUE(was_there) << "a callback after the copy sees it";
  EXPECT_EQ(host, ramp(host.size(), 5));
}

TEST_P(Staging, DownloadsOfSeveralBusyStreamsKeepTheirBuffers) {
  const test::TinyStagingPool tiny;
  const Stream held = stream(), free = stream({.non_blocking = true});
  const std::int64_t n = GetParam();
  const auto a = to_device(ramp(static_cast<std::size_t>(n), 5));
  std::vector<float> first(static_cast<std::size_t>(n)), second(first.size()), third(first.size());
  test::Gate gate(held);
  a.copy_to_host(first, held);
  a.copy_to_host(second, held);
  a.copy_to_host(third, free);
  gate.open();
  free.synchronize();
  EXPECT_EQ(third, ramp(first.size(), 5));
  held.synchronize();
  EXPECT_EQ(first, third);
  EXPECT_EQ(second, third);
}

TEST_P(Staging, AnArrayMayBeDroppedWhileItIsCopied) {
  const test::TinyStagingPool tiny;
  const std::int64_t n = GetParam();
  std::vector<float> host(static_cast<std::size_t>(n));
  {
    const Stream s = stream();
    test::Gate gate(s);
    {
      const auto a = to_device(ramp(host.size(), 3), s);
      a.copy_to_host(host, s);
    }
    const auto other = full<float>({n}, 9.0f, {.stream = s});  // may get the same memory
    gate.open();
  }
  Device().synchronize();
  EXPECT_EQ(host, ramp(host.size(), 3));
}

TEST_P(Staging, StridedHostMemoryIsNoDifferent) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  const std::int64_t n = GetParam();
  const test::Placed apart = test::placed("apart", {n}, {3}, 4),
                     dense = test::placed("dense", {n}, {1}, 4);
  const test::Bytes source = test::pattern(dense.bytes, 1), before = test::pattern(apart.bytes, 2);
  test::HostBlock memory(before, false);
  const test::DeviceBlock there(source);
  {
    test::Gate gate(s);
    download({memory.data() + apart.first, dtype_of<float>, apart.layout},
             there.at(dense, dtype_of<float>), s, false);
    EXPECT_EQ(memory.bytes(), before);
  }
  s.synchronize();
  EXPECT_EQ(memory.bytes(), test::copied(before, apart, source, dense, 4));
}

TEST(StagingThreads, EightAtOnce) {
  const test::TinyStagingPool tiny;
  const Device device;
  const auto work = [&](int id) {
    const DeviceGuard guard(device);
    const Stream s = stream();
    for (int round = 0; round < 8; ++round) {
      const auto n = static_cast<std::size_t>(500 + 300 * round + id);
      const auto source = ramp(n, static_cast<float>(1000 * id + round));
      std::vector<float> back(n);
      if (round % 2 == 0) {
        to_device(source, {.device = device}).copy_to_host(back);
      } else {
        to_device(source, s).copy_to_host(back, s);
        s.synchronize();
      }
      ASSERT_EQ(back, source);
    }
  };
  std::vector<std::thread> threads;
  for (int id = 0; id < 8; ++id) threads.emplace_back(work, id);
  for (std::thread& t : threads) t.join();
}

template <class From, class To>
void check_conversion(std::size_t n, const Stream* s) {
  std::vector<From> source(n);
  for (std::size_t i = 0; i < n; ++i) source[i] = static_cast<From>(i % 100);
  std::vector<To> want(n), got(n);
  for (std::size_t i = 0; i < n; ++i) want[i] = static_cast<To>(source[i]);
  const auto same = to_device(source);
  const DeviceNDArray<To> other(Shape{static_cast<std::int64_t>(n)}),
      third(Shape{static_cast<std::int64_t>(n)});
  if (s) {
    other.copy_to_device(source, *s);
    third.copy_to_device(same, *s);
    same.copy_to_host(got, *s);
    s->synchronize();
  } else {
    other.copy_to_device(source);
    third.copy_to_device(same);
    same.copy_to_host(got);
  }
  EXPECT_EQ(got, want);
  other.copy_to_host(got);
  EXPECT_EQ(got, want);
  third.copy_to_host(got);
  EXPECT_EQ(got, want);
  to_device<To>(source).copy_to_host(got);
  EXPECT_EQ(got, want);
}

TEST(Conversion, ElementsAreConvertedOnTheirWay) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  for (const std::size_t n : {std::size_t{1}, std::size_t{40}, std::size_t{3000}}) {
    for (const Stream* const in : {static_cast<const Stream*>(nullptr), &s}) {
      check_conversion<int, float>(n, in);
      check_conversion<std::uint8_t, double>(n, in);
      check_conversion<double, float>(n, in);
      check_conversion<float, std::complex<double>>(n, in);
      check_conversion<std::int64_t, std::int16_t>(n, in);
    }
  }
}

TEST(Conversion, AnyLayouts) {
  const test::TinyStagingPool tiny;
  const Stream s = stream();
  const Shape shape{5, 6, 7};
  const auto hosts = test::placements(shape, 4), devices = test::placements(shape, 8);
  const auto* const program = detail::conversion<std::int32_t, double>();
  for (const bool waits : {true, false}) {
    for (const auto& host : hosts) {
      for (const auto& device : devices) {
        SCOPED_TRACE(host.name + " to " + device.name);
        const test::Bytes source = test::pattern(host.bytes, 1),
                          before = test::pattern(device.bytes, 2);
        test::HostBlock memory(source, false);
        const test::DeviceBlock there(before);
        upload(there.at(device, dtype_of<double>),
               {memory.data() + host.first, dtype_of<std::int32_t>, host.layout}, s, waits,
               program);
        s.synchronize();
        test::Bytes want = before;
        const auto out = test::offsets(device), in = test::offsets(host);
        for (std::size_t k = 0; k < out.size(); ++k) {
          std::int32_t value = 0;
          std::memcpy(&value, source.data() + in[k], 4);
          const double converted = value;
          std::memcpy(want.data() + out[k], &converted, 8);
        }
        ASSERT_EQ(there.bytes(), want);
      }
    }
  }
}

TEST(BadTransfers, LeaveEverythingUsable) {
  const test::TinyStagingPool tiny;
  const auto a = full<float>({40, 50}, 1.0f);
  const HostRef nowhere{nullptr, dtype_of<float>, a.layout()};
  EXPECT_THROW(upload(a.ref(), nowhere, a.stream(), true), LogicError);
  EXPECT_THROW(download(nowhere, a.ref(), a.stream(), true), LogicError);
  std::vector<float> one(1), wrong(1999);
  const HostRef shared{
      reinterpret_cast<std::byte*>(one.data()), dtype_of<float>, {a.shape(), {0, 0}}};
  EXPECT_THROW(download(shared, a.ref(), a.stream(), true), AliasError);
  EXPECT_THROW(a.copy_to_device(wrong), ShapeError);
  EXPECT_THROW(a.copy_to_host(wrong), ShapeError);
  EXPECT_THROW(a.copy_to_device(full<int>({50, 40}, 1)), ShapeError);
  std::vector<float> right(2000);
  a.copy_to_host(right);
  EXPECT_EQ(right, std::vector<float>(2000, 1.0f));
}

TEST(Calibration, KeepsCopiesRight) {
  const auto before = memory::thresholds_of(Device().backend());
  calibrate_transfers();
  const auto source = ramp(std::size_t{1} << 20, 2);
  std::vector<float> back(source.size());
  to_device(source).copy_to_host(back);
  EXPECT_EQ(back, source);
  memory::set_thresholds(Device().backend(), before);
}

}  // namespace
}  // namespace quarry
