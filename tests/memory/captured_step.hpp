// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"

/// A step of a program, on the library and on the host, for tests that capture it.
namespace quarry::test {

using Values = std::vector<float>;

inline constexpr std::int64_t rows = 30, columns = 40;

inline Values drawn(float seed) {
  Values all(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = seed + static_cast<float>(i % 7) - 2 * static_cast<float>(i % 3);
  }
  return all;
}
inline DeviceNDArray<float> plate(float seed) {
  return to_device(drawn(seed)).reshape({rows, columns});
}
inline Values host(const DeviceNDArray<float>& a) {
  Values got(static_cast<std::size_t>(a.size()));
  a.reshape({a.size()}).copy_to_host(got);
  return got;
}

/// Launches the graph in a stream that is held and then, after `between`, in another stream, where
/// it has to wait for the first launch.
template <class F>
void launch_behind_a_held_launch(const Graph& graph, const F& between) {
  const Stream s = stream({.non_blocking = true}), t = stream({.non_blocking = true});
  graph.launch(t);  // what the first launch loads is there
  Device().synchronize();
  Gate gate(s);
  graph.launch(s);
  between();
  graph.launch(t);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(t.is_done());
  gate.open();
  t.synchronize();
}

/// A temporary, a reduction with a workspace, a fill, a copy and a view that is written.
inline void step(const DeviceNDArray<float>& u, const DeviceNDArray<float>& v, float factor) {
  const DeviceNDArray<float> sums = sum(u, 1, {.keepdims = true});
  const DeviceNDArray<float> scaled = u * factor, copy = scaled.copy();
  v(all) = copy + sums * 0.01f;
  v(0) = 1.f;
  u(range(1, -1), all) = v(range(2, _), all) - v(range(_, -2), all);
}
inline void step_of(Values& u, Values& v, float factor) {
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
inline void expect_near(const Values& got, const Values& want) {
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

}  // namespace quarry::test
