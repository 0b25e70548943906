// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <gtest/gtest.h>

#include <complex>

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xfixed.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/generators/xrandom.hpp>
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xfixed.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xrandom.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

namespace quarry {
namespace {

xt::xarray<double> sample() { return xt::random::rand<double>({4, 5, 6}); }

TEST(Xtensor, ArraysGoAndComeBack) {
  const xt::xarray<double> a = sample();
  const auto d = to_device(a);
  EXPECT_EQ(d.shape(), (Shape{4, 5, 6}));
  EXPECT_EQ(d(1, 2, 3).item(), a(1, 2, 3));
  EXPECT_EQ(d(3, 1, 2).item(), a(3, 1, 2));
  const xt::xarray<double> back = d.copy_to_host();
  EXPECT_EQ(back, a);
  const auto s = stream();
  const auto queued = to_device(back).copy_to_host(s);
  s.synchronize();
  EXPECT_EQ(queued, a);
}

TEST(Xtensor, AreWrittenThroughAViewAndBroadcast) {
  const xt::xarray<double> a = sample(), row = xt::view(a, 0, 0);
  const auto d = zeros<double>({4, 5, 6});
  d(all) = a;
  EXPECT_EQ(d.copy_to_host(), a);
  d(all) = a * 2. + 1.;
  EXPECT_EQ(d.copy_to_host(), xt::xarray<double>(a * 2. + 1.));
  d(range(_, _, -1), all, range(1, _)) = xt::view(a, xt::all(), xt::all(), xt::range(1, 6));
  EXPECT_EQ(d(range(_, _, -1), all, range(1, _)).copy_to_host(),
            xt::xarray<double>(xt::view(a, xt::all(), xt::all(), xt::range(1, 6))));
  d(all) = row;
  EXPECT_EQ(d.copy_to_host(), xt::xarray<double>(xt::broadcast(row, {4, 5, 6})));
  EXPECT_THROW(d(all) = xt::xarray<double>(xt::view(a, 0, xt::all(), 0)), ShapeError);
}

TEST(Xtensor, TensorsAndColumnMajorContainers) {
  const xt::xtensor<float, 2> a{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(to_device(a).copy_to_host(), a);
  const xt::xarray<float, xt::layout_type::column_major> f = a;
  const auto d = to_device(f);
  EXPECT_TRUE(d.is_f_contiguous());
  EXPECT_EQ(d(0, 2).item(), 3);
  EXPECT_EQ(d(1, 0).item(), 4);
  EXPECT_EQ(d.copy_to_host(), a);
  xt::xarray<float, xt::layout_type::column_major> into(std::vector<std::size_t>{2, 3});
  d.copy_to_host(into);
  EXPECT_EQ(into, a);
}

TEST(Xtensor, UnitAndEmptyAxes) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{}, {1}, {0}, {1, 4, 1}, {3, 0, 2}}) {
    const xt::xarray<int> a(shape, 7);
    const auto d = to_device(a);
    EXPECT_EQ(d.size(), static_cast<std::int64_t>(a.size()));
    EXPECT_EQ(d.copy_to_host(), a);
  }
}

TEST(Xtensor, ViewsGoAsTheyLie) {
  const xt::xarray<double> a = sample();
  const auto v = xt::view(a, xt::range(1, 4, 2), xt::all(), 3);
  EXPECT_EQ(to_device(v).copy_to_host(), xt::xarray<double>(v));
  const auto r = xt::view(a, xt::range(3, -5, -1), 2, xt::all());
  EXPECT_EQ(to_device(r).copy_to_host(), xt::xarray<double>(r));
  const auto t = xt::transpose(a);
  EXPECT_EQ(to_device(t).copy_to_host(), xt::xarray<double>(t));
}

TEST(Xtensor, AStridedHostViewGetsOnlyItsElements) {
  const auto d = to_device({1.0, 2.0, 3.0});
  xt::xarray<double> host = xt::zeros<double>({3, 4});
  auto column = xt::view(host, xt::all(), 1);
  d.copy_to_host(column);
  const xt::xarray<double> want{{0, 1, 0, 0}, {0, 2, 0, 0}, {0, 3, 0, 0}};
  EXPECT_EQ(host, want);
}

TEST(Xtensor, LazyExpressionsAreEvaluatedFirst) {
  const xt::xarray<double> a = sample();
  const auto d = to_device(a * 2.0 + 1.0);
  EXPECT_EQ(d.copy_to_host(), xt::xarray<double>(a * 2.0 + 1.0));
  EXPECT_EQ(to_device(xt::ones<float>({2, 2})).copy_to_host(), (xt::xarray<float>{{1, 1}, {1, 1}}));
}

