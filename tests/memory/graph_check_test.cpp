// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <quarry/memory/graph.hpp>

#include "memory/captured_step.hpp"
#include "message_of.hpp"
#include "runtime/inventory.hpp"

/// Positions that are checked in a graph: its launches find those outside, and the host throws.
namespace quarry {
namespace {

using namespace test;

std::string message_of_wait(const Stream& stream) {
  return message_of<IndexError>([&] { stream.synchronize(); });
}

class CheckedGraph : public testing::Test {
 protected:
  using Positions = std::vector<std::int64_t>;

  void SetUp() override { Device().synchronize(); }
  void look_at(const Positions& p) { positions.copy_to_device(p); }

  const DeviceNDArray<float> values = arange<float>(10);
  const DeviceNDArray<std::int64_t> positions = zeros<std::int64_t>({3});
  const DeviceNDArray<float> chosen = zeros<float>({3});
};

TEST_F(CheckedGraph, APositionOutsideIsThrownByTheNextWaitAndOnlyOnce) {
  const Stream s = stream();
  look_at({0, 1, 2});
  const Graph graph = capture([&] { chosen(all) = values(positions); });
  EXPECT_EQ(host(chosen), Values(3, 0.f));
  for (const auto& [bad, first] :
       {std::pair(Positions{3, 10, -12}, "10"), std::pair(Positions{-11, 4, 5}, "-11"),
        std::pair(Positions{9, 9, INT64_MAX}, "9223372036854775807")}) {
    in_any_order([&] {
      look_at(bad);
      graph.launch(s);
      EXPECT_EQ(message_of_wait(s),
                std::string("position ") + first + " is outside of axis 0 of extent 10");
      EXPECT_NO_THROW(s.synchronize());
      look_at({-10, 9, 5});
      graph.launch(s);
      EXPECT_NO_THROW(s.synchronize());
      EXPECT_EQ(host(chosen), Values({0, 9, 5}));
    });
  }
}

TEST_F(CheckedGraph, ALaterLaunchThatIsSoundDoesNotHideIt) {
  look_at({0, 77, 2});
  const Stream s = stream();
  const Graph graph = capture([&] {
    chosen(all) = values(positions);
    positions.fill(1);
  });
  in_any_order([&] {
    look_at({0, 77, 2});
    for (int k = 0; k < 3; ++k) {
      try {
        graph.launch(s);  // which may know already
      } catch (const IndexError&) {
        look_at({0, 77, 2});
        --k;
      }
      if (k == 2) break;
    }
    EXPECT_NE(message_of_wait(s).find("position 77 "), std::string::npos);
    EXPECT_NO_THROW(s.synchronize());
  });
}

TEST_F(CheckedGraph, TheNextLaunchOrUpdateThrowsWithoutDoingAnything) {
  auto count = full<int>({}, 0);
  const Graph graph = capture([&] {
    chosen(all) = values(positions);
    count += 1;
  });
  const Stream s = stream(), other = stream();
  for (const auto& use : {std::function<void()>([&] { graph.launch(other); }),
                          std::function<void()>([&] { graph.update(); })}) {
    look_at({0, -11, 2});
    count.fill(0);
    graph.launch(s);
    s.record().synchronize();  // no wait for the stream itself
    EXPECT_EQ(message_of<IndexError>(use), "position -11 is outside of axis 0 of extent 10");
    EXPECT_NO_THROW(s.synchronize()) << "it has been thrown";
    EXPECT_EQ(count.item(), 1) << "not launched again";
    look_at({1, 2, 3});
    EXPECT_NO_THROW(use());
    Device().synchronize();
  }
}

TEST_F(CheckedGraph, AReadInTheStreamThrowsBeforeAnybodyUsesTheValues) {
  look_at({0, 12, 2});
  const Graph graph = capture([&] { chosen(all) = values(positions); });
  const Device device;
  for (const auto& wait : {std::function<void()>([&] { host(chosen); }),
                           std::function<void()>([&] { static_cast<void>(sum(chosen).item()); }),
                           std::function<void()>([&] { device.synchronize(); })}) {
    graph();
    EXPECT_EQ(message_of<IndexError>(wait), "position 12 is outside of axis 0 of extent 10");
    EXPECT_NO_THROW(wait());
  }
}

TEST_F(CheckedGraph, AResetThrowsItAndEndsNothing) {
  look_at({0, 13, 2});
  const Graph graph = capture([&] { chosen(all) = values(positions); });
  graph();
  EXPECT_EQ(message_of<IndexError>([&] { Device().reset(); }),
            "position 13 is outside of axis 0 of extent 10");
  EXPECT_EQ(host(chosen), Values({0, 9, 2}));
  EXPECT_THROW(Device().reset(), LogicError) << "there are arrays";
}

TEST_F(CheckedGraph, EveryPositionOfOneLaunchIsThrown) {
  const auto rows = zeros<float>({4, 5});
  const auto first = full<std::int64_t>({1}, 4), second = full<std::int64_t>({1}, -6);
  const Graph graph = capture([&] { rows(first, second) = 1.f; });
  const Stream s = stream();
  graph.launch(s);
  std::vector<std::string> said = {message_of_wait(s), message_of_wait(s)};
  std::ranges::sort(said);
  EXPECT_EQ(said, (std::vector<std::string>{"position -6 is outside of axis 1 of extent 5",
                                            "position 4 is outside of axis 0 of extent 4"}));
  EXPECT_NO_THROW(s.synchronize());
}

TEST_F(CheckedGraph, TheGraphMayEndBeforeTheWait) {
  look_at({0, 10, 2});
  const Stream s = stream();
  in_any_order([&] {
    {
      const Graph graph = capture([&] { chosen(all) = values(positions); });
      graph.launch(s);
    }
    const Neighbours others;
    EXPECT_EQ(message_of_wait(s), "position 10 is outside of axis 0 of extent 10");
  });
  std::optional<Graph> outer;
  {
    const Graph inner = capture([&] { chosen(all) = values(positions); });
    outer = capture([&] { inner(); });
  }
  outer->launch(s);
  outer.reset();
  EXPECT_EQ(message_of_wait(s), "position 10 is outside of axis 0 of extent 10");
}

/// What is left of launches is thrown though nobody waits for their stream, and keeps no memory.
TEST_F(CheckedGraph, ALaunchIsOutlivedByNothing) {
  const Device device;
  const auto launch = [&](const Stream& s) {
    const auto outside = full<std::int64_t>({3}, 10);
    const Graph graph = capture([&] { chosen(all) = values(outside); });
    graph.launch(s);
  };
  in_any_order([&] {
    launch(stream({.non_blocking = true}));  // whose last handle goes before the launch is done
    EXPECT_EQ(message_of<IndexError>([&] { device.synchronize(); }),
              "position 10 is outside of axis 0 of extent 10");
    EXPECT_NO_THROW(device.synchronize());
  });
  const auto count = [&] { return to_string(runtime::owned_inventory(device)); };
  const Stream s = stream();
  const std::string before = count();
  for (int k = 0; k < 5; ++k) {
    launch(s);
    s.record().synchronize();
  }
  EXPECT_EQ(count(), before) << "the errors are kept, and nothing else";
  for (int k = 0; k < 5; ++k) EXPECT_THROW(s.synchronize(), IndexError);
  EXPECT_NO_THROW(s.synchronize());
}

TEST_F(CheckedGraph, OnePieceOfLeftWorkIsThrownInOneThread) {
  look_at({0, 14, 2});
  const Graph graph = capture([&] { chosen(all) = values(positions); });
  const Stream s = stream();
  for (int round = 0; round < 20; ++round) {
    graph.launch(s);
    std::atomic<int> thrown = 0;
    std::vector<std::thread> threads;
    for (int k = 0; k < 3; ++k) {
      threads.emplace_back([&] {
        try {
          s.synchronize();
        } catch (const IndexError&) {
          ++thrown;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(thrown, 1);
  }
}

/// The nearest element inside is the one that counts, for each axis alone.
TEST_F(CheckedGraph, WhatIsOutsideCountsAsTheNearestInside) {
  const auto whole = arange<float>(40).reshape({4, 10});
  const auto table = whole(all, range(0, 5));  // a view with gaps
  const auto i = to_device(std::vector<std::int64_t>{0, 4, -5, 1});
  const auto j = to_device(std::vector<std::int64_t>{5, 0, 1, -9});
  const std::vector<IndexEntry> list = {i, j};
  const auto out = zeros<float>({4}), of_list = zeros<float>({4}), taken = zeros<float>({4});
  const auto written = whole.copy();
  const auto part = written(all, range(0, 5));
  const auto large = full<std::uint64_t>({1}, std::numeric_limits<std::uint64_t>::max());
  const std::vector<IndexEntry> of_large = {large, 0, true};
  const auto last = zeros<float>({1});
  const Graph graph = capture([&] {
    out(all) = table(i, j);
    of_list(all) = table(list);
    last(all) = table(of_large)(0);
    part(list) = -1.f;
    taken(all) = take(whole(1), j);
  });
  const Stream s = stream();
  graph.launch(s);
  for (int k = 0; k < 20; ++k) {  // each check of the launch
    try {
      s.synchronize();
      break;
    } catch (const IndexError&) {
      ASSERT_LT(k, 19);
    }
  }
  EXPECT_EQ(host(out), Values({4, 30, 1, 10}));
  EXPECT_EQ(host(of_list), Values({4, 30, 1, 10}));
  EXPECT_EQ(host(last), Values({30}));
  EXPECT_EQ(host(taken), Values({15, 10, 11, 11}));
  Values want(40);
  for (std::size_t k = 0; k < want.size(); ++k) want[k] = float(k);
  for (const std::size_t k : {4u, 30u, 1u, 10u}) want[k] = -1;
  EXPECT_EQ(host(written), want);
}

TEST_F(CheckedGraph, NoPositionIsInsideOfAnAxisOfExtent0) {
  const auto none = zeros<float>({0, 0});
  const auto zero = zeros<std::int64_t>({1});
  EXPECT_THROW(take(none, zero, 0), IndexError);
  EXPECT_THROW(capture([&] { eval(take(none, zero, 0)); }), IndexError);
}

TEST_F(CheckedGraph, AnUpdateChecksTheNewPositions) {
  std::optional<DeviceNDArray<std::int64_t>> p = full<std::int64_t>({3}, 20);
  const Graph graph = capture([&] { chosen(all) = values(*p); });
  const Stream s = stream();
  graph.launch(s);
  p = full<std::int64_t>({3}, 30);
  EXPECT_EQ(message_of_wait(s), "position 20 is outside of axis 0 of extent 10");
  graph.update();
  graph.launch(s);
  EXPECT_EQ(message_of_wait(s), "position 30 is outside of axis 0 of extent 10");
  p = full<std::int64_t>({3}, 3);
  graph.update();
  graph.launch(s);
  EXPECT_NO_THROW(s.synchronize());
  EXPECT_EQ(host(chosen), Values(3, 3.f));
}

/// All that checks positions of any type, with one outside.
TEST_F(CheckedGraph, FunctionsThatCheckPositionsCanBeCaptured) {
  const auto table = arange<float>(12).reshape({3, 4});
  const auto out = zeros<float>({2});
  const auto bytes = full<std::int8_t>({2}, -128);
  const auto large = full<std::uint64_t>({2}, std::numeric_limits<std::uint64_t>::max());
  const auto column = full<std::int32_t>({3, 2}, 4), choice = full<std::int32_t>({2}, 2);
  const auto one = full<std::int64_t>({}, 3);
  struct Call {
    const char* says;
    std::function<void()> call;
  };
  const Call calls[] = {
      {"position -128 is outside of axis 1 of extent 4", [&] { out(all) = table(0, bytes); }},
      {"position 18446744073709551615 is outside of axis 0 of extent 3",
       [&] { out(all) = table(large, 0); }},
      {"position 4 is outside of axis 1 of extent 4",
       [&] { put_along_axis(table, column, 0.f, 1); }},
      {"position 4 is outside of axis 1 of extent 4",
       [&] { out(all) = sum(take_along_axis(table, column, 1), 0); }},
      {"position 3 is outside of axis 0 of extent 3", [&] { add_at(table(one), 1.f); }},
      {"position -128 is outside of axis 0 of extent 12", [&] { put(table, bytes, 1.f); }},
      {"position -128 is outside of axis 0 of extent 12", [&] { out(all) = take(table, bytes); }},
      {"choice 2 of 2", [&] { out(all) = choose(choice, table(0, range(2)), table(1, range(2))); }},
      {"position 4 is outside of axis 1 of extent 4",
       [&] { out(all) = table(0, column.T()(0, range(2))); }},
  };
  const Stream s = stream();
  for (const auto& [says, call] : calls) {
    const Graph graph = capture(call);
    graph.launch(s);
    EXPECT_EQ(message_of_wait(s), says);
  }
}

/// Where a program that is not captured waits to see whether places are repeated.
TEST_F(CheckedGraph, TheLastOfManyValuesForAPlaceStays) {
  constexpr std::int64_t n = 70000;
  const auto wide = zeros<float>({n});
  const DeviceNDArray<std::int64_t> reversed = n - 1 - arange<std::int64_t>(n);
  const DeviceNDArray<float> next = arange<float>(n) + 1.f;
  const Graph graph = capture([&] { wide(reversed) = next; });
  graph();
  EXPECT_EQ(wide(0).item(), float{n});
  reversed(range(n - 2, n)) = 5;
  graph();
  EXPECT_EQ(wide(5).item(), float{n});
}

TEST_F(CheckedGraph, LeavesNoMemoryBehind) {
  const Stream s = stream();
  const auto run = [&] {
    const auto table = arange<float>(10), out = zeros<float>({3});
    const auto outside = full<std::int64_t>({3}, 10);
    {
      const Graph graph = capture([&] { out(all) = table(outside); });
      graph.launch(s);
    }
    EXPECT_THROW(s.synchronize(), IndexError);
    EXPECT_NO_THROW(s.synchronize());
  };
  run();  // loads its kernels
  const auto count = [] { return to_string(runtime::owned_inventory(Device())); };
  const std::string before = count();
  for (int k = 0; k < 5; ++k) run();
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace quarry
