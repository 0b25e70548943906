// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include <quarry/base/captures.hpp>
#include <quarry/memory/graph.hpp>

#include "memory/captured_step.hpp"

/// Graphs whose function is captured anew.
namespace quarry {
namespace {

using namespace test;

TEST_F(CapturedGraph, UpdateTakesOtherArraysAndNumbers) {
  DeviceNDArray<float> u = plate(1), v = plate(2);
  float factor = 0.5f;
  const Graph graph = capture([&] { step(u, v, factor); });
  const auto old = u;
  factor = 0.25f;
  u = plate(4), v = plate(5);
  graph();
  Values hu = drawn(1), hv = drawn(2);
  step_of(hu, hv, 0.5f);
  expect_near(host(old), hu);
  EXPECT_EQ(host(u), drawn(4)) << "before update() the graph has the arrays of its capture";
  const std::size_t nodes = graph.size();
  graph.update();
  EXPECT_EQ(graph.size(), nodes);
  hu = drawn(4), hv = drawn(5);
  for (int k = 0; k < 2; ++k) {
    const Neighbours others;
    graph();
    step_of(hu, hv, 0.25f);
  }
  expect_near(host(u), hu);
  expect_near(host(v), hv);
}

TEST_F(CapturedGraph, UpdateMayChangeTheStructure) {
  const auto u = plate(1);
  int repetitions = 1;
  const Graph graph = capture([&] {
    for (int i = 0; i < repetitions; ++i) u += 1.f;
  });
  EXPECT_EQ(graph.size(), 1u);
  for (const int count : {3, 2, 5}) {
    repetitions = count;
    graph.update();
    EXPECT_EQ(graph.size(), static_cast<std::size_t>(count));
    graph();
  }
  Values want = drawn(1);
  for (float& x : want) x += 10;
  EXPECT_EQ(host(u), want);
}

TEST_F(CapturedGraph, AGraphThatIsBuiltAnewComesBehindWhatItWas) {
  const auto u = plate(1);
  int repetitions = 1;
  const Graph graph = capture([&] {
    for (int i = 0; i < repetitions; ++i) u += 1.f;
  });
  launch_behind_a_held_launch(graph, [&] {
    repetitions = 2;
    graph.update();
  });
  Values want = drawn(1);
  for (float& x : want) x += 4;
  EXPECT_EQ(host(u), want);
}

TEST_F(CapturedGraph, AnArrayThatAnEarlierCaptureMadeIsWrittenAfterAnUpdate) {
  in_any_order([&] {
    const auto in = plate(1);
    std::optional<DeviceNDArray<float>> made;
    const Graph graph = capture([&] {
      if (!made) made = zeros<float>({rows, columns});
      (*made)(all) = in * 2.f;
    });
    const Stream s = stream({.non_blocking = true});
    for (const float value : {1.f, 2.f, 3.f}) {
      in.fill(value);
      Device().synchronize();
      graph.launch(s);
      EXPECT_EQ(host(*made), Values(rows * columns, 2 * value));
      graph.update();
    }
  });
}

TEST_F(CapturedGraph, AnUpdateThatThrowsLeavesTheGraph) {
  const auto u = plate(1);
  bool fails = false;
  const Graph graph = capture([&] {
    u += 1.f;
    if (fails) throw std::runtime_error("not now");
  });
  fails = true;
  EXPECT_THROW(graph.update(), std::runtime_error);
  EXPECT_FALSE(detail::is_capturing());
  graph();
  Values want = drawn(1);
  for (float& x : want) x += 1;
  EXPECT_EQ(host(u), want);
}

TEST_F(CapturedGraph, AnUpdateDoesNotTouchLaunchesThatAreQueued) {
  const auto out = zeros<float>({rows, columns});
  const Stream s = stream({.non_blocking = true});
  float value = 0;
  const Graph graph = capture([&] {
    const DeviceNDArray<float> made = full<float>({rows, columns}, value);
    out += made * 2.f;
  });
  Device().synchronize();
  float total = 0;
  for (int k = 1; k <= 20; ++k) {
    value = static_cast<float>(k);
    graph.update();
    graph.launch(s);
    total += 2 * value;
  }
  s.synchronize();
  EXPECT_EQ(host(out), Values(rows * columns, total));
}

TEST_F(CapturedGraph, ACloneHasTemporariesOfItsOwn) {
  const auto a = zeros<float>({rows, columns}), b = zeros<float>({rows, columns});
  const DeviceNDArray<float>* to = &a;
  const Graph graph = capture([&] {
    const DeviceNDArray<float> made = *to + 1.f;
    (*to)(all) = made;
  });
  to = &b;
  std::optional<Graph> clone = graph.clone();
  const Graph handle = graph;
  (*clone)();
  handle();
  clone.reset();
  graph();
  EXPECT_EQ(host(a), Values(rows * columns, 2.f));
  EXPECT_EQ(host(b), Values(rows * columns, 1.f));
}

}  // namespace
}  // namespace quarry