TEST(Xtensor, ComplexAndBool) {
  xt::xarray<std::complex<float>> c = xt::ones<std::complex<float>>({2, 2});
  c(1, 0) = {3, 4};
  EXPECT_EQ(to_device(c).copy_to_host(), c);
  xt::xarray<bool> b = xt::ones<bool>({3});
  b(1) = false;
  EXPECT_EQ(to_device(b).copy_to_host(), b);
  EXPECT_EQ((!to_device(b)).copy_to_host(), xt::xarray<bool>(!b));
}

TEST(Xtensor, ComputesWhatXtensorComputes) {
  const xt::xarray<double> a = sample(), b = sample();
  const auto x = to_device(a), y = to_device(b);
  EXPECT_TRUE(xt::allclose((sqrt(x) * y - x / (y + 1.0)).copy_to_host(),
                           xt::sqrt(a) * b - a / (b + 1.0), 1e-14));
  EXPECT_TRUE(xt::allclose(sum(x, {0, 2}).copy_to_host(), xt::sum(a, {0, 2}), 1e-14));
  EXPECT_TRUE(xt::allclose(max(x * y, 1).copy_to_host(), xt::amax(a * b, {1})));
  EXPECT_EQ((x < y).copy_to_host(), xt::xarray<bool>(a < b));
}

TEST(Xtensor, StridesThatAreNoWholeElementsAreRefused) {
  const auto bytes = zeros<std::uint8_t>({48}, {.device = Device::cpu()});
  const auto laid = [&](const Shape& shape, const Strides& strides) {
    return DeviceNDArray<double>({shape, strides}, bytes.device_pointer(), bytes.buffer());
  };
  EXPECT_THROW(xadapt(laid({4}, {12})), LogicError);
  EXPECT_THROW(xadapt(laid({2, 2}, {20, 8})), LogicError);
  EXPECT_EQ(xadapt(laid({3}, {16})).size(), 3u);
  EXPECT_EQ(xadapt(laid({1, 3}, {3, 8})).size(), 3u);  // the stride of one element does not count
  EXPECT_EQ(xadapt(laid({0, 3}, {3, 8})).size(), 0u);
}

TEST(Xtensor, ResultsAreContainersOfEveryKind) {
  const auto d = arange<double>(6).reshape({2, 3});
  const xt::xarray<double> want = d.copy_to_host();
  EXPECT_EQ((d.copy_to_host<xt::xtensor<double, 2>>()), want);
  EXPECT_EQ((d.copy_to_host<xt::xtensor<double, 2, xt::layout_type::column_major>>()), want);
  EXPECT_EQ((d.copy_to_host<xt::xtensor_fixed<double, xt::xshape<2, 3>>>()), want);
  EXPECT_EQ(d.copy_to_host<xt::xarray<double>>(), want);
  EXPECT_EQ((d.astype<float>().copy_to_host<xt::xtensor<double, 2>>()), want);
  EXPECT_EQ(d(1).copy_to_host<std::vector<double>>(), (std::vector<double>{3, 4, 5}));
}

TEST(Xtensor, AContainerOfAnotherRankOrFixedShapeIsAShapeError) {
  const auto d = zeros<double>({2, 3});
  EXPECT_THROW((d.copy_to_host<xt::xtensor<double, 1>>()), ShapeError);
  EXPECT_THROW((d.copy_to_host<xt::xtensor_fixed<double, xt::xshape<3, 2>>>()), ShapeError);
  EXPECT_THROW(d.copy_to_host<std::vector<double>>(), ShapeError);
  try {
    d.copy_to_host<xt::xtensor<double, 3>>();
    ADD_FAILURE();
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("(2, 3) for a container of 3 axes"), std::string::npos)
        << e.what();
  }
}

TEST(Xtensor, ShapesMustAgree) {
  const auto d = zeros<double>({2, 3});
  xt::xarray<double> wrong = xt::zeros<double>({3, 2});
  EXPECT_THROW(d.copy_to_host(wrong), ShapeError);
  EXPECT_THROW(d.copy_to_device(wrong), ShapeError);
}

TEST(Xtensor, AnAdaptorSharesTheMemoryOfTheCpu) {
  const auto d = zeros<double>({3, 4}, {.device = Device::cpu()});
  d.stream().synchronize();
  auto host = xadapt(d(all, range(_, _, 2)));
  host(1, 1) = 5.0;
  EXPECT_EQ(d(1, 2).item(), 5.0);
  EXPECT_EQ(host.shape()[1], 2u);
  auto reversed = xadapt(d(range(_, _, -1)));
  EXPECT_EQ(reversed(1, 2), 5.0);
  if (!get_current_device().is_cpu()) {
    EXPECT_THROW(xadapt(zeros<double>({3})), LogicError);
  }
}

}  // namespace
}  // namespace quarry
