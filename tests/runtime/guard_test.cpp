// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace quarry {
namespace {

// Each kind of guard: values that can be told apart, and what is current.

struct Streams {
  using Guard = StreamGuard;
  static std::vector<Stream> values(std::size_t n) {
    std::vector<Stream> all;
    while (all.size() < n) all.push_back(stream());
    return all;
  }
  static Stream current() { return current_stream(); }
};

struct Devices {
  using Guard = DeviceGuard;
  static std::vector<Device> values(std::size_t n) {
    std::vector<Device> all;
    for (std::size_t i = 0; all.size() < n; ++i) {
      const std::size_t choices = gpus.size() + 1;
      all.push_back(i % choices < gpus.size() ? gpus[static_cast<int>(i % choices)]
                                              : Device::cpu());
    }
    return all;
  }
  static Device current() { return get_current_device(); }
};

struct Resources {
  using Guard = ResourceGuard;
  static std::vector<Resource> values(std::size_t n) {
    std::vector<Resource> all;
    while (all.size() < n) all.push_back(Resource(Pool(device_resource())));
    return all;
  }
  static Resource current() { return current_resource(); }
};

template <class K>
class Guards : public testing::Test {};
using Kinds = testing::Types<Streams, Devices, Resources>;
TYPED_TEST_SUITE(Guards, Kinds);

constexpr std::size_t count = 4;

/// Guards over `values`, of which `end` ends one at a time; the current value is that of the
/// innermost one left.
template <class K, class End>
void expect_innermost_of_those_left(const std::vector<std::size_t>& order, const End& end) {
  const auto values = K::values(count);
  const auto outside = K::current();
  std::vector<std::unique_ptr<typename K::Guard>> guards;
  for (const auto& value : values) {
    guards.push_back(std::make_unique<typename K::Guard>(value));
    EXPECT_TRUE(K::current() == value);
  }
  for (const std::size_t k : order) {
    end(guards[k]);
    const auto left = std::find_if(guards.rbegin(), guards.rend(),
                                   [](const auto& guard) { return guard != nullptr; });
    const auto at = static_cast<std::size_t>(guards.rend() - left);
    EXPECT_TRUE(K::current() == (at > 0 ? values[at - 1] : outside)) << "after the end of " << k;
  }
}

template <class F>
void for_each_order(const F& f) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    f(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TYPED_TEST(Guards, EndInAnyOrder) {
  for_each_order([](const std::vector<std::size_t>& order) {
    expect_innermost_of_those_left<TypeParam>(order, [](auto& guard) { guard.reset(); });
  });
}

TYPED_TEST(Guards, EndOnOtherThreadsInAnyOrder) {
  for_each_order([](const std::vector<std::size_t>& order) {
    testing::internal::CaptureStderr();
    expect_innermost_of_those_left<TypeParam>(
        order, [](auto& guard) { std::thread([&] { guard.reset(); }).join(); });
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), static_cast<std::ptrdiff_t>(count));
    EXPECT_NE(told.find("Guard was destroyed on another thread"), std::string::npos) << told;
  });
}

TYPED_TEST(Guards, EndOnBothThreadsInAnyOrder) {
  for_each_order([](const std::vector<std::size_t>& order) {
    testing::internal::CaptureStderr();
    std::size_t k = 0;
    expect_innermost_of_those_left<TypeParam>(order, [&](auto& guard) {
      if (k++ % 2 == 0) return guard.reset();
      std::thread([&] { guard.reset(); }).join();
    });
    testing::internal::GetCapturedStderr();
  });
}

TYPED_TEST(Guards, OutliveTheirThread) {
  const auto values = TypeParam::values(2);
  const auto outside = TypeParam::current();
  std::vector<std::unique_ptr<typename TypeParam::Guard>> guards;
  std::thread([&] {
    for (const auto& value : values) {
      guards.push_back(std::make_unique<typename TypeParam::Guard>(value));
    }
    guards.front().reset();
    EXPECT_TRUE(TypeParam::current() == values[1]);
  }).join();
  EXPECT_TRUE(TypeParam::current() == outside);
  testing::internal::CaptureStderr();
  guards.clear();
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(TypeParam::current() == outside);
}

TYPED_TEST(Guards, AThreadThatLooksWhileAnotherEndsItsGuardsSeesOneOfThem) {
  const auto values = TypeParam::values(2);
  const auto outside = TypeParam::current();
  testing::internal::CaptureStderr();
  for (int round = 0; round < 50; ++round) {
    std::vector<std::unique_ptr<typename TypeParam::Guard>> guards;
    for (const auto& value : values) {
      guards.push_back(std::make_unique<typename TypeParam::Guard>(value));
    }
    std::thread other([&] { guards.clear(); });
    for (int k = 0; k < 20; ++k) {
      const auto now = TypeParam::current();
      EXPECT_TRUE(now == values[0] || now == values[1] || now == outside);
    }
    other.join();
    EXPECT_TRUE(TypeParam::current() == outside);
  }
  testing::internal::GetCapturedStderr();
}

TEST(DeviceGuards, ADeviceThatIsSetInAScopeIsForgottenWithIt) {
  const Device outside = get_current_device();
  {
    const DeviceGuard guard(outside);
    set_current_device(Device::cpu());
    EXPECT_EQ(get_current_device(), Device::cpu());
  }
  EXPECT_EQ(get_current_device(), outside);
}

}  // namespace
}  // namespace quarry
