// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <quarry/base/captures.hpp>
#include <quarry/memory/graph_memory.hpp>

#include "fake_driver/entry.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

/// Work of the library that the program captures into a graph with the driver's own calls.
namespace quarry {
namespace {

namespace entry = fake::entry;
namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;
using Values = std::vector<float>;

constexpr std::int64_t rows = 40, columns = 500;

/// A capture of a stream while it lives, and then the graph.
class Graph {
 public:
  explicit Graph(const Stream& stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL)
      : stream_(stream), memory_(stream) {
    EXPECT_EQ(entry::begin_capture(native(stream), mode), CUDA_SUCCESS);
  }
  ~Graph() {
    if (!has_ended_) end();
    EXPECT_EQ(entry::graph_exec_destroy(graph_), CUDA_SUCCESS);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void end() {
    has_ended_ = true;
    CUgraph captured = nullptr;
    ASSERT_EQ(entry::end_capture(native(stream_), &captured), CUDA_SUCCESS)
        << "a call has broken the capture";
    memory_.end();
    ASSERT_EQ(entry::graph_instantiate(&graph_, captured, 0), CUDA_SUCCESS);
    ASSERT_EQ(entry::graph_destroy(captured), CUDA_SUCCESS);
  }
  void launch(const Stream& stream) const {
    ASSERT_EQ(entry::graph_launch(graph_, native(stream)), CUDA_SUCCESS);
  }
  const GraphMemory& memory() const { return memory_; }

 private:
  static CUstream native(const Stream& stream) {
    return reinterpret_cast<CUstream>(stream.handle());
  }

  const Stream stream_;
  GraphMemory memory_;
  CUgraphExec graph_ = nullptr;
  bool has_ended_ = false;
};

class CapturedWork : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "captures on the fake driver";
    work(stream_, rows_of(0), rows_of(0));  // kernels are loaded
    stream_.synchronize();
  }
  void TearDown() override { fake::set_behaviour({}); }

  static Values values(float seed) {
    Values all(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = seed + static_cast<float>(i % 7);
    return all;
  }
  static DeviceNDArray<float> rows_of(float seed, const Stream& stream = default_stream()) {
    const auto made = to_device(values(seed), {.stream = stream}).reshape({rows, columns});
    Device().synchronize();
    return made;
  }

  /// Uses temporaries, a workspace, a fill, a copy, and `b`, in the stream.
  static void work(const Stream& stream, const DeviceNDArray<float>& out,
                   const DeviceNDArray<float>& in, float addend = 2) {
    const StreamGuard guard(stream);
    const auto b = full<float>({rows, columns}, addend);
    const DeviceNDArray<float> c = in + b;
    const DeviceNDArray<float> copy = c.copy();
    const DeviceNDArray<float> total = sum(copy), means = sum(c, 1, {.keepdims = true});
    out(all) = copy + means + total * 0.001f;
  }
  static Values expected(const Values& in, float addend = 2) {
    double total = 0;
    Values result(in.size());
    for (const float x : in) total += double{x} + double{addend};
    for (std::size_t row = 0; row < rows; ++row) {
      double mean = 0;
      const std::size_t first = row * columns;
      for (std::size_t i = first; i < first + columns; ++i) mean += double{in[i]} + double{addend};
      for (std::size_t i = first; i < first + columns; ++i) {
        result[i] = static_cast<float>(double{in[i]} + double{addend} + mean + total * 0.001);
      }
    }
    return result;
  }
  static void check(const DeviceNDArray<float>& out, const Values& want) {
    Values got(want.size());
    out.reshape({rows * columns}).copy_to_host(got);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-4f * std::abs(want[i])) << i;
    }
  }

  static std::size_t active() { return pool_statistics(Device()).active_bytes; }

  /// Takes and overwrites as much memory as the work has used and more.
  static void overwrite(const Stream& stream) {
    std::vector<DeviceNDArray<float>> taken;
    for (int k = 0; k < 12; ++k) {
      taken.push_back(full<float>({rows, columns}, -1e9f, {.stream = stream}));
      taken.push_back(full<float>({rows}, -1e9f, {.stream = stream}));
      taken.push_back(full<float>({1}, -1e9f, {.stream = stream}));
    }
    Device().synchronize();
  }

  const Stream stream_ = stream({.non_blocking = true}), other_ = stream({.non_blocking = true});
};

