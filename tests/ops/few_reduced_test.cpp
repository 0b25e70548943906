// SPDX-License-Identifier: BSD-3-Clause
// Reductions of a few elements to each of many outputs, of rows of a few elements, and of short
// rows that begin anywhere, whose kernels differ from those of other reductions.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include <Eigen/Core>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::Ints, test::values;
using Half = Eigen::half;
using I8 = std::int8_t;

/// Every `step`-th element along the last axis of dense memory, then transposed.
struct Layout {
  Ints memory;
  std::int64_t step;
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> axes;
  const char* kernel;  ///< the last one, on a GPU of up to 146 multiprocessors

  bool is_reduced(std::size_t d) const {
    return std::ranges::find(axes, static_cast<std::int64_t>(d)) != axes.end();
  }
};

std::ostream& operator<<(std::ostream& to, const Layout& l) {
  return to << ::testing::PrintToString(l.memory) << " step " << l.step << " order "
            << ::testing::PrintToString(l.order) << " axes " << ::testing::PrintToString(l.axes);
}

double element(std::int64_t place) {
  return static_cast<double>((static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15u >> 40) % 19) -
         9;
}

/// The elements of every output, both in C order.
class Terms {
 public:
  explicit Terms(const Layout& layout) {
    const std::size_t rank = layout.order.size();
    std::vector<std::int64_t> strides(rank, 1);
    for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * layout.memory[d];
    for (std::size_t d = 0; d < rank; ++d) {
      const auto axis = static_cast<std::size_t>(layout.order[d]);
      const bool is_last = axis == rank - 1;
      const std::int64_t step = is_last ? layout.step : 1;
      (layout.is_reduced(d) ? reduced_ : kept_)
          .push_back({(layout.memory[axis] - 1) / step + 1, strides[axis] * step});
    }
  }
  std::int64_t outputs() const { return size(kept_); }
  std::int64_t count() const { return size(reduced_); }
  double at(std::int64_t output, std::int64_t i) const {
    return element(offset(kept_, output) + offset(reduced_, i));
  }

 private:
  struct Axis {
    std::int64_t extent, stride;
  };
  static std::int64_t size(const std::vector<Axis>& axes) {
    std::int64_t n = 1;
    for (const Axis& axis : axes) n *= axis.extent;
    return n;
  }
  static std::int64_t offset(const std::vector<Axis>& axes, std::int64_t i) {
    std::int64_t at = 0;
    for (std::size_t d = axes.size(); d-- > 0; i /= axes[d].extent)
      at += i % axes[d].extent * axes[d].stride;
    return at;
  }
  std::vector<Axis> kept_, reduced_;
};

template <class T>
DeviceNDArray<T> view_of(const Layout& layout) {
  test::Host<T> host(layout.memory);
  for (std::size_t i = 0; i < host.count(); ++i) {
    host[i] = static_cast<T>(static_cast<float>(element(static_cast<std::int64_t>(i))));
  }
  return to_device(host)(ellipsis, range(_, _, layout.step)).transpose(layout.order);
}

std::string reducing_kernel;  ///< of the latest result

/// Its elements; reading those of a result in another order takes another kernel.
template <class T>
auto elements_of(const DeviceNDArray<T>& result) {
  if (test::kind() == test::Kind::fake) reducing_kernel = fake::last_kernel();
  return values(result);
}

template <class T>
void expect_sum(const Layout& layout) {
  const auto got = elements_of(view_of<T>(layout).sum(ReduceAxes(layout.axes)));
  const Terms terms(layout);
  ASSERT_EQ(std::ssize(got), terms.outputs());
  for (std::int64_t k = 0; k < terms.outputs(); ++k) {
    double want = 0;
    for (std::int64_t i = 0; i < terms.count(); ++i) want += terms.at(k, i);
    ASSERT_EQ(static_cast<double>(got[static_cast<std::size_t>(k)]), want) << "output " << k;
  }
}

template <class T>
void expect_variance(const Layout& layout) {
  const auto got = elements_of(view_of<T>(layout).var(ReduceAxes(layout.axes)));
  const Terms terms(layout);
  ASSERT_EQ(std::ssize(got), terms.outputs());
  const auto n = static_cast<double>(terms.count());
  for (std::int64_t k = 0; k < terms.outputs(); ++k) {
    double sum = 0, squares = 0;  // of integers, and exact
    for (std::int64_t i = 0; i < terms.count(); ++i) {
      const double x = terms.at(k, i);
      sum += x, squares += x * x;
    }
    const double want = (n * squares - sum * sum) / (n * n);
    const double tolerance = sizeof(T) == 2 ? 1e-3 : sizeof(T) == 4 ? 1e-6 : 1e-12;
    ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(k)]), want,
                tolerance * (1 + std::abs(want)))
        << "output " << k;
  }
}

