// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/elementwise_kernel.hpp>
#include <quarry/ops/reduction_kernel.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {
float f_on_host(float x, float y) { return x * x + y * 2; }
TEST(ElementwiseKernel, Tmp) {
  ElementwiseKernel<float(float, float)> f("x, y", "x * x + y * 2", "squares");
  f.text().host = reinterpret_cast<const void*>(f_on_host);
  const auto a = arange<float>(100);
  if (Device().is_cpu()) { EXPECT_THROW(f(a, a), LogicError); return; }
  DeviceNDArray<float> c = sqrt(f(a, a + 1.f)) + f(a, 3);
  EXPECT_EQ(c(2).item(), std::sqrt(10.f) + 10);
  EXPECT_EQ(sum(f(a(range(4)), 1)).item(), 14 + 8);
  ReductionKernel<float(float), double> r({.parameters = "x", .map_expr = "x * 2", .reduce_expr = "a + b", .identity = "0", .post_map_expr="a / n"});
  static const kernels::host_reducer<double> host{0., [](double p, double q){ return p + q; }, [](double p, std::int64_t n) { return p / double(n);} };
  r.reducer().host = &host;
  r.map().host = reinterpret_cast<const void*>(+[](float x) { return double(x) * 2; });
  r.of_nothing().host = reinterpret_cast<const void*>(+[]{ return 7.f;});
  EXPECT_EQ(r(a).item(), 99);
  EXPECT_EQ(r({.axes = 0}, a.reshape({10, 10}))(1).item(), 92);
  EXPECT_EQ(r(a(range(0))).item(), 7);
}
}  // namespace
}  // namespace quarry
