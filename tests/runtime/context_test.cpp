// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/config.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>

#include "fake_driver/test_device.hpp"
#include "message_of.hpp"

namespace quarry {
namespace {

using test::message_of;

/// One that differs from the test's own where there is one.
Device another_device() { return gpus.size() > 1 ? gpus[1] : Device::cpu(); }

std::string why_not_popped(const Context& context) {
  return message_of<LogicError>([&] { context.pop(); });
}

TEST(Context, ThePushedOneIsCurrentUntilItIsPopped) {
  const Device before = get_current_device(), other = another_device();
  const Context context(other);
  context.push();
  EXPECT_EQ(get_current_device(), other);
  EXPECT_EQ(current_context(), context);
  EXPECT_EQ(Context::get_device(), other);
  EXPECT_EQ(zeros<int>({1}).device(), other);
  Context(before).push();
  EXPECT_EQ(get_current_device(), before);
  Context(before).pop();
  EXPECT_EQ(get_current_device(), other);
  EXPECT_EQ(Context::pop_current(), context);
  EXPECT_EQ(get_current_device(), before);
}

TEST(Context, OnlyTheTopOfTheStackIsPopped) {
  const Context lower(get_current_device()), upper(another_device());
  EXPECT_NE(why_not_popped(lower).find("pushed none"), std::string::npos);
  EXPECT_THROW(Context::pop_current(), LogicError);
  lower.push();
  upper.push();
  if (!(lower == upper)) {
    const std::string why = why_not_popped(lower);
    EXPECT_NE(why.find(to_string(upper.device()) + " was pushed after"), std::string::npos) << why;
    EXPECT_EQ(current_context(), upper);
  }
  upper.pop();
  lower.pop();
  EXPECT_THROW(lower.pop(), LogicError);
}

TEST(Context, IsNotPoppedUnderALaterGuard) {
  const Context context(get_current_device());
  context.push();
  {
    const DeviceGuard guard(Device::cpu());
    EXPECT_NE(why_not_popped(context).find("DeviceGuard"), std::string::npos);
    context.push();
    context.pop();
    EXPECT_EQ(get_current_device(), Device::cpu());
  }
  context.pop();
}

TEST(Context, EachThreadHasItsOwnStack) {
  const Context context(another_device());
  const Device before = get_current_device();
  context.push();
  std::thread([&] {
    EXPECT_EQ(get_current_device(), Device::parse(to_string(before)));
    EXPECT_THROW(context.pop(), LogicError);
    context.push();
    EXPECT_EQ(get_current_device(), context.device());
    context.pop();
  }).join();
  EXPECT_EQ(get_current_device(), context.device());
  context.pop();
}

TEST(Context, AThreadMayEndWithContextsOnItsStack) {
  testing::internal::CaptureStderr();
  std::thread([] {
    Context(another_device()).push();
    const DeviceGuard guard(Device::cpu());
    Device::cpu().make_context();
  }).join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// The life of a PyCUDA program: make_context, arrays, pop.
TEST(Context, ArraysOutliveTheTimeOnTheStackAndAreFreedAnywhere) {
  Context context = get_current_device().make_context();
  auto a = std::make_unique<DeviceNDArray<int>>(arange<int>(100));
  auto b = std::make_unique<DeviceNDArray<int>>(*a * 2);
  context.pop();
  EXPECT_EQ(sum(*a).item(), 4950);
  a.reset();
  std::thread([&] {
    EXPECT_EQ(sum(*b).item(), 9900);
    b.reset();
  }).join();
  context.push();
  auto c = std::make_unique<DeviceNDArray<int>>(ones<int>({10}));
  context.pop();
  context.detach();
  EXPECT_EQ(sum(*c).item(), 10);
}

TEST(Context, ContextsOfOneDeviceShareItsMemory) {
  const Device device;
  Context first = device.make_context(), second = device.make_context();
  const auto a = arange<int>(50);
  second.pop();
  second.detach();
  EXPECT_EQ(sum(a + arange<int>(50)).item(), 2450);
  first.pop();
  EXPECT_EQ(first, Context(device));
}

TEST(Context, DetachEndsAHandleAndItsCopiesOnce) {
  Context made = get_current_device().make_context();
  Context copy = made;
  made.pop();
  copy.detach();
  EXPECT_THROW(copy.detach(), LogicError);
  EXPECT_THROW(made.detach(), LogicError);
  EXPECT_THROW(made.push(), LogicError);
  EXPECT_THROW(made.handle(), LogicError);
  EXPECT_THROW(made.pop(), LogicError);  // is on no stack
  EXPECT_NE(message_of<LogicError>([] { current_context().detach(); }).find("make_context"),
            std::string::npos);
}

TEST(Context, DetachLeavesTheStackAndGivesCachedMemoryBack) {
  const Device before = get_current_device(), other = another_device();
  Context context = other.make_context();
  zeros<float>({1000});
  EXPECT_GT(pool_statistics(other).held_bytes, 0u);
  context.detach();
  EXPECT_EQ(pool_statistics(other).held_bytes, 0u);
  EXPECT_EQ(get_current_device(), before);
  EXPECT_THROW(Context::pop_current(), LogicError);
}

TEST(Context, ThePrimaryContextIsRetainedWithoutBecomingCurrent) {
  const Device before = get_current_device();
  Context context = another_device().retain_primary_context();
  EXPECT_EQ(get_current_device(), before);
  EXPECT_EQ(context.device(), another_device());
  context.push();
  EXPECT_EQ(get_current_device(), another_device());
  context.pop();
  context.detach();
}

TEST(Context, HandlesOfADeviceAreOneContext) {
  const Device device;
  EXPECT_EQ(Context(device).handle(), device.retain_primary_context().handle());
  EXPECT_EQ(Context(device).handle() == nullptr, device.is_cpu());
  EXPECT_EQ(Context(Device::cpu()).handle(), nullptr);
}

TEST(Context, CanBeOfAGpuByItsNumber) {
  for (const Device gpu : gpus) {
    const DeviceGuard guard(Device::cpu());
    EXPECT_EQ(current_context(gpu.id()).device(), gpu);
    EXPECT_EQ(get_current_device(), gpu);
  }
  const Device before = get_current_device();
  EXPECT_THROW(current_context(4096), Error);
  EXPECT_EQ(get_current_device(), before);
}

TEST(Context, DetachPopsNoPushOfAHandleThatIsGone) {
  { const Context dropped = Device().make_context(); }
  Context other = Device().retain_primary_context();  // perhaps where the other was
  other.detach();
  EXPECT_EQ(Context::pop_current().device(), Device());
}

TEST(Context, LimitsAreThoseThatWereSet) {
  const Context context = current_context();
  if (context.device().is_cpu()) {
    const std::string why =
        message_of<LogicError>([&] { context.set_limit(ContextLimit::stack_size, 1); });
    EXPECT_NE(why.find("only GPUs"), std::string::npos) << why;
    EXPECT_THROW(context.get_limit(ContextLimit::stack_size), LogicError);
    return;
  }
  for (const ContextLimit limit :
       {ContextLimit::stack_size, ContextLimit::printf_fifo_size, ContextLimit::malloc_heap_size}) {
    const std::size_t before = context.get_limit(limit);
    EXPECT_GT(before, 0u);
    context.set_limit(limit, 2 * before);
    EXPECT_GE(context.get_limit(limit), 2 * before);
    context.set_limit(limit, before);
    EXPECT_EQ(Context(context.device()).get_limit(limit), before);
  }
  EXPECT_THROW(context.get_limit(static_cast<ContextLimit>(99)), LogicError);
  EXPECT_THROW(context.set_limit(static_cast<ContextLimit>(99), 1), LogicError);
  if (test::kind() ==
      test::Kind::fake) {  // a GPU takes the memory for it only when a kernel allocates
    EXPECT_THROW(context.set_limit(ContextLimit::malloc_heap_size, std::size_t{1} << 50), Error);
  }
  EXPECT_EQ(sum(ones<int>({10})).item(), 10);
}

TEST(Context, TheCacheConfigurationIsThatWhichWasSet) {
  const Context context = current_context();
  if (context.device().is_cpu()) {
    EXPECT_THROW(context.set_cache_config(CacheConfig::prefer_l1), LogicError);
    EXPECT_THROW(context.get_cache_config(), LogicError);
    EXPECT_THROW(context.get_api_version(), LogicError);
    return;
  }
  const CacheConfig before = context.get_cache_config();
  context.set_cache_config(CacheConfig::prefer_l1);
  EXPECT_EQ(Context(context.device()).get_cache_config(), CacheConfig::prefer_l1);
  context.set_cache_config(before);
  EXPECT_THROW(context.set_cache_config(static_cast<CacheConfig>(7)), LogicError);
  EXPECT_GE(context.get_api_version(), 3010);
}

TEST(Context, FlagsAreThoseOfTheLatestContextThatAskedForAny) {
  const Device device;
  if (device.is_cpu()) {
    Context context = device.make_context(ContextFlags::sched_blocking_sync);
    EXPECT_EQ(context.flags(), ContextFlags::sched_auto);
    return context.pop();
  }
  const auto wait_of = [&](ContextFlags flags) {
    const Context context = device.make_context(flags | ContextFlags::map_host);
    EXPECT_EQ(sum(arange<int>(100)).item(), 4950);
    context.pop();
    device.make_context().pop();
    return Context(device).flags() & ContextFlags::sched_mask;
  };
  EXPECT_EQ(wait_of(ContextFlags::sched_blocking_sync), ContextFlags::sched_blocking_sync);
  EXPECT_EQ(wait_of(ContextFlags::sched_yield), ContextFlags::sched_yield);
  for (const ContextFlags wrong :
       {ContextFlags::sched_spin | ContextFlags::sched_yield, static_cast<ContextFlags>(1024)}) {
    EXPECT_THROW(device.make_context(wrong), LogicError);
    EXPECT_THROW(Context::pop_current(), LogicError);  // nothing was pushed
  }
  EXPECT_EQ(wait_of(ContextFlags::sched_spin), ContextFlags::sched_spin);
}

TEST(Context, PeerAccessIsEnabledAndDisabledAnyNumberOfTimes) {
  const Device device;
  if (!device.is_cpu()) {
    EXPECT_THROW(device.enable_peer_access(Device::cpu()), LogicError);
    EXPECT_THROW(Device::cpu().enable_peer_access(device), LogicError);
  }
  device.enable_peer_access(device);
  if (gpus.size() < 2 || !gpus[0].can_access_peer(gpus[1])) return;
  const Context context(gpus[0]);
  for (int i = 0; i < 2; ++i) {
    context.enable_peer_access(gpus[1]);
    context.enable_peer_access(Context(gpus[1]));
    context.disable_peer_access(gpus[1]);
    context.disable_peer_access(Context(gpus[1]));
  }
}

// --- require_context

TEST(RequireContext, CallsAFunctionWithItsArgumentsAndReturnsItsValue) {
  int calls = 0;
  auto counting = require_context([&calls, own = 0]() mutable { calls = ++own; });
  counting(), counting();
  EXPECT_EQ(calls, 2);
  const auto move_only = require_context([](std::unique_ptr<int> p) { return p; });
  EXPECT_EQ(*move_only(std::make_unique<int>(3)), 3);
  auto reference = require_context([](int& x) -> int& { return x; });
  static_assert(std::is_same_v<decltype(reference(calls)), int&>);
  EXPECT_EQ(&reference(calls), &calls);
  auto total = require_context([](const DeviceNDArray<int>& a) { return sum(a).item(); });
  EXPECT_EQ(total(arange<int>(10)), 45);
}

TEST(RequireContext, TheFunctionMayNotSwitch) {
  const Device before = get_current_device(), other = another_device();
  if (before == other) GTEST_SKIP() << "one device";
  auto switching = require_context([&] { set_current_device(other); });
  const std::string why = message_of<LogicError>(switching);
  EXPECT_NE(why.find(to_string(other)), std::string::npos) << why;
  EXPECT_EQ(get_current_device(), before);
  auto with_value = require_context([&] { return set_current_device(other), 1; });
  EXPECT_THROW(with_value(), LogicError);
  EXPECT_EQ(get_current_device(), before);
}

TEST(RequireContext, TheFunctionHasToPopWhatItPushes) {
  const Context context(another_device());
  require_context([&] {
    context.push();
    context.pop();
  })();
  auto pushing = require_context([&] { context.push(); });
  EXPECT_THROW(pushing(), LogicError);
  EXPECT_THROW(context.pop(), LogicError);  // it is on the stack no more
}

TEST(RequireContext, ADeviceOfAScopeInTheFunctionIsNoSwitch) {
  auto inner = require_context([] {
    const DeviceGuard guard(Device::cpu());
    return sum(arange<int>(4)).item();
  });
  EXPECT_EQ(inner(), 6);
}

TEST(RequireContext, WhatTheFunctionThrowsPassesAndTheDeviceIsRestored) {
  const Device before = get_current_device();
  auto throwing = require_context([&] {
    set_current_device(another_device());
    Context(Device::cpu()).push();
    throw std::range_error("mine");
  });
  EXPECT_THROW(throwing(), std::range_error);
  EXPECT_EQ(get_current_device(), before);
  EXPECT_THROW(Context::pop_current(), LogicError);
}

// --- the default context

TEST(DefaultContext, IsOfTheDefaultDeviceAndCurrent) {
  const DeviceGuard guard(Device::cpu());
  const Context context = make_default_context();
  EXPECT_EQ(get_current_device(), context.device());
  context.pop();
  EXPECT_EQ(get_current_device(), Device::cpu());
  std::thread([&] { EXPECT_EQ(get_current_device(), context.device()); }).join();
}

TEST(DefaultContext, AutoinitMakesOneForTheProcess) {
  const DefaultContext* made = nullptr;
  std::thread([&] {
    made = &autoinit();
    EXPECT_EQ(made->device, get_current_device());
    EXPECT_EQ(made->context.device(), made->device);
    made->context.pop();  // the first call has pushed it
    EXPECT_EQ(&autoprimaryctx(), made);
    EXPECT_THROW(made->context.pop(), LogicError);
  }).join();
  std::thread([&] { EXPECT_EQ(&autoinit(), made); }).join();
  EXPECT_EQ(made->device, get_current_device());
}

// --- close

TEST(Close, RemovesAllContextsFromTheThreadsStack) {
  const Device before = get_current_device();
  Context(another_device()).push();
  Context(Device::cpu()).push();
  close();
  EXPECT_THROW(Context::pop_current(), LogicError);
  EXPECT_EQ(get_current_device(), before);
  EXPECT_EQ(sum(arange<int>(10)).item(), 45);
}

TEST(Close, TheDeviceIsUsableAfterwards) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sum(arange<int>(10) * 2).item(), 90);
    close();
  }
  const auto kept = arange<int>(10);
  close();
  EXPECT_EQ(sum(kept).item(), 45);
}

TEST(Version, IsInThreeForms) {
  EXPECT_EQ(std::to_string(version_major) + "." + std::to_string(version_minor) + "." +
                std::to_string(version_patch) + version_status,
            version);
  const auto built_against = get_version();
  EXPECT_EQ(built_against[0] >= 12, has_cuda);
  EXPECT_EQ(get_driver_version() / 1000, driver_version().first);
  EXPECT_EQ(get_driver_version() % 1000 / 10, driver_version().second);
}

}  // namespace
}  // namespace quarry