TEST_F(CapturedWork, FindsItsMemoryAtEveryLaunch) {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                          CU_STREAM_CAPTURE_MODE_RELAXED}) {
    for (const bool is_blocking : {false, true}) {
      for (const bool is_home : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << "mode " << mode << ", blocking " << is_blocking << ", home " << is_home);
        const Stream s = stream({.non_blocking = !is_blocking});
        const Stream home = is_home ? s : default_stream();
        auto in = rows_of(0, home), out = rows_of(0, home);
        Graph graph(s, mode);
        work(s, out, in);
        ASSERT_NO_FATAL_FAILURE(graph.end());
        overwrite(s);
        overwrite(other_);
        for (const float seed : {1.f, 2.f, 3.f}) {
          in.copy_to_device(rows_of(seed));
          Device().synchronize();
          graph.launch(s);
          s.synchronize();
          SCOPED_TRACE(seed);
          ASSERT_NO_FATAL_FAILURE(check(out, expected(values(seed))));
          overwrite(s);
        }
      }
    }
  }
}

TEST_F(CapturedWork, KeepsArraysThatAreDroppedAfterIt) {
  auto out = rows_of(0);
  std::optional<DeviceNDArray<float>> in = rows_of(5, other_), home = rows_of(7, stream_);
  Graph graph(stream_);
  work(stream_, out, *in);
  {
    const StreamGuard guard(stream_);
    out += *home;
  }
  ASSERT_NO_FATAL_FAILURE(graph.end());
  in.reset();
  home.reset();
  overwrite(other_);
  overwrite(stream_);
  graph.launch(stream_);
  stream_.synchronize();
  Values want = expected(values(5));
  const Values added = values(7);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] += added[i];
  check(out, want);
}

TEST_F(CapturedWork, TheMemoryIsFreeAfterTheLastGraphAndNotBefore) {
  auto out = rows_of(0);
  std::optional<DeviceNDArray<float>> in = rows_of(0);
  Device().synchronize();
  const std::size_t before = active();
  std::optional<Graph> first(std::in_place, stream_);
  work(stream_, out, *in);
  ASSERT_NO_FATAL_FAILURE(first->end());
  const std::size_t of_one = active() - before;
  EXPECT_GE(of_one, 3u * rows * columns * sizeof(float)) << "b, c and the copy";
  std::optional<Graph> second(std::in_place, other_);
  {
    const StreamGuard guard(other_);
    out(all) = *in * 2.f;
  }
  ASSERT_NO_FATAL_FAILURE(second->end());
  in.reset();
  EXPECT_EQ(active(), before + of_one) << "both use the input";
  std::optional<GraphMemory> copy = first->memory();
  first.reset();
  EXPECT_EQ(active(), before + of_one);
  second.reset();
  EXPECT_EQ(active(), before + of_one) << "another handle to the memory";
  copy.reset();
  EXPECT_LT(active(), before) << "the input too";
  EXPECT_FALSE(detail::is_capturing());
}

TEST_F(CapturedWork, NothingAsksForTheStreamOrWaitsForAnother) {
  auto out = rows_of(0), in = rows_of(0);
  const Stream empty = stream({.non_blocking = true});  // without memory of its own
  for (const Stream& s : {stream_, empty}) {
    // memory that has other users, and free memory in this stream and in others
    std::optional<DeviceNDArray<float>> shared = rows_of(1, s), elsewhere = rows_of(1, other_);
    work(other_, *shared, *elsewhere);
    work(s, *elsewhere, *shared);
    rows_of(1, other_);
    std::optional<DeviceNDArray<float>> read = rows_of(1, s);
    fake::set_behaviour({.eagerness = 0, .polls_run_work = false});
    {
      const StreamGuard guard(other_);
      out += *read;
    }
    read.reset();  // its memory waits for the other stream
    Graph graph(s);
    shim::reset_counts();
    for (int k = 0; k < 20; ++k) work(s, out, in);  // more memory than there is
    shared.reset();
    elsewhere.reset();
    for (const auto call :
         {DriverFunction::StreamQuery, DriverFunction::EventQuery, DriverFunction::EventRecord,
          DriverFunction::StreamWaitEvent, DriverFunction::StreamSynchronize,
          DriverFunction::EventSynchronize, DriverFunction::CtxSynchronize}) {
      EXPECT_EQ(shim::calls(call), 0);
    }
    {  // new memory for others comes from elsewhere, and nobody asks this stream
      const Stream late = stream({.non_blocking = true});
      std::vector<DeviceNDArray<float>> taken;
      const auto take = [&] { taken.push_back(full<float>({100, columns}, 0, {.stream = late})); };
      for (int k = 0; k < 20; ++k) take();
      std::thread(take).join();
    }
    ASSERT_NO_FATAL_FAILURE(graph.end());
    fake::set_behaviour({});
    Device().synchronize();
    graph.launch(s);
    s.synchronize();
    ASSERT_NO_FATAL_FAILURE(check(out, expected(values(0))));
  }
}