template <class T>
void expect_argmax(const Layout& layout) {
  const auto got = elements_of(view_of<T>(layout).argmax(layout.axes[0]));
  const Terms terms(layout);
  ASSERT_EQ(std::ssize(got), terms.outputs());
  for (std::int64_t k = 0; k < terms.outputs(); ++k) {
    std::int64_t want = 0;
    for (std::int64_t i = 1; i < terms.count(); ++i) {
      if (terms.at(k, i) > terms.at(k, want)) want = i;
    }
    ASSERT_EQ(got[static_cast<std::size_t>(k)], want) << "output " << k;
  }
}

constexpr const char *few = "reduce_few<", *staged = "reduce_staged<", *slabs = "reduce_slabs<",
                     *finished = "reduce_finish<";
constexpr const char* other = "reduce";  // of any name but those of few, staged and slabs

class FewReduced : public ::testing::TestWithParam<Layout> {
 protected:
  void expect_kernel() const {
    if (test::kind() != test::Kind::fake) return;
    const auto has = [](const char* name) {
      return reducing_kernel.find(name) != std::string::npos;
    };
    EXPECT_TRUE(has(GetParam().kernel)) << reducing_kernel;
    const bool is_other = GetParam().kernel == other;
    EXPECT_FALSE(is_other && (has(few) || has(staged) || has(slabs))) << reducing_kernel;
  }
};

TEST_P(FewReduced, Sum) {
  expect_sum<float>(GetParam());
  expect_kernel();
  if (test::kind() == test::Kind::fake) return;
  expect_sum<I8>(GetParam());
  expect_sum<Half>(GetParam());
}
TEST_P(FewReduced, Variance) {
  expect_variance<I8>(GetParam());
  expect_kernel();
  if (test::kind() == test::Kind::fake) return;
  expect_variance<Half>(GetParam());
  expect_variance<double>(GetParam());
}
TEST_P(FewReduced, Argmax) {
  if (GetParam().axes.size() > 1) return;
  expect_argmax<Half>(GetParam());
  if (GetParam().kernel != slabs) expect_kernel();
  if (test::kind() == test::Kind::fake) return;
  expect_argmax<I8>(GetParam());
  expect_argmax<float>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, FewReduced,
    ::testing::Values(Layout{{3, 300007}, 1, {0, 1}, {0}, few},  // columns
                      Layout{{4, 300032}, 1, {0, 1}, {0}, few},  // columns by vectors
                      Layout{{300007, 5}, 1, {0, 1}, {1}, few},  // rows
                      Layout{{300032, 8}, 1, {0, 1}, {1}, few},  // rows by vectors
                      Layout{{300007, 4}, 2, {0, 1}, {1}, few},  // of every second element
                      Layout{{2, 300032, 3}, 1, {0, 1, 2}, {0, 2}, few},
                      Layout{{600, 3, 520}, 1, {2, 1, 0}, {1}, few},        // tiles
                      Layout{{1, 300007}, 1, {1, 0}, {1}, few},             // one element
                      Layout{{40, 3000, 13}, 1, {0, 1, 2}, {0, 2}, other},  // pieces
                      Layout{{30, 2000, 10}, 1, {0, 1, 2}, {0, 2}, other},
                      Layout{{4, 50021, 21}, 1, {0, 1, 2}, {0, 2}, staged},
                      Layout{{100003, 43}, 1, {0, 1}, {1}, staged},
                      Layout{{6000, 120, 7}, 1, {0, 1, 2}, {1}, slabs},
                      Layout{{3000, 2, 90, 18}, 2, {0, 1, 2, 3}, {2}, slabs},
                      Layout{{2, 60013, 75}, 2, {0, 1, 2}, {0, 2}, staged},
                      Layout{{500, 87, 97}, 1, {0, 1, 2}, {0, 2}, finished},
                      Layout{{9000, 31, 38}, 2, {0, 1, 2}, {0, 2}, finished}));  // few outputs

/// Moments of floats are faster by several columns at once, with gaps between elements too.
TEST(FloatVariance, IsNotReducedBySlabs) {
  expect_variance<float>({{3000, 2, 90, 18}, 2, {0, 1, 2, 3}, {2}, other});
  if (test::kind() != test::Kind::fake) return;
  EXPECT_EQ(reducing_kernel.find(slabs), std::string::npos) << reducing_kernel;
}

