// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/quarry.hpp>

#include "backend/backend.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"
#include "memory/counted.hpp"
#include "memory/staged/thresholds.hpp"

/// Every call of the driver that takes memory is refused once, and then for good: a program has
/// right values or throws MemoryError; nothing is lost, and the same program works afterwards.
namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

constexpr std::int64_t rows = 300, columns = 500;
using test::counting;
using test::Values;
using test::values;

const Values& host() {
  static const Values values = counting(rows * columns);
  return values;
}
std::size_t at(std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(row * columns + column);
}

DeviceNDArray<std::int64_t> plane() { return to_device(host()).reshape({rows, columns}); }

/// A program, which says whether its values were right.
struct Program {
  const char* name;
  std::function<bool()> run;
};

bool creates() {
  const auto a = zeros<std::int64_t>({rows, columns});
  const auto b = full<std::int64_t>({columns}, 7);
  const auto c = to_device(host());
  return values(a) == Values(host().size(), 0) && values(b) == Values(columns, 7) &&
         values(c) == host();
}

bool evaluates() {
  const auto a = to_device(host());
  a.assign(a(range(_, _, -1)) + a);  // through a temporary
  const DeviceNDArray<std::int64_t> b = (a + 1) * a - a;
  const auto n = static_cast<std::int64_t>(host().size()) - 1;
  return values(b) == Values(host().size(), n * n);
}

bool reduces() {
  const auto a = plane();
  const auto n = static_cast<std::int64_t>(host().size());
  const auto by_row = values(sum(a, 1));
  return sum(a).item() == n * (n - 1) / 2 &&
         by_row[1] == columns * columns + columns * (columns - 1) / 2;
}

bool uploads_strided() {
  const auto a = zeros<std::int64_t>({2 * rows, columns});
  a(range(_, _, 2)).copy_to_device(host());
  const Values seen = values(a);
  return seen[at(1, 3)] == 0 && seen[at(4, 3)] == host()[at(2, 3)];
}

bool downloads_strided() {
  const auto a = plane();
  const Values turned = values(a.transpose()), thin = values(a(all, range(_, _, 7)));
  return turned[1] == columns && thin[2] == 14;
}

bool copies_on_devices() {
  const auto a = plane();
  const auto b = a.transpose().copy();
  const auto c = to_device(a, Device::cuda(1));
  return values(b)[1] == columns && values(c) == host();
}

bool reshapes() { return values(plane().transpose().reshape({-1}))[1] == columns; }

bool copies_page_locked() {
  using Pinned = std::vector<std::int64_t, PinnedAllocator<std::int64_t>>;
  const Pinned from(host().begin(), host().end());
  Pinned to(from.size());
  const Stream s = stream({.non_blocking = true});
  const DeviceNDArray<std::int64_t> a(Shape{rows * columns}, s);
  a.copy_to_device(from, s);
  a.copy_to_host(to, s);
  s.synchronize();
  return from == to;
}

bool copies_in_streams() {
  const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
  const auto a = to_device(host(), s);
  s.record().wait(t);
  const auto b = a.bind(t) + 1;
  const DeviceNDArray<std::int64_t> c = b;
  Values seen(host().size());
  c.copy_to_host(seen, t);
  t.synchronize();
  return seen[5] == 6 && seen.back() == host().back() + 1;
}

std::vector<Program> programs() {
  return {{"creates", creates},
          {"evaluates", evaluates},
          {"reduces", reduces},
          {"uploads strided", uploads_strided},
          {"downloads strided", downloads_strided},
          {"copies on devices", copies_on_devices},
          {"reshapes", reshapes},
          {"copies page-locked", copies_page_locked},
          {"copies in streams", copies_in_streams}};
}

using enum DriverFunction;
constexpr DriverFunction allocating[] = {
    MemAlloc,        MemAllocPitch,         MemAllocManaged, MemHostAlloc,
    MemHostRegister, MemAllocFromPoolAsync, MemPoolCreate,   StreamCreateWithPriority,
    EventCreate,     LaunchKernel,          LaunchKernelEx};

class OutOfMemory : public testing::TestWithParam<Program> {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "wants the fake driver";
    if (backend::cuda_devices().size() < 2) GTEST_SKIP() << "wants two devices";
    for (std::size_t i = 0; i < before_.size(); ++i) {  // the same calls on every machine
      backend::Device& device = *backend::cuda_devices()[i];
      before_[i] = memory::thresholds_of(device);
      memory::set_thresholds(device, few_threads());
    }
    release();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(GetParam().run());
    release();
    fake::take_faults();
  }

  void TearDown() override {
    if (IsSkipped()) return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      memory::set_thresholds(*backend::cuda_devices()[i], before_[i]);
    }
  }

  static memory::TransferThresholds few_threads() {
    memory::TransferThresholds t;
    t.chunk_bytes = std::size_t{256} << 10;
    t.threads = t.strided_threads = 2;
    t.buffers = t.pipeline_buffers = 4;
    return t;
  }

  static void release() {
    fake::run_pending();
    for (const auto& device : backend::cuda_devices()) {
      detail::trim_host_memory(Device(*device));
      trim_pool(Device(*device));
    }
  }

  /// Runs the program with the k-th call of `function` refused; whether there was such a call.
  static bool refuse(DriverFunction function, std::int64_t k, bool is_persistent) {
    const fake::Live before = fake::live();
    shim::reset_counts();
    shim::inject({CUDA_ERROR_OUT_OF_MEMORY, function, k, is_persistent});
    try {
      EXPECT_TRUE(GetParam().run()) << "wrong values";
    } catch (const MemoryError&) {  // the other right answer
    }
    shim::clear_faults();
    const bool was_called = shim::calls(function) >= k;
    release();
    expect_nothing_lost(before, fake::live());
    EXPECT_EQ(fake::take_faults(), std::vector<std::string>{});
    EXPECT_TRUE(GetParam().run()) << "the next time";
    release();
    return was_called;
  }

  /// Streams and events may be kept to be used again.
  static void expect_nothing_lost(const fake::Live& before, const fake::Live& after) {
    EXPECT_EQ(after.device_blocks, before.device_blocks);
    EXPECT_EQ(after.device_bytes, before.device_bytes);
    EXPECT_LE(after.host_blocks, before.host_blocks);
    EXPECT_LE(after.host_bytes, before.host_bytes);
    EXPECT_EQ(after.registrations, before.registrations);
    EXPECT_EQ(after.managed_blocks, before.managed_blocks);
    EXPECT_EQ(after.pool_blocks, before.pool_blocks);
    EXPECT_LE(after.streams, before.streams);
    EXPECT_LE(after.events, before.events);
    EXPECT_LE(after.modules, before.modules);
  }

  std::array<memory::TransferThresholds, 2> before_;
};

TEST_P(OutOfMemory, ThrowsOrWorksAndLosesNothing) {
  int refused = 0;
  for (const DriverFunction function : allocating) {
    for (const bool is_persistent : {false, true}) {
      for (std::int64_t k = 1;; ++k) {
        SCOPED_TRACE(testing::Message() << "driver function " << static_cast<int>(function)
                                        << ", call " << k << (is_persistent ? " and on" : ""));
        if (!refuse(function, k, is_persistent)) break;
        ASSERT_LT(++refused, 1000);
      }
    }
  }
  EXPECT_GT(refused, 4);
}

INSTANTIATE_TEST_SUITE_P(All, OutOfMemory, testing::ValuesIn(programs()), [](const auto& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return c == ' ' || c == '-'; });
  return name;
});

}  // namespace
}  // namespace quarry
