// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <quarry/base/captures.hpp>
#include <quarry/memory/graph.hpp>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"
#include "message_of.hpp"
#include "runtime/inventory.hpp"

/// Work of the library that is captured once and launched many times.
namespace quarry {
namespace {

using Values = std::vector<float>;

constexpr std::int64_t rows = 30, columns = 40;

Values drawn(float seed) {
  Values all(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = seed + static_cast<float>(i % 7) - 2 * static_cast<float>(i % 3);
  }
  return all;
}
DeviceNDArray<float> plate(float seed) { return to_device(drawn(seed)).reshape({rows, columns}); }
Values host(const DeviceNDArray<float>& a) {
  Values got(static_cast<std::size_t>(a.size()));
  a.reshape({a.size()}).copy_to_host(got);
  return got;
}

/// A temporary, a reduction with a workspace, a fill, a copy and a view that is written.
void step(const DeviceNDArray<float>& u, const DeviceNDArray<float>& v, float factor) {
  const DeviceNDArray<float> sums = sum(u, 1, {.keepdims = true});
  const DeviceNDArray<float> scaled = u * factor, copy = scaled.copy();
  v(all) = copy + sums * 0.01f;
  v(0) = 1.f;
  u(range(1, -1), all) = v(range(2, _), all) - v(range(_, -2), all);
}
void step_of(Values& u, Values& v, float factor) {
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) sum += double{u[i * columns + j]};
    for (std::size_t j = 0; j < columns; ++j) {
      v[i * columns + j] = static_cast<float>(double{u[i * columns + j] * factor} + sum * 0.01);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) v[j] = 1;
  for (std::size_t i = 1; i + 1 < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      u[i * columns + j] = v[(i + 1) * columns + j] - v[(i - 1) * columns + j];
    }
  }
}
void expect_near(const Values& got, const Values& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-4f * (1 + std::abs(want[i]))) << i;
  }
}

/// Takes as much free memory as a step uses and more, and writes it: the memory of a graph must not
/// be among it, neither before its launches nor while they run.
class Neighbours {
 public:
  explicit Neighbours(const Stream& stream = default_stream()) {
    for (int k = 0; k < 20; ++k) {
      arrays_.push_back(full<float>({rows, columns}, value, {.stream = stream}));
      arrays_.push_back(full<float>({rows, 1}, value, {.stream = stream}));
    }
  }
  ~Neighbours() {
    for (const auto& a : arrays_) {
      EXPECT_EQ(host(a), Values(static_cast<std::size_t>(a.size()), value));
    }
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

 private:
  static constexpr float value = -1e9f;
  std::vector<DeviceNDArray<float>> arrays_;
};

/// On the fake driver work runs as late as it may, in another order for each seed.
template <class F>
void in_any_order(const F& f) {
  if (test::kind() != test::Kind::fake) return f();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    fake::set_behaviour({.seed = seed, .eagerness = 0, .polls_run_work = false});
    f();
    fake::set_behaviour({});
  }
}

class CapturedGraph : public testing::Test {
 protected:
  void SetUp() override { step(plate(0), plate(0), 1); }  // kernels are loaded
};

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

TEST_F(CapturedGraph, LaunchesInOtherStreamsComeBehindEarlierOnes) {
  const auto u = plate(1);
  const Graph graph = capture([&] { u += 1.f; });
  const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
  graph.launch(t);  // what the first launch loads is there
  Device().synchronize();
  test::Gate gate(s);
  graph.launch(s);
  graph.launch(t);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(t.is_done());
  gate.open();
  t.synchronize();
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
  const auto mask = to_device(std::vector<int>{1, 0, 1});
  Values out(rows * columns);
  const auto flat = u.reshape({rows * columns});
  const Stream s = stream();
  struct Call {
    const char* says;  ///< its name, in the error
    std::function<void()> call;
  };
  const Call calls[] = {
      {"copies between host and device", [&] { flat.copy_to_host(out); }},
      {"copies between host and device", [&] { flat.copy_to_device(out); }},
      {"copies between host and device", [&] { static_cast<void>(sum(u).item()); }},
      {"how many elements a mask selects", [&] { const DeviceNDArray<float> chosen = u(u > 0.f); }},
      {"whether a position is outside", [&] { const DeviceNDArray<float> chosen = flat(mask); }},
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
