// SPDX-License-Identifier: BSD-3-Clause
// Elementwise expressions and copies that change the order of elements.
#include <Eigen/Core>

#include <tuple>

#include "device.hpp"

namespace {

using namespace bench;
using Eigen::half;

const qy::Range every_second = qy::range(qy::_, qy::_, 2), every_third = qy::range(qy::_, qy::_, 3);

template <class T>
void add(Run& run) {
  const Array<T>&a = input<T>(0), &b = input<T>(1);
  Array<T> out = poisoned<T>(a.shape());
  const auto work = [&] { out.assign(a + b); };
  work();
  check(
      out,
      [](std::int64_t i) { return static_cast<T>(uniform(0, i)) + static_cast<T>(uniform(1, i)); },
      sizeof(T) == 2 ? 1e-3 : 1e-7);
  run.bytes = 3. * sizeof(T) * static_cast<double>(large());
  run.size = std::to_string(large());
  on_device(run, work);
}

template <class T>
void fused(Run& run) {
  const Array<T>&a = input<T>(0), &b = input<T>(1), &c = input<T>(2), &d = input<T>(3);
  Array<T> out;
  const auto work = [&] { out = a * b + qy::sin(c) * T(2) - d; };
  work();
  const auto expected = [](std::int64_t i) {
    const double x = uniform(0, i), y = uniform(1, i), z = uniform(2, i), w = uniform(3, i);
    return x * y + std::sin(z) * 2 - w;
  };
  check(out, expected, sizeof(T) == 4 ? 1e-6 : 1e-14);
  run.bytes = 5. * sizeof(T) * static_cast<double>(large());
  run.size = std::to_string(large());
  on_device(run, work);
}

void two_outputs(Run& run) {
  const Array<float>&a = input<float>(0), &b = input<float>(1);
  Array<float> sum, difference;
  const auto work = [&] { std::tie(sum, difference) = qy::eval(a + b, a - b); };
  work();
  check(
      sum, [](std::int64_t i) { return uniform(0, i) + uniform(1, i); }, 1e-7);
  check(
      difference, [](std::int64_t i) { return uniform(0, i) - uniform(1, i); }, 1e-7);
  run.bytes = 16. * static_cast<double>(large());
  run.size = std::to_string(large());
  on_device(run, work);
}

void where(Run& run) {
  const Array<float>&x = input<float>(0), &a = input<float>(1), &b = input<float>(2);
  Array<float> out;
  const auto work = [&] { out = qy::where(x > 0.5f, a, b); };
  work();
  check(
      out, [](std::int64_t i) { return uniform(uniform(0, i) > 0.5f ? 1 : 2, i); }, 0);
  run.bytes = 16. * static_cast<double>(large());
  run.size = std::to_string(large());
  on_device(run, work);
}

void broadcast(Run& run) {
  const std::int64_t n = side();
  const auto column = random_array<float>(0, n).reshape({n, 1});
  const auto line = random_array<float>(1, n).reshape({1, n});
  Array<float> out;
  const auto work = [&] { out = column + line; };
  work();
  check(
      out, [n](std::int64_t i) { return uniform(0, i / n) + uniform(1, i % n); }, 1e-7);
  run.bytes = 4. * static_cast<double>(n * n + 2 * n);
  run.size = times(n, n);
  on_device(run, work);
}

/// m[::2, ::3]: of the rows that it takes, every memory line has to be read.
void strided_copy(Run& run) {
  const std::int64_t n = side(), columns = (n + 2) / 3;
  const auto part = input<float>(0).reshape({n, n})(every_second, every_third);
  Array<float> out;
  const auto work = [&] { out = part.copy(); };
  work();
  check(
      out, [=](std::int64_t i) { return uniform(0, i / columns * 2 * n + i % columns * 3); }, 0);
  run.bytes = 4. * static_cast<double>(n / 2 * n + n / 2 * columns);
  run.size = times(n, n) + " [::2, ::3]";
  on_device(run, work);
}

void transpose_copy(Run& run) {
  const std::int64_t n = side();
  const auto transposed = input<float>(0).reshape({n, n}).transpose();
  Array<float> out;
  const auto work = [&] { out = transposed.copy(); };
  work();
  check(
      out, [n](std::int64_t i) { return uniform(0, i % n * n + i / n); }, 0);
  run.bytes = 8. * static_cast<double>(large());
  run.size = times(n, n);
  on_device(run, work);
}

void permute_copy(Run& run) {
  const int log2 = log2_size();
  const std::int64_t p = std::int64_t{1} << log2 / 3, q = std::int64_t{1} << (log2 + 1) / 3;
  const std::int64_t r = large() / p / q;
  const auto permuted = input<float>(0).reshape({p, q, r}).transpose({2, 0, 1});
  Array<float> out;
  const auto work = [&] { out = permuted.copy(); };
  work();
  check(
      out, [=](std::int64_t i) { return uniform(0, i % (p * q) * r + i / (p * q)); }, 0);
  run.bytes = 8. * static_cast<double>(large());
  run.size = times(p, q) + " x " + std::to_string(r) + " (2, 0, 1)";
  on_device(run, work);
}

[[maybe_unused]] const bool rows[] = {
    row("quarry/add", add<float>),
    row("quarry/fused", fused<float>),
    row("quarry/two_outputs", two_outputs),
    row("quarry/where", where),
    row("quarry/broadcast", broadcast),
    row("quarry/strided_copy", strided_copy),
    row("quarry/transpose_copy", transpose_copy),
    row("quarry/permute_copy", permute_copy),
    row("quarry/add_f16", add<half>),
    row("quarry/add_f64", add<double>),
    row("quarry/fused_f64", fused<double>),
};

}  // namespace
