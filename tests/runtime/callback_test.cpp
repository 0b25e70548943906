// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/cpu/stream.hpp"
#include "gate.hpp"
#include "runtime/stream_state.hpp"

/// Callbacks that learn how the work before them has ended. What a lost GPU does with them is
/// tested in process/lost_programs.cpp.
namespace quarry {
namespace {

using backend::cpu_backend::TaskOf;

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "no error";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// Queues work that fails, on the CPU device.
void fail_in(const Stream& s, const std::string& why) {
  auto fail = [why](auto&&...) { throw std::runtime_error(why); };
  backend::cpu_backend::Streams::queue(s.state().native)
      ->submit(std::make_unique<TaskOf<decltype(fail)>>(std::move(fail)));
}

TEST(Callback, WithAStatusLearnsThatTheWorkSucceeded) {
  const Stream s = stream();
  const auto a = ones<int>({1000}, {.stream = s});
  std::string seen, with;
  s.add_callback([&](const Stream& mine, const std::exception_ptr& status) {
    seen = mine == s ? text_of(status) : "another stream";
  });
  s.add_callback([&](const Stream&, const std::exception_ptr& status,
                     const std::string& arg) { with = arg + ": " + text_of(status); },
                 std::string("the argument"));
  s.synchronize();
  EXPECT_EQ(seen, "no error");
  EXPECT_EQ(with, "the argument: no error");
}

TEST(Callback, WithAStatusIsCalledInItsTurn) {
  const Stream s = stream();
  std::vector<int> order;
  {
    test::Gate gate(s);
    s.add_callback([&](const Stream&) { order.push_back(1); });
    s.add_callback([&](const Stream&, const std::exception_ptr&) { order.push_back(2); });
    s.add_callback([&](const Stream&) { order.push_back(3); });
    EXPECT_TRUE(order.empty());
  }
  s.synchronize();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Callback, WithAStatusIsCalledAfterWorkThatFailed) {
  const DeviceGuard guard(Device::cpu());
  const Stream s = stream();
  fail_in(s, "the work");
  std::string seen;
  bool plain = false;
  s.add_callback([&](const Stream&) { plain = true; });
  s.add_callback([&](const Stream&, const std::exception_ptr& status) { seen = text_of(status); });
  EXPECT_THROW(s.synchronize(), std::runtime_error);
  EXPECT_EQ(seen, "the work");
  EXPECT_FALSE(plain);
  s.add_callback([&](const Stream&, const std::exception_ptr& status) { seen = text_of(status); });
  s.synchronize();
  EXPECT_EQ(seen, "no error");
}

TEST(Callback, WhatOneWithAStatusThrowsIsRethrown) {
  const Stream s = stream();
  s.add_callback([](const Stream&, const std::exception_ptr&) { throw std::out_of_range("late"); });
  EXPECT_THROW(s.synchronize(), std::out_of_range);
  EXPECT_NO_THROW(s.synchronize());
}

TEST(Callback, WithAStatusMayNotUseTheDevice) {
  const Stream s = stream();
  bool refused = false;
  const auto use = [&](const Stream& mine, const std::exception_ptr&) {
    try {
      mine.synchronize();
    } catch (const LogicError&) {
      refused = true;
    }
  };
  s.add_callback(use);
  s.synchronize();
  EXPECT_TRUE(refused);
}

TEST(Callback, WithAStatusIsDestroyedAfterItsCall) {
  const Stream s = stream();
  const auto held = std::make_shared<int>();
  s.add_callback([held](const Stream&, const std::exception_ptr&) {});
  s.synchronize();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Callback, AnEmptyOneWithAStatusIsRefused) {
  const std::function<void(const Stream&, const std::exception_ptr&)> none;
  EXPECT_THROW(stream().add_callback(none), LogicError);
}

}  // namespace
}  // namespace quarry