/// Sums and extremes over `axes` of all columns but the first, so that rows begin at any element.
template <class T>
void expect_columns(const Ints& shape, const std::vector<std::int64_t>& axes, bool is_unaligned) {
  Layout layout{shape, 1, {}, axes, other};
  for (std::int64_t d = 0; d < std::ssize(shape); ++d) layout.order.push_back(d);
  const Terms terms(layout);
  const auto at = [&](std::int64_t k, std::int64_t i) {
    return terms.at(k, i) + 9;
  };  // not below 0
  Ints with_first = shape;
  with_first.back() += 1;
  test::Host<T> host(with_first);
  for (std::size_t i = 0; i < host.count(); ++i) {
    const auto place = static_cast<std::int64_t>(i), row = place / with_first.back(),
               column = place % with_first.back() - 1;
    const double value = column < 0 ? 77 : element(row * shape.back() + column) + 9;
    host[i] = static_cast<T>(static_cast<float>(value));
  }
  const DeviceNDArray<T> all = to_device(host);
  const auto x = all(ellipsis, range(1, _));
  const auto sums = elements_of(x.sum(ReduceAxes(axes)));
  if (test::kind() == test::Kind::fake && is_unaligned) {
    EXPECT_NE(reducing_kernel.find(", -4, "), std::string::npos) << reducing_kernel;
  }
  const auto largest = elements_of(x.max(ReduceAxes(axes)));
  const auto places = axes.size() == 1 ? elements_of(x.argmax(axes[0])) : Ints();
  for (std::int64_t k = 0; k < terms.outputs(); ++k) {
    double sum = 0;
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < terms.count(); ++i) {
      sum += at(k, i);
      if (at(k, i) > at(k, place)) place = i;
    }
    const auto output = static_cast<std::size_t>(k);
    ASSERT_EQ(static_cast<double>(sums[output]), sum) << "output " << k;
    ASSERT_EQ(static_cast<double>(largest[output]), at(k, place)) << "output " << k;
    if (axes.size() == 1) {
      ASSERT_EQ(places[output], place) << "output " << k;
    }
  }
}

TEST(Columns, ThatBeginAtAnyElement) {
  expect_columns<I8>({5, 300006}, {0}, true);  // few elements
  expect_columns<Half>({5, 300003}, {0}, true);
  expect_columns<I8>({150, 2, 20011}, {0}, true);
  expect_columns<I8>({40, 2, 20011}, {0}, false);  // outputs are no small part
  expect_columns<I8>({700, 1003}, {0}, false);     // of whose places, not of sums
  expect_columns<Half>({17, 3, 4097}, {1}, true);
  expect_columns<std::int16_t>({2, 50, 67}, {1}, true);  // short rows
  expect_columns<std::uint8_t>({3, 9, 70, 101}, {0, 2}, false);
  expect_columns<I8>({30, 7}, {0}, false);  // less than a vector
}

void expect_some_types(std::initializer_list<Layout> layouts) {
  for (const Layout& layout : layouts) {
    expect_sum<I8>(layout);
    expect_sum<std::int16_t>(layout);
    expect_variance<I8>(layout);
    if (test::kind() == test::Kind::fake) continue;
    expect_sum<Half>(layout);
    expect_variance<Half>(layout);
  }
}

TEST(Columns, FewBetweenReducedAxes) {
  const Layout some{{10, 12, 431, 21}, 1, {2, 1, 3, 0}, {0, 3}, finished},
      longer{{12, 2, 5003, 5}, 1, {0, 1, 2, 3}, {0, 2}, finished},
      many{{300, 3, 37, 21}, 1, {0, 1, 2, 3}, {0, 2}, finished};
  expect_some_types({some, longer, many});
}

TEST(Columns, AroundAnInnerReducedAxis) {
  const Layout rows{{3000, 15, 7}, 1, {0, 1, 2}, {0, 2}, finished},
      aligned{{1200, 2, 9, 24, 2}, 1, {0, 1, 2, 3, 4}, {0, 3}, finished},
      backwards{{20011, 2, 2, 2}, 1, {3, 2, 1, 0}, {0, 3}, finished},
      gaps{{3000, 5, 21}, 2, {0, 1, 2}, {0, 2}, finished};
  expect_some_types({rows, aligned, backwards, gaps});
}

