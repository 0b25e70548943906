// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <sstream>
#include <vector>

#include <quarry/memory/allocation_log.hpp>
#include <quarry/memory/failing.hpp>
#include <quarry/memory/limit.hpp>
#include <quarry/memory/nvtx.hpp>
#include <quarry/memory/red_zone.hpp>
#include <quarry/memory/statistics.hpp>
#include <quarry/memory/tracking.hpp>

namespace quarry {
namespace {

/// The adaptors by number, each over `upstream`.
Resource adapt(std::size_t which, const Resource& upstream, std::ostream& log) {
  switch (which) {
    case 0:
      return Statistics(upstream);
    case 1:
      return Limit(upstream, std::size_t{1} << 30);
    case 2:
      return Tracking(upstream);
    case 3:
      return AllocationLog(upstream, log);
    case 4:
      return Failing(upstream);
    case 5:
      return Nvtx(upstream);
    default:
      return RedZone(upstream);
  }
}
constexpr std::size_t adaptors = 7;

/// What was asked of it last.
struct Recorder {
  struct Seen {
    std::size_t bytes = 0, alignment = 0, others = 0, trims = 0;
    std::ptrdiff_t live = 0;
  };
  void* allocate(const Stream& s, std::size_t bytes, std::size_t alignment) {
    void* const memory = real.allocate(s, bytes, alignment);
    ++seen->live;
    seen->bytes = bytes;
    seen->alignment = alignment;
    return memory;
  }
  void deallocate(const Stream& s, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
    deallocate(s, {}, memory, bytes, alignment);
  }
  void deallocate(const Stream& s, std::span<const Stream> others, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
    --seen->live;
    seen->others = others.size();
    real.deallocate(s, others, memory, bytes, alignment);
  }
  MemorySpace space() const { return real.space(); }
  Device device() const { return real.device(); }
  std::string name() const { return "recorder"; }
  void trim() { ++seen->trims; }

  Resource real;
  Seen* seen;
};

TEST(Adaptors, PassOnWhatTheyAreAsked) {
  const std::array<std::string, adaptors> kinds{"statistics", "limit", "tracking", "log",
                                                "failing",    "nvtx",  "red zones"};
  for (std::size_t k = 0; k < adaptors; ++k) {
    SCOPED_TRACE(kinds[k]);
    Recorder::Seen seen;
    std::ostringstream log;
    const Resource resource = adapt(k, Recorder{device_resource(), &seen}, log);
    EXPECT_EQ(resource.name(), kinds[k] + " of recorder");
    EXPECT_EQ(resource.space(), MemorySpace::device);
    EXPECT_EQ(resource.device(), get_current_device());
    const Stream s = stream(), other = stream();
    void* const memory = resource.allocate(s, 1000, 64);
    EXPECT_GE(seen.bytes, 1000u);
    EXPECT_EQ(seen.alignment, 64u);
    resource.deallocate(s, std::vector{other}, memory, 1000, 64);
    EXPECT_EQ(seen.others, kinds[k] == "red zones" ? 0u : 1u) << "red zones wait themselves";
    resource.trim();
    EXPECT_EQ(seen.trims, 1u);
    EXPECT_EQ(seen.live, 0);
  }
}

TEST(Adaptors, StackInAnyOrderUnderArrays) {
  std::array<std::size_t, adaptors> order{0, 1, 2, 3, 4, 5, 6};
  for (int turn = 0; turn < 8; ++turn) {
    std::ostringstream log;
    const Statistics below(device_resource());
    Resource top = Pool(below);
    for (const std::size_t which : order) top = adapt(which, top, log);
    {
      const ResourceGuard guard(top);
      const auto a = arange<float>(1000);
      DeviceNDArray<float> b = a * 2 + 1;
      b += a;
      EXPECT_EQ(sum(b).item(), 1'499'500.f) << top.name();
    }
    EXPECT_GT(below.statistics().bytes.total, 0);
    top.trim();
    EXPECT_EQ(below.statistics().bytes.current, 0) << top.name();
    std::rotate(order.begin(), order.begin() + 3, order.end());
    if (turn == 6) std::reverse(order.begin(), order.end());
  }
}

TEST(Adaptors, AreWrittenAsTheyRead) {
  const ResourceGuard guard(Statistics(Limit(Pool(device_resource()), 1 << 20)));
  const auto a = zeros<float>({100});
  EXPECT_THROW(zeros<float>({1 << 20}), MemoryError);
  EXPECT_EQ(sum(a).item(), 0.f);
}

TEST(Adaptors, LiveAsLongAsTheirArrays) {
  std::optional<DeviceNDArray<float>> a;
  {
    const ResourceGuard guard(Limit(Pool(device_resource()), 1 << 20));
    a = ones<float>({1000});
  }
  EXPECT_EQ(sum(*a).item(), 1000.f);
  a.reset();
}

}  // namespace
}  // namespace quarry
