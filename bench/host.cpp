// SPDX-License-Identifier: BSD-3-Clause
// The CPU device on one core beside xtensor and Eigen on one core: the same work, all with the
// compiler flags of this file.
#include <Eigen/Core>

#include <quarry/xtensor.hpp>
#if __has_include(<xtensor/core/xmath.hpp>)
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/core/xnoalias.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#endif

#include "device.hpp"

namespace {

using namespace bench;
using Tensor = xt::xtensor<float, 1>;
using Vector = Eigen::ArrayXf;

constexpr std::int64_t n = std::int64_t{1} << 22;

template <class Container>
Container host_input(std::uint64_t k) {
  Container values;
  values.resize({static_cast<std::size_t>(n)});
  for (std::int64_t i = 0; i < n; ++i) values.data()[i] = uniform(k, i);
  return values;
}
template <>
Vector host_input<Vector>(std::uint64_t k) {
  Vector values(n);
  for (std::int64_t i = 0; i < n; ++i) values[i] = uniform(k, i);
  return values;
}
template <>
Array<float> host_input<Array<float>>(std::uint64_t k) {
  return random_array<float>(k, n);
}

template <class Container>
struct Inputs {
  Container a = host_input<Container>(0), b = host_input<Container>(1),
            c = host_input<Container>(2), d = host_input<Container>(3);
};

template <class F>
void measure(Run& run, int arrays, F work) {
  run.bytes = 4. * arrays * static_cast<double>(n);
  run.size = std::to_string(n);
  run.call([&] {
    work();
    qy::synchronize();
  });
}

const float* values(const Array<float>& x) {
  return reinterpret_cast<const float*>(x.device_pointer());
}
template <class Container>
const float* values(const Container& x) {
  return x.data();
}

template <class Out, class F>
void check_fused(const Out& out, F expected) {
  qy::synchronize();
  for (std::int64_t i = 0; i < n; i += 61)
    expect_near(values(out)[i],
                expected(uniform(0, i), uniform(1, i), uniform(2, i), uniform(3, i)), 1e-6,
                "element " + std::to_string(i));
}

/// `f` computes the expression of a set of inputs into a result that exists already.
template <class Container, class F, class G>
bool fused_row(const std::string& name, int arrays, F f, G expected) {
  return row(name, [=](Run& run) {
    const Inputs<Container> in;
    Container out = host_input<Container>(4);
    f(out, in);
    check_fused(out, expected);
    measure(run, arrays, [&] { f(out, in); });
  });
}

template <class Container, class F>
bool sum_row(const std::string& name, F f) {
  return row(name, [=](Run& run) {
    const Container x = host_input<Container>(0);
    const double want = sum_of(n, [](std::int64_t i) { return uniform(0, i); });
    expect_near(static_cast<double>(f(x)), want, 1e-3, "sum");
    measure(run, 1, [&] { benchmark::DoNotOptimize(f(x)); });
  });
}

const auto axpy = [](double a, double b, double c, double d) { return a * b + c * 2 - d; };
const auto with_sin = [](double a, double b, double c, double d) {
  return a * b + std::sin(c) * 2 - d;
};

void register_rows() {
  fused_row<Array<float>>(
      "quarry/one_core_axpy", 5,
      [](const auto& out, const auto& x) { out.assign(x.a * x.b + x.c * 2.f - x.d); }, axpy);
  fused_row<Tensor>(
      "xtensor/one_core_axpy", 5,
      [](auto& out, const auto& x) { xt::noalias(out) = x.a * x.b + x.c * 2.f - x.d; }, axpy);
  fused_row<Vector>(
      "eigen/one_core_axpy", 5, [](auto& out, const auto& x) { out = x.a * x.b + x.c * 2.f - x.d; },
      axpy);
  fused_row<Array<float>>(
      "quarry/one_core_fused", 5,
      [](const auto& out, const auto& x) { out.assign(x.a * x.b + qy::sin(x.c) * 2.f - x.d); },
      with_sin);
  fused_row<Tensor>(
      "xtensor/one_core_fused", 5,
      [](auto& out, const auto& x) { xt::noalias(out) = x.a * x.b + xt::sin(x.c) * 2.f - x.d; },
      with_sin);
  fused_row<Vector>(
      "eigen/one_core_fused", 5,
      [](auto& out, const auto& x) { out = x.a * x.b + x.c.sin() * 2.f - x.d; }, with_sin);
  sum_row<Array<float>>("quarry/one_core_sum", [](const auto& x) { return qy::sum(x).item(); });
  sum_row<Tensor>("xtensor/one_core_sum", [](const auto& x) { return xt::sum(x)(); });
  sum_row<Vector>("eigen/one_core_sum", [](const auto& x) { return x.sum(); });
}

}  // namespace

int main(int argc, char** argv) {
  setenv("QUARRY_DEVICE", "cpu", 1);
  setenv("QUARRY_NUM_THREADS", "1", 1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_rows();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
