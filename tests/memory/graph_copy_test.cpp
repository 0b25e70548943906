// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quarry/memory/graph.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/memory/transfer.hpp>

#include "memory/captured_step.hpp"
#include "message_of.hpp"

/// Copies between page-locked memory and arrays as parts of graphs.
namespace quarry {
namespace {

using namespace test;

template <class T>
using Pinned = std::vector<T, PinnedAllocator<T>>;

constexpr std::size_t count = rows * columns;

/// Each launch reads what the host memory has then, and leaves its results there.
TEST_F(CapturedGraph, CopiesPageLockedMemoryAtEveryLaunch) {
  const auto u = zeros<float>({rows, columns}), v = zeros<float>({rows, columns});
  Pinned<float> in(count), out(count);
  in_any_order([&] {
    const Graph graph = capture([&] {
      u.copy_to_device(in, current_stream());
      v(all) = u * 2.f + 1.f;
      v.copy_to_host(out, current_stream());
    });
    std::ranges::fill(out, -1.f);
    default_stream().synchronize();
    EXPECT_EQ(out, Pinned<float>(count, -1.f)) << "nothing runs before the first launch";
    for (const float seed : {1.f, 2.f, 3.f}) {
      Values want = drawn(seed);
      std::ranges::copy(want, in.begin());
      graph();
      default_stream().synchronize();
      for (float& x : want) x = x * 2 + 1;
      EXPECT_TRUE(std::ranges::equal(out, want)) << seed;
    }
  });
}

TEST_F(CapturedGraph, CopiesViewsAndOtherTypes) {
  const auto u = zeros<double>({columns, rows});
  const auto v = zeros<float>({rows, columns});
  Pinned<float> in(count), every(count / 2);
  Pinned<unsigned char> bytes(count);
  const std::span<bool> positive(reinterpret_cast<bool*>(bytes.data()), count);
  const Graph graph = capture([&] {
    u.T().copy_to_device(in, current_stream());  // converts, across the rows
    v(all) = u.T() - 1.5;
    v(all, range(_, _, 2)).copy_to_host(every, current_stream());
    const DeviceNDArray<bool> is_positive = v > 0.f;
    is_positive.copy_to_host(positive, current_stream());
  });
  for (const float seed : {4.f, 5.f}) {
    const Values values = drawn(seed);
    std::ranges::copy(values, in.begin());
    graph();
    default_stream().synchronize();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(positive[i], values[i] > 1.5f) << i;
      EXPECT_EQ(every[i / 2], values[i / 2 * 2] - 1.5f) << i;
    }
  }
}

/// A block of an image: rows of the host memory that are not one after another.
TEST_F(CapturedGraph, CopiesRowsOfPageLockedMemory) {
  constexpr std::int64_t width = 1024, part = 768;
  Pinned<float> image(rows * width, -1.f);
  const auto u = arange<float>(rows * part).reshape({rows, part});
  const HostRef block{reinterpret_cast<std::byte*>(image.data() + 100), dtype_of<float>,
                      Layout{{rows, part}, {width * 4, 4}}};
  const Graph graph = capture([&] { download(block, u.ref(), current_stream(), false, nullptr); });
  graph();
  default_stream().synchronize();
  for (std::int64_t i = 0; i < rows * width; ++i) {
    const std::int64_t row = i / width, column = i % width - 100;
    const bool is_in = column >= 0 && column < part;
    ASSERT_EQ(image[static_cast<std::size_t>(i)],
              is_in ? static_cast<float>(row * part + column) : -1.f)
        << i;
  }
}

TEST_F(CapturedGraph, KeepsPageLockedMemoryThatIsDropped) {
  const auto u = zeros<float>({rows, columns}), v = ones<float>({rows, columns});
  in_any_order([&] {
    v(all) = 3.f;
    Device().synchronize();
    std::optional<Pinned<float>> in(std::in_place, count, 7.f), out(std::in_place, count, 0.f);
    const Graph graph = capture([&] {
      u.copy_to_device(*in, current_stream());
      v.copy_to_host(*out, current_stream());
    });
    in.reset();
    out.reset();
    std::vector<Pinned<float>> others(4, Pinned<float>(count, -1e9f));
    graph();
    EXPECT_EQ(host(u), Values(count, 7.f));
    for (const Pinned<float>& other : others) EXPECT_EQ(other, Pinned<float>(count, -1e9f));
  });
}

TEST_F(CapturedGraph, CopiesByAddressAtEveryLaunch) {
  const auto u = zeros<float>({rows, columns});
  Pinned<float> in(count, 1.f), out(count);
  const Graph graph = capture([&] {
    memcpy_htod_async(u, in, current_stream());
    memcpy_dtoh_async(out, u, current_stream());
  });
  for (const float value : {2.f, 3.f}) {
    std::ranges::fill(in, value);
    graph();
    default_stream().synchronize();
    EXPECT_EQ(out, Pinned<float>(count, value));
  }
}

TEST_F(CapturedGraph, RefusesCopiesThatTheHostPacks) {
  if (Device().is_cpu()) GTEST_SKIP() << "the CPU device copies any layout in its stream";
  Pinned<float> every_second(2 * count);
  const auto u = plate(1).reshape({static_cast<std::int64_t>(count)});
  const HostRef host{reinterpret_cast<std::byte*>(every_second.data()), dtype_of<float>,
                     Layout{{static_cast<std::int64_t>(count)}, {8}}};
  const std::string message = test::message_of<LogicError>(
      [&] { capture([&] { upload(u.ref(), host, current_stream(), false, nullptr); }); });
  EXPECT_NE(message.find("runs of 4 bytes, which the host packs"), message.npos) << message;
}

TEST_F(CapturedGraph, RefusesCopiesOfMemoryThatMayGoAndThoseThatWait) {
  const auto u = plate(1);
  Values pageable(count);
  Pinned<float> pinned(count);
  const auto message = [&](const auto& copy) {
    return test::message_of<LogicError>([&] { capture(copy); });
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != text.npos;
  };
  const char* const not_locked = "only if the host memory is page-locked memory of";
  EXPECT_TRUE(has(message([&] { u.copy_to_device(pageable, current_stream()); }), not_locked));
  EXPECT_TRUE(has(message([&] { u.copy_to_host(pageable, current_stream()); }), not_locked));
  EXPECT_TRUE(has(message([&] { memcpy_htod_async(u, pageable, current_stream()); }), not_locked));
  EXPECT_TRUE(has(message([&] { memcpy_dtoh_async(pageable, u, current_stream()); }), not_locked));
  {
    const RegisteredHostMemory registered(pageable.data(), count * sizeof(float));
    EXPECT_TRUE(has(message([&] { u.copy_to_host(pageable, current_stream()); }), not_locked));
  }
  EXPECT_TRUE(has(message([&] { u.copy_to_device(pinned); }), "one with a stream can"));
  EXPECT_TRUE(has(message([&] { u.copy_to_host(pinned); }), "one with a stream can"));
  EXPECT_EQ(host(u), drawn(1));
}

}  // namespace
}  // namespace quarry
