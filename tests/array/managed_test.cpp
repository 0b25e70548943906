// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <quarry/array/managed.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace quarry {
namespace {

/// Whether pages can be told where to go, and the host may look while kernels run.
bool has_migration() {
  return Device().is_cpu() || Device().attribute("CONCURRENT_MANAGED_ACCESS") != 0;
}

TEST(Managed, KernelsWriteWhatTheHostReads) {
  for (const bool attach_global : {true, false}) {
    if (!attach_global && !has_migration()) continue;
    const auto a = managed_array<double>({100}, {.attach_global = attach_global});
    std::fill(a.begin(), a.end(), 123.456);
    if (!attach_global) a.attach(Attach::global);
    EXPECT_EQ(max(a).item(), 123.456);
    a.fill(1.0);
    a.stream().synchronize();
    EXPECT_EQ(std::count(a.begin(), a.end(), 1.0), 100);
  }
}

/// The driver itself would grant it, and move pages to and fro.
TEST(Managed, MoreThanTheDeviceHasIsRefused) {
  const MemoryInfo info = Device().memory_info();
  const auto bytes = [](double of, double part) { return static_cast<std::int64_t>(of * part); };
  const auto total = static_cast<double>(info.total), free = static_cast<double>(info.free);
  EXPECT_THROW(managed_array<char>({bytes(total, 4)}), MemoryError);
  EXPECT_THROW(managed_array<char>({bytes(total, 1.01)}), MemoryError);
  if (free < 0.7 * total) GTEST_SKIP() << "others use the device";
  const auto first = managed_array<char>({bytes(total, 0.6)});
  EXPECT_THROW(managed_array<char>({bytes(total, 0.6)}), MemoryError);
  EXPECT_NO_THROW(managed_array<char>({1000}));
}

TEST(Managed, ManyBytes) {
  const auto a = managed_array<std::uint8_t>({3'000'000});
  a.fill(0xAB);
  a.stream().synchronize();
  EXPECT_EQ(std::count(a.begin(), a.end(), 0xAB), 3'000'000);
}

TEST(Managed, ZerosEmptyAndLikes) {
  const auto a = managed_zeros<int>({3, 4}, {.order = Order::f});
  EXPECT_TRUE(a.is_f_contiguous());
  EXPECT_EQ(a.at(2, 3), 0);
  EXPECT_EQ(managed_empty<float>({5}).size(), 5);
  const auto like = managed_zeros_like(a);
  EXPECT_EQ(like.strides(), a.strides());
  EXPECT_EQ(sum(like).item(), 0);
  EXPECT_EQ(managed_empty_like(zeros<float>({2, 2})).shape(), (Shape{2, 2}));
  EXPECT_EQ(managed_zeros_like(std::vector<int>(3, 9)).at(2), 0);
  EXPECT_EQ(managed_array<int>({0}).begin(), managed_array<int>({0}).end());
}

TEST(Managed, ViewsAreManagedToo) {
  const auto a = managed_zeros<int>({4, 4});
  const auto row = a(1);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(row)>, ManagedNDArray<int>>);
  row += 5;
  a(2) = row;
  a.stream().synchronize();
  EXPECT_EQ(a.at(1, 3), 5);
  EXPECT_EQ(a.at(2, 0), 5);
  EXPECT_EQ(row.host_pointer(), a.host_pointer() + 4);
  EXPECT_EQ(reinterpret_cast<int*>(row.device_pointer()), row.host_pointer());
  EXPECT_EQ(a.buffer()->space(), MemorySpace::managed);
  std::vector<int> got(16);
  a.copy_to_host(got);
  EXPECT_EQ(got[7], 5);
}

TEST(Managed, PagesGoWhereTheyAreSent) {
  if (!has_migration()) GTEST_SKIP() << "the GPU does not migrate pages";
  const auto a = managed_zeros<float>({100'000});
  a.advise(Advice::set_preferred_location);
  a.advise(Advice::set_accessed_by, Device::cpu());
  a.advise(Advice::set_read_mostly);
  a.prefetch(a.device());
  a += 1.f;
  a(range(10, 20)).prefetch(Device::cpu());
  a.prefetch(Device::cpu(), a.stream());
  a.stream().synchronize();
  EXPECT_EQ(a.at(99'999), 1.f);
  a.advise(Advice::unset_read_mostly);
  a.advise(Advice::unset_preferred_location);
  a.advise(Advice::unset_accessed_by, Device::cpu());
  EXPECT_NO_THROW(managed_array<int>({0}).prefetch(Device::cpu()));
}

TEST(Managed, AttachesToAStream) {
  const Stream s = stream();
  const auto a = managed_zeros<int>({10}, {.stream = s});
  a.attach(Attach::single, s);
  a += 3;
  s.synchronize();
  EXPECT_EQ(a.at(9), 3);
  a.attach(Attach::host);
  s.synchronize();
  a.at(0) = 1;
  EXPECT_EQ(a.at(0), 1);
  if (a.device().is_cpu()) return;
  EXPECT_THROW(a.attach(Attach::global, default_stream(Device::cpu())), LogicError);
}

TEST(Managed, MoreThanThereIsIsAMemoryError) {
  EXPECT_THROW(managed_array<double>({std::int64_t{1} << 50}), MemoryError);
  EXPECT_EQ(sum(managed_zeros<int>({3})).item(), 0);
}

TEST(Managed, IsFreedAfterTheWorkOnIt) {
  const Stream s = stream();
  const auto result = zeros<int>({1000}, {.stream = s});
  {
    const auto a = managed_zeros<int>({1000}, {.stream = s});
    a += 2;
    result.assign(a);
  }
  EXPECT_EQ(sum(result).item(), 2000);
}

}  // namespace
}  // namespace quarry
