// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "moved_from.hpp"

namespace quarry {
namespace {

using test::expect_refused;

// NOLINTBEGIN(bugprone-use-after-move): that is the subject

TEST(MovedFrom, EveryMemberOfAStreamSaysSo) {
  Stream s = stream();
  const Stream there = std::move(s);
  const Event e;
  expect_refused("device", [&] { s.device(); });
  expect_refused("is_default", [&] { s.is_default(); });
  expect_refused("is_external", [&] { s.is_external(); });
  expect_refused("handle", [&] { s.handle(); });
  expect_refused("priority", [&] { s.priority(); });
  expect_refused("synchronize", [&] { s.synchronize(); });
  expect_refused("is_done", [&] { s.is_done(); });
  expect_refused("wait_event", [&] { s.wait_event(e); });
  expect_refused("record", [&] { s.record(); });
  expect_refused("add_callback", [&] { s.add_callback([](const Stream&) {}); });
  expect_refused("async_done", [&] { s.async_done(); });
  expect_refused("auto_synchronize", [&] { s.auto_synchronize(); });
  expect_refused("state", [&] { s.state(); });
  expect_refused("StreamGuard", [&] { const StreamGuard guard(s); });
  expect_refused("Event::record", [&] { e.record(s); });
  expect_refused("Event::wait", [&] { e.wait(s); });
  expect_refused("zeros", [&] { zeros<float>({3}, {.stream = s}); });
  expect_refused("Buffer", [&] { Buffer::allocate(8, s); });
  EXPECT_FALSE(s == there);
  const Stream copy = s;
  EXPECT_TRUE(copy == s);
  s = there;
  EXPECT_TRUE(s == there);
  EXPECT_TRUE(s.is_done());
}

TEST(MovedFrom, EveryMemberOfAnEventSaysSo) {
  Event e;
  const Event there = std::move(e);
  const Stream s = stream();
  expect_refused("device", [&] { e.device(); });
  expect_refused("record", [&] { e.record(); });
  expect_refused("record(s)", [&] { e.record(s); });
  expect_refused("query", [&] { e.query(); });
  expect_refused("synchronize", [&] { e.synchronize(); });
  expect_refused("wait", [&] { e.wait(); });
  expect_refused("wait(s)", [&] { e.wait(s); });
  expect_refused("elapsed_time", [&] { e.elapsed_time(there); });
  expect_refused("elapsed_time to it", [&] { there.elapsed_time(e); });
  expect_refused("time_since", [&] { e.time_since(there); });
  expect_refused("time_till", [&] { e.time_till(there); });
  expect_refused("event_elapsed_time", [&] { event_elapsed_time(there, e); });
  expect_refused("ipc_handle", [&] { e.ipc_handle(); });
  expect_refused("state", [&] { e.state(); });
  expect_refused("Stream::wait_event", [&] { s.wait_event(e); });
  e = there;
  EXPECT_NO_THROW(e.query());
}

// NOLINTEND(bugprone-use-after-move)

}  // namespace
}  // namespace quarry