TEST_F(CapturedWork, TrimLeavesTheMemoryOfTheStream) {
  auto out = rows_of(0), in = rows_of(0);
  zeros<float>({1 << 22}, {.stream = stream_});
  zeros<float>({1 << 22}, {.stream = other_});
  Device().synchronize();
  Graph graph(stream_, CU_STREAM_CAPTURE_MODE_RELAXED);
  const std::size_t held = pool_statistics(Device()).held_bytes;
  shim::reset_counts();
  trim_pool(Device());
  EXPECT_LT(pool_statistics(Device()).held_bytes, held) << "that of the other stream";
  EXPECT_EQ(shim::calls(DriverFunction::EventRecord), 1) << "in the other stream";
  work(stream_, out, in);
  ASSERT_NO_FATAL_FAILURE(graph.end());
  graph.launch(stream_);
  stream_.synchronize();
  check(out, expected(values(0)));
}

/// The graph is gone, but a stream still reads what it has used.
TEST_F(CapturedWork, TheMemoryIsFreeWhenItsOtherUsersAreDone) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    auto out = rows_of(0);
    std::optional<DeviceNDArray<float>> in = rows_of(4, stream_);
    {
      Graph graph(stream_);
      work(stream_, out, *in);
      ASSERT_NO_FATAL_FAILURE(graph.end());
      fake::set_behaviour({.seed = seed, .eagerness = 0, .polls_run_work = false});
      const StreamGuard guard(other_);
      out(all) = *in * 2.f;
      in.reset();
    }
    overwrite(stream_);
    fake::set_behaviour({});
    Values want = values(4);
    for (float& x : want) x *= 2;
    ASSERT_NO_FATAL_FAILURE(check(out, want)) << "seed " << seed;
  }
}

TEST_F(CapturedWork, WhatCannotBeCapturedThrowsAndLeavesTheCapture) {
  auto out = rows_of(0), in = rows_of(0);
  Values host(rows * columns);
  zeros<float>({1 << 24}, {.stream = other_});  // free for work that can wait for the stream
  Graph graph(stream_);
  EXPECT_THROW(GraphMemory{stream_}, LogicError);
  EXPECT_THROW(GraphMemory{default_stream(Device::cpu())}, LogicError);
  const auto flat = in.reshape({rows * columns});
  EXPECT_THROW(flat.copy_to_device(host, stream_), LogicError);
  EXPECT_THROW(flat.copy_to_host(host, stream_), LogicError);
  {
    const StreamGuard guard(stream_);  // nobody would look at what its launches find
    const auto positions = zeros<std::int64_t>({3});
    EXPECT_THROW(flat(positions), LogicError);
    EXPECT_NO_THROW(take<IndexMode::clip>(flat, positions));
  }
  EXPECT_THROW(stream_.add_callback([](const Stream&) {}), LogicError);
  EXPECT_THROW(static_cast<void>(stream_.async_done()), LogicError);
  {
    const ResourceGuard guard(driver_pool_resource(Device()));
    EXPECT_THROW(zeros<float>({100}, {.stream = stream_}), LogicError);
  }
  fake::set_memory(0, fake::live().device_bytes);
  EXPECT_THROW(zeros<float>({1 << 24}, {.stream = stream_}), MemoryError);
  fake::set_memory(0, std::size_t{1} << 30);
  work(stream_, out, in);
  ASSERT_NO_FATAL_FAILURE(graph.end());
  graph.launch(stream_);
  stream_.synchronize();
  check(out, expected(values(0)));
}

/// Also kernels that nobody has used before.
TEST_F(CapturedWork, LoadsKernels) {
  auto out = rows_of(0), in = rows_of(3);
  Graph graph(stream_);
  {
    const StreamGuard guard(stream_);
    out(all) = in * in - in / 3.f + maximum(in, 5.f) * 0.125f;
  }
  ASSERT_NO_FATAL_FAILURE(graph.end());
  graph.launch(stream_);
  stream_.synchronize();
  Values want = values(3);
  for (float& x : want) x = x * x - x / 3.f + std::max(x, 5.f) * 0.125f;
  check(out, want);
}

/// Other threads work on, with memory that has several users.
TEST_F(CapturedWork, OtherThreadsAllocateAndFree) {
  auto out = rows_of(0), in = rows_of(3);
  Graph graph(stream_);
  std::thread other([&] {
    for (int k = 0; k < 50; ++k) {
      const auto x = full<float>({rows, columns}, static_cast<float>(k), {.stream = other_});
      const StreamGuard guard(default_stream());
      const DeviceNDArray<float> y = full<float>({rows, columns}, 1.f) * 2.f;
      const StreamGuard both(other_);
      const DeviceNDArray<float> z = x + y;
    }
  });
  for (int k = 0; k < 20; ++k) work(stream_, out, in);
  other.join();
  ASSERT_NO_FATAL_FAILURE(graph.end());
  for (int k = 0; k < 3; ++k) {
    graph.launch(stream_);
    overwrite(other_);
    stream_.synchronize();
    ASSERT_NO_FATAL_FAILURE(check(out, expected(values(3))));
  }
}

}  // namespace
}  // namespace quarry
