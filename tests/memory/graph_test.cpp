// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <quarry/base/captures.hpp>
#include <quarry/memory/graph.hpp>

#include "memory/captured_step.hpp"
#include "message_of.hpp"
#include "runtime/inventory.hpp"

/// Work of the library that is captured once and launched many times.
namespace quarry {
namespace {

using namespace test;

TEST_F(CapturedGraph, DoesNothingWhenCapturedAndTheWorkAtEveryLaunch) {
  const auto u = plate(1), v = plate(2);
  Values hu = drawn(1), hv = drawn(2);
  const Graph graph = capture([&] { step(u, v, 0.5f); });
  EXPECT_EQ(host(u), hu);
  EXPECT_EQ(host(v), hv);
  EXPECT_GE(graph.size(), 5u);
  EXPECT_EQ(graph.device(), Device());
  for (int i = 0; i < 4; ++i) {
    const Neighbours others;
    graph();
    step_of(hu, hv, 0.5f);
    expect_near(host(u), hu);
    expect_near(host(v), hv);
  }
}

TEST_F(CapturedGraph, IsLaunchedInTheStreamOfAGuardOrTheOneGiven) {
  const auto u = plate(1), v = plate(2);
  Values hu = drawn(1), hv = drawn(2);
  const Graph graph = capture([&] { step(u, v, 0.5f); });
  Device().synchronize();
  const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
  {
    const StreamGuard guard(s);
    graph();
  }
  s.synchronize();
  graph.launch(t);
  graph(t);
  t.synchronize();
  for (int i = 0; i < 3; ++i) step_of(hu, hv, 0.5f);
  expect_near(host(u), hu);
}

TEST_F(CapturedGraph, KeepsTheMemoryOfArraysThatAreDroppedUntilTheLastLaunchIsDone) {
  const auto out = zeros<float>({rows, columns});
  Device().synchronize();
  const std::size_t before = pool_statistics(Device()).active_bytes;
  in_any_order([&] {
    std::optional<DeviceNDArray<float>> in = plate(3);
    std::optional<Graph> graph = capture([&] { out(all) = *in * 2.f; });
    in.reset();
    const Neighbours others;
    (*graph)();
    graph.reset();  // while the launch may be queued
    const Neighbours later;
    Values want = drawn(3);
    for (float& x : want) x *= 2;
    EXPECT_EQ(host(out), want);
  });
  Device().synchronize();
  runtime::owned_inventory(Device());  // collects what is done
  EXPECT_EQ(pool_statistics(Device()).active_bytes, before) << "only the output is left";
}

TEST_F(CapturedGraph, ALaunchThatIsQueuedOutlivesItsGraph) {
  const auto out = zeros<float>({rows, columns});
  in_any_order([&] {
    const Stream s = stream({.non_blocking = true});
    Device().synchronize();
    for (int k = 0; k < 5; ++k) {
      const auto in = full<float>({rows, columns}, static_cast<float>(k));
      Device().synchronize();
      const Graph graph = capture([&] {
        const DeviceNDArray<float> twice = in + in;
        out(all) = twice + 1.f;
      });
      graph.launch(s);
    }
    const Neighbours others;
    s.synchronize();
    EXPECT_EQ(host(out), Values(rows * columns, 9.f));
  });
}

/// Arrays that the work makes belong to the capture's stream, which nobody else can name.
TEST_F(CapturedGraph, ArraysMadeInItAreReadBehindTheLaunchAndWrittenBeforeTheNext) {
  const auto in = plate(1);
  in_any_order([&] {
    std::optional<DeviceNDArray<float>> made;
    const DeviceNDArray<float> sum = zeros<float>({rows, columns});
    const Graph graph = capture([&] {
      if (!made) made = zeros<float>({rows, columns});
      sum += *made;
      *made += in;
    });
    const Stream s = stream({.non_blocking = true});
    for (int k = 1; k <= 3; ++k) {
      in.fill(static_cast<float>(k));
      Device().synchronize();
      *made += 5.f;  // in the stream of the array
      graph.launch(s);
      const DeviceNDArray<float> got = *made + 0.f;
      EXPECT_EQ(host(got), Values(rows * columns, static_cast<float>(k))) << "zeros is captured";
    }
    s.synchronize();
    EXPECT_EQ(host(sum), Values(rows * columns, 0.f));
  });
}

TEST_F(CapturedGraph, ArraysOfOneCaptureAreReadAndWrittenInAnother) {
  in_any_order([&] {
    std::optional<DeviceNDArray<float>> x;
    const Graph begin = capture([&] { x = full<float>({rows, columns}, 5.f); });
    const Graph step = capture([&] { *x += 1.f; });
    const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
    begin.launch(s);
    *x *= 2.f;  // in the stream of the array
    step.launch(t);
    EXPECT_EQ(host(*x), Values(rows * columns, 11.f));
  });
}

TEST_F(CapturedGraph, KeepsWriteCombinedMemoryByTheAddressOfItsKernels) {
  const auto out = zeros<float>({100});
  in_any_order([&] {
    std::optional<MappedNDArray<float>> in = mapped_array<float>({100}, {.wc = true});
    in->fill(3.f);
    Device().synchronize();
    const Graph graph = capture([&] { out(all) = *in * 2.f; });
    in.reset();
    const auto other = mapped_array<float>({100}, {.wc = true});
    other.fill(-1e9f);
    Device().synchronize();
    graph();
    EXPECT_EQ(host(out), Values(100, 6.f));
  });
}

TEST_F(CapturedGraph, IsRefusedInACallbackWithoutWaitingForAnything) {
  const auto u = plate(1);
  const Graph graph = capture([&] { u += 1.f; });
  const Stream s = stream(), t = stream();
  int refused = 0;
  const auto refuses = [&](const auto& f) {
    try {
      f();
    } catch (const LogicError&) {
      ++refused;
    }
  };
  s.add_callback([&](const Stream&) {
    refuses([&] { graph.launch(t); });
    refuses([&] { graph.update(); });
    EXPECT_EQ(graph.size(), 1u);
  });
  s.synchronize();
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(host(u), drawn(1));
}

TEST_F(CapturedGraph, LaunchesInOtherStreamsComeBehindEarlierOnes) {
  const auto u = plate(1);
  const Graph graph = capture([&] { u += 1.f; });
  launch_behind_a_held_launch(graph, [] {});
  Values want = drawn(1);
  for (float& x : want) x += 3;
  EXPECT_EQ(host(u), want);
}

TEST_F(CapturedGraph, ReadsTheValuesThatItsArraysHaveAtTheLaunch) {
  const auto u = plate(1);
  const DeviceNDArray<float> dt = full<float>({}, 0.f), out = zeros<float>({rows, columns});
  const Graph graph = capture([&] { out(all) = u * dt; });
  for (const float value : {2.f, 3.f}) {
    dt.fill(value);
    graph();
    Values want = drawn(1);
    for (float& x : want) x *= value;
    EXPECT_EQ(host(out), want);
  }
}

TEST_F(CapturedGraph, AGraphMayBePartOfAnother) {
  const auto u = plate(1);
  std::optional<Graph> inner = capture([&] {
    const DeviceNDArray<float> made = u * 2.f;
    u(all) = made + 1.f;
  });
  const Graph outer = capture([&] {
    u += 3.f;
    (*inner)();
    inner->launch(current_stream());
    u += 5.f;
  });
  inner.reset();
  const Neighbours others;
  outer();
  outer();
  Values want = drawn(1);
  for (int k = 0; k < 2; ++k) {
    for (float& x : want) x = ((x + 3) * 2 + 1) * 2 + 1 + 5;
  }
  EXPECT_EQ(host(u), want);
}

TEST_F(CapturedGraph, WhatTheHostWaitsForThrowsAndLeavesTheProgramUsable) {
  const auto u = plate(1);
  Values out(rows * columns);
  const auto flat = u.reshape({rows * columns});
  const Stream s = stream();
  struct Call {
    const char* says;  ///< its name, in the error
    std::function<void()> call;
  };
  const Call calls[] = {
      {"a copy between host and device", [&] { flat.copy_to_host(out); }},
      {"a copy between host and device", [&] { flat.copy_to_device(out); }},
      {"a copy between host and device", [&] { static_cast<void>(sum(u).item()); }},
      {"how many elements a mask selects", [&] { const DeviceNDArray<float> chosen = u(u > 0.f); }},
      {"how many elements a mask selects", [&] { flatnonzero(u); }},
      {"bincount waits for the largest element", [&] { bincount(flat.astype<int>()); }},
      {"Stream::synchronize()", [&] { current_stream().synchronize(); }},
      {"Stream::is_done()", [&] { static_cast<void>(current_stream().is_done()); }},
      {"Device::synchronize()", [&] { Device().synchronize(); }},
      {"a callback", [&] { current_stream().add_callback([](const Stream&) {}); }},
  };
  for (const auto& [says, call] : calls) {
    SCOPED_TRACE(says);
    const std::string message = test::message_of<LogicError>([&] {
      capture([&] {
        u += 1.f;
        call();
      });
    });
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_NE(message.find("captured into a graph"), std::string::npos) << message;
    EXPECT_FALSE(detail::is_capturing());
    current_stream().synchronize();
    ASSERT_EQ(host(u), drawn(1));
  }
  EXPECT_THROW(capture([] { throw std::runtime_error("mine"); }), std::runtime_error);
  EXPECT_THROW(capture({}), LogicError);
  const Graph graph = capture([&] { u += 1.f; });
  graph();
}

TEST_F(CapturedGraph, RefusesStreamsOfOtherDevicesAndMovedFromGraphs) {
  Graph graph = capture([] {});
  graph();  // of nothing
  EXPECT_EQ(graph.size(), 0u);
  if (!Device().is_cpu()) {
    EXPECT_NE(test::message_of<LogicError>([&] {
                graph.launch(default_stream(Device::cpu()));
              }).find("of cuda:0 is launched in a stream of cpu"),
              std::string::npos);
  }
  const Graph moved = std::move(graph);
  EXPECT_THROW(graph(), LogicError);  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(static_cast<void>(graph.size()), LogicError);
  moved();
}

TEST_F(CapturedGraph, ThreadsCaptureAndLaunchSideBySide) {
  std::vector<DeviceNDArray<float>> arrays;
  for (int k = 0; k < 4; ++k) arrays.push_back(zeros<float>({rows, columns}));
  Device().synchronize();
  const Graph shared = capture([&] { arrays[3] += 1.f; });
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) {
    threads.emplace_back([&, k, device = Device()] {
      const DeviceGuard on(device);
      const Stream s = stream();
      const StreamGuard guard(s);
      for (int i = 0; i < 10; ++i) {
        const Graph own = capture([&] {
          const DeviceNDArray<float> made = arrays[static_cast<std::size_t>(k)] + 1.f;
          arrays[static_cast<std::size_t>(k)](all) = made;
        });
        own();
        shared();
      }
      s.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(host(arrays[static_cast<std::size_t>(k)]), Values(rows * columns, 10.f));
  }
  EXPECT_EQ(host(arrays[3]), Values(rows * columns, 30.f)) << "launches of one graph keep order";
}

}  // namespace
}  // namespace quarry