TEST(ShortRows, OfComplexNumbers) {
  using C = std::complex<float>;
  constexpr std::int64_t rows = 50003, columns = 21;
  test::Host<C> host({rows, columns});
  const auto at = [](std::int64_t i) {
    return C(static_cast<float>(element(i)), static_cast<float>(element(3 * i + 1)));
  };
  for (std::int64_t i = 0; i < rows * columns; ++i) host[static_cast<std::size_t>(i)] = at(i);
  const DeviceNDArray<C> x = to_device(host);
  const auto sums = elements_of(x.sum(1));
  if (test::kind() == test::Kind::fake) {
    EXPECT_NE(reducing_kernel.find(staged), std::string::npos) << reducing_kernel;
  }
  const auto variances = values(x.var(1));
  for (std::int64_t r = 0; r < rows; ++r) {
    std::complex<double> sum = 0;
    double squares = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::complex<double> z = at(r * columns + c);
      sum += z, squares += std::norm(z);
    }
    const double want = (columns * squares - std::norm(sum)) / (columns * columns);
    ASSERT_EQ(std::complex<double>(sums[static_cast<std::size_t>(r)]), sum);
    ASSERT_NEAR(static_cast<double>(variances[static_cast<std::size_t>(r)]), want, 1e-5 * want);
  }
}

/// The best of a row or a column is a NaN, or one of two zeros, or infinite.
template <class T>
void expect_places() {
  constexpr std::int64_t rows = 64, columns = 1024;
  const auto number = [](double x) { return static_cast<T>(static_cast<float>(x)); };
  test::Host<T> host({rows, columns});
  std::vector<std::int64_t> want;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto at = [&](std::int64_t c) -> T& {
      return host[static_cast<std::size_t>(r * columns + c % columns)];
    };
    for (std::int64_t c = 0; c < columns; ++c) at(c) = number(-1 - element(c) * element(c));
    const std::int64_t place = r * 37 % (columns - 300);
    want.push_back(place);
    const double best[] = {NAN, INFINITY, -0., 0.};
    at(place) = number(best[r % 4]);
    at(place + 211) = number(r % 4 == 2 ? 0. : r % 4 == 3 ? -0. : best[r % 4]);
    if (r % 4 == 0) at(place + 100) = number(INFINITY);
  }
  const DeviceNDArray<T> x = to_device(host);
  EXPECT_EQ(values(x.argmax(1)), want);
  EXPECT_EQ(values(x.T().copy().argmax(0)), want);
  EXPECT_EQ(values(eval(-x).argmin(1)), want);
  EXPECT_EQ(values(eval(-x).T().copy().argmin(0)), want);
}

TEST(Argmax, TakesTheFirstOfEqualValuesAndNaNs) {
  expect_places<float>();
  expect_places<double>();
  expect_places<Half>();
}

TEST(Argmax, OfRowsOfIntegers) {
  constexpr std::int64_t rows = 40, columns = 999;
  test::Host<I8> host({rows, columns});
  std::vector<std::int64_t> largest, smallest;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      host[static_cast<std::size_t>(r * columns + c)] = static_cast<I8>(element(c) * 3);
    const std::int64_t first = r * 17 % 400;
    for (const std::int64_t c : {first, first + 7, first + 333}) {
      host[static_cast<std::size_t>(r * columns + c)] = I8(127 - r % 2);
      host[static_cast<std::size_t>(r * columns + c + 1)] = I8(-128 + r % 2);
    }
    largest.push_back(first), smallest.push_back(first + 1);
  }
  const DeviceNDArray<I8> x = to_device(host);
  EXPECT_EQ(values(x.argmax(1)), largest);
  EXPECT_EQ(values(x.argmin(1)), smallest);
  EXPECT_EQ(values(x.T().copy().argmax(0)), largest);
  EXPECT_EQ(values(x.T().copy().argmin(0)), smallest);
}

/// The square of the mean is no float. All sums are exact.
TEST(Variance, OfLargeEqualValues) {
  const float large = std::ldexp(1.f, 100);
  const auto x = full<float>({64, 32}, large);
  EXPECT_EQ(x.var().item(), 0);
  EXPECT_EQ(values(x.var(0)), std::vector<float>(32, 0));
  EXPECT_EQ(values(x.var(1)), std::vector<float>(64, 0));
  EXPECT_EQ(values(full<float>({4, 300007}, large).var(0)), std::vector<float>(300007, 0));
}

}  // namespace
}  // namespace quarry
