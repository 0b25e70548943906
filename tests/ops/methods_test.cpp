// SPDX-License-Identifier: BSD-3-Clause
// NumPy's methods and spellings; what the functions give is tested beside them.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <sstream>

namespace quarry {
namespace {

using test::values;

template <class A, class B>
void expect_same(const A& a, const B& b) {
  static_assert(std::is_same_v<A, B>);
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(values(a), values(b));
}

/// An array and the expression of the same values.
class Methods : public testing::Test {
 protected:
  template <class Check>
  void on_both(Check check) const {
    check(array);
    check(array + 0.);
  }
  const DeviceNDArray<double> array =
      to_device(std::vector<double>{3, 1, 4, -1, 5, 9}).reshape({2, 3});
};

TEST_F(Methods, ReductionsAreTheFunctions) {
  on_both([](const auto& x) {
    expect_same(x.sum(), sum(x));
    expect_same(x.sum(0), sum(x, 0));
    expect_same(x.prod(-1), prod(x, -1));
    expect_same(x.mean(1, {.keepdims = true}), mean(x, 1, {.keepdims = true}));
    expect_same(x.min({0, 1}), min(x));
    expect_same(x.max(0), max(x, 0));
    expect_same(x.any(0), any(x, 0));
    expect_same(x.all(), all_of(x));
    expect_same(x.var(-1), var(x, -1));
    expect_same(x.var({.ddof = 1}), var(x, {0, 1}, {.ddof = 1}));
    expect_same(x.std(0, {.ddof = 1, .keepdims = true}), std(x, 0, {.ddof = 1, .keepdims = true}));
    expect_same(x.argmin(), argmin(x));
    expect_same(x.argmax(1), argmax(x, 1));
  });
  EXPECT_EQ(array.sum().item(), 21);
  EXPECT_EQ(array.max().item(), 9);
  EXPECT_EQ((array * 2.).argmin().item(), 3);
}

TEST_F(Methods, KeepdimsOfAllAxesNeedsNoAxes) {
  on_both([](const auto& x) {
    expect_same(mean(x, {.keepdims = true}), mean(x, {0, 1}, {.keepdims = true}));
    expect_same(x.mean({.keepdims = true}), mean(x, {0, 1}, {.keepdims = true}));
    expect_same(argmax(x, {.keepdims = true}), argmax(x, {0, 1}, {.keepdims = true}));
  });
  EXPECT_EQ(mean(array, {.keepdims = true}).shape(), (Shape{1, 1}));
}

TEST_F(Methods, AxesKnownAtRunTime) {
  const std::vector<int> ints{1};
  const Axes axes{-2};
  const std::array<std::size_t, 2> both{0, 1};
  on_both([&](const auto& x) {
    expect_same(sum(x, ints), sum(x, 1));
    expect_same(x.sum(axes), sum(x, 0));
    expect_same(x.max(both, {.keepdims = true}), max(x, {0, 1}, {.keepdims = true}));
    expect_same(x.transpose(std::vector<long>{1, 0}), x.transpose());
    EXPECT_THROW(x.sum(std::vector<int>{2}), ShapeError);
  });
  expect_same(array.reshape(std::vector<int>{3, 1, 2}).squeeze(ints), array.reshape({3, 2}));
}

TEST_F(Methods, IndicesKnownAtRunTime) {
  const std::vector<Index> entries{range(_, _, -1), newaxis, 1};
  on_both([&](const auto& x) {
    expect_same(eval(x(entries)), eval(x(range(_, _, -1), newaxis, 1)));
    EXPECT_THROW(x(std::vector<Index>(3, 0)), IndexError);
  });
  const auto copy = array.copy();
  copy(entries) = 0.;
  EXPECT_EQ(values(copy), (std::vector<double>{3, 0, 4, -1, 0, 9}));
}

TEST_F(Methods, ShapesOfExpressions) {
  on_both([](const auto& x) {
    EXPECT_EQ(values(x.reshape({3, -1})), values(eval(x)));
    EXPECT_EQ(x.reshape({3, -1}).shape(), (Shape{3, 2}));
    EXPECT_EQ(values(x.transpose()), (std::vector<double>{3, -1, 1, 5, 4, 9}));
    expect_same(x.T(), x.transpose());
    EXPECT_EQ(values(x.ravel()), values(eval(x)));
    EXPECT_EQ(x.flatten().shape(), (Shape{6}));
    EXPECT_EQ(x.reshape({1, 6}).squeeze().shape(), (Shape{6}));
    EXPECT_EQ(x(newaxis).squeeze(0).shape(), (Shape{2, 3}));
  });
}

TEST_F(Methods, AstypeOfAnExpressionStaysInTheKernel) {
  const auto whole = (array / 2.).astype<int>();
  static_assert(Expression<decltype(whole)>);
  expect_same(eval(whole * 3), eval(astype<int>(array / 2.) * 3));
  EXPECT_EQ(values(eval(whole)), (std::vector<int>{1, 0, 2, 0, 2, 4}));
}

TEST_F(Methods, ElementwiseMethodsAreTheFunctions) {
  on_both([](const auto& x) {
    expect_same(eval(x.clip(0, 4)), eval(clip(x, 0, 4)));
    expect_same(eval(x.real()), eval(real(x)));
    expect_same(eval((x / 8).round(1)), eval(round(x / 8, 1)));
    expect_same(eval(x.round()), eval(around(x)));
  });
  const auto z = to_device(std::vector<std::complex<float>>{{1, 2}, {3, -4}});
  expect_same(eval(z.conj()), eval(conj(z)));
  expect_same(eval((z * 2).imag()), eval(imag(z * 2)));
}

TEST_F(Methods, ExpressionsPrint) {
  std::ostringstream lazy, stored;
  lazy << array * 2. + 1.;
  stored << eval(array * 2. + 1.);
  EXPECT_EQ(lazy.str(), stored.str());
  EXPECT_EQ(to_string(array * 2. + 1.), stored.str());
  EXPECT_NE(lazy.str(), "");
}

TEST_F(Methods, AssignmentsChain) {
  const auto a = zeros<double>({2, 3}), b = zeros<double>({2, 3});
  a(all) = b(all) = array * 2.;
  EXPECT_EQ(values(a), values(eval(array * 2.)));
  EXPECT_EQ(values(b), values(a));
  a(0) = b(1) = 7.;
  EXPECT_EQ(values(a), (std::vector<double>{7, 7, 7, -2, 10, 18}));
  EXPECT_EQ(values(b(1)), (std::vector<double>{7, 7, 7}));
}

TEST_F(Methods, HostMemoryIsWrittenThroughAView) {
  const auto a = zeros<double>({2, 3});
  a(1) = std::vector<double>{1, 2, 3};
  EXPECT_EQ(values(a), (std::vector<double>{0, 0, 0, 1, 2, 3}));
  a(all) = std::vector<float>{4, 5, 6};  // broadcasts and is converted, as an array would
  EXPECT_EQ(values(a), (std::vector<double>{4, 5, 6, 4, 5, 6}));
  EXPECT_THROW(a(all) = std::vector<double>(2), ShapeError);
  EXPECT_THROW(a(all) = std::vector<double>(6), ShapeError);
  EXPECT_EQ(values(a), (std::vector<double>{4, 5, 6, 4, 5, 6}));
}

TEST_F(Methods, OneExtentNeedsNoBraces) {
  expect_same(zeros<float>(3), zeros<float>({3}));
  expect_same(full(std::vector<int>{2, 2}, 1.5f), full<float>({2, 2}, 1.5f));
  EXPECT_EQ(array.reshape(6).shape(), (Shape{6}));
  EXPECT_EQ(DeviceNDArray<int>(4).shape(), (Shape{4}));
}

TEST(Ranges, NumbersOfSeveralTypesMeet) {
  expect_same(linspace(0, 1, 5), linspace(0., 1., 5));
  expect_same(linspace(0, 1.f, 5), linspace(0.f, 1.f, 5));
  expect_same(linspace<float>(0., 1, 5), linspace(0.f, 1.f, 5));
  expect_same(linspace(1, 3, 4, {.endpoint = false}), to_device({1., 1.5, 2., 2.5}));
  expect_same(arange(0, 1, 0.25), to_device({0., 0.25, 0.5, 0.75}));
  expect_same(arange(1, 2.5f), to_device({1.f, 2.f}));
  expect_same(arange<float>(0, 2), to_device({0.f, 1.f}));
  expect_same(arange(3, 0, -1), to_device({3, 2, 1}));
}

}  // namespace
}  // namespace quarry
