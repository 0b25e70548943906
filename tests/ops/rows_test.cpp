// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include <Eigen/Core>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// softmax, log_softmax, standardise and logsumexp against plain loops in double precision.
namespace quarry {
namespace {

using test::Host;
using test::Ints;
using test::Random;
using test::Seen;
using test::values;
using Half = Eigen::half;
using C64 = std::complex<float>;
using Row = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double no_claim = 1234567;  // a result that is not compared

using Wide = long double;

Wide largest_of(const Row& row) {
  Wide largest = -infinity;
  for (const double x : row) largest = std::isnan(x) || x > largest ? x : largest;
  return largest;
}
double plain_logsumexp(const Row& row) {
  const Wide largest = largest_of(row), shift = std::isfinite(largest) ? largest : 0;
  Wide sum = 0;
  for (const double x : row) sum += std::exp(x - shift);
  return static_cast<double>(shift + std::log(sum));
}
Row plain_softmax(const Row& row) {
  const Wide largest = largest_of(row);
  Wide sum = 0;
  for (const double x : row) sum += std::exp(x - largest);
  Row result;
  for (const double x : row) result.push_back(static_cast<double>(std::exp(x - largest) / sum));
  return result;
}
Row plain_log_softmax(const Row& row) {
  const double all = plain_logsumexp(row);
  Row result;
  for (const double x : row) result.push_back(x - all);
  return result;
}
/// The mean and the deviation.
std::pair<Wide, Wide> moments(const Row& row, double ddof) {
  const auto n = static_cast<Wide>(row.size());
  Wide mean = 0, squares = 0;
  for (const double x : row) mean += x / n;
  for (const double x : row) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / std::max(n - Wide(ddof), Wide(0)))};
}
Row plain_standardise(const Row& row, double ddof) {
  const auto [mean, deviation] = moments(row, ddof);
  Row result;
  for (const double x : row) result.push_back(static_cast<double>((x - mean) / deviation));
  return result;
}

/// Results below the normal numbers of half precision are rounded to multiples of its smallest.
template <class T>
constexpr double tiny() {
  return std::is_same_v<T, Half> ? 6e-8 : 1e-40;
}
template <class T>
constexpr double epsilon_of() {
  if constexpr (std::is_same_v<T, Half>) return 1e-3;
  if constexpr (std::is_same_v<T, float>) return 1.2e-7;
  return 2.3e-16;
}

/// An error of at most `bound`; no value or no bound where that is wanted.
bool is_near(double got, double want, double bound) {
  if (want == no_claim) return true;
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::abs(got - want) <= bound;
}
double magnitude(const Row& row) {
  double most = 0;
  for (const double x : row) most = std::max(most, std::abs(x));
  return most;
}
/// The errors that a result may have, in units of the type's epsilon: `fixed`, and `relative`.
struct Bound {
  double fixed, relative;
};
Bound softmax_bound(const Row& row) { return {0, 20 + 2 * magnitude(row)}; }
Bound log_softmax_bound(const Row& row) { return {20 + 2 * magnitude(row), 1}; }

/// The axis of a shape in the middle: how many rows are before it, and elements behind it.
struct Split {
  std::int64_t outer = 1, extent, inner = 1;
  Split(const Ints& shape, std::size_t axis) : extent(shape[axis]) {
    for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  }
  std::size_t place(std::int64_t row, std::int64_t i) const {
    return static_cast<std::size_t>((row / inner * extent + i) * inner + row % inner);
  }
};

template <class T>
T drawn(Random& random) {
  if constexpr (std::is_same_v<T, bool>)
    return random.coin();
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(random.between(0, 40));
  else
    return T(static_cast<float>(random.between(-4000, 4000)) / 512.f);
}

template <class T>
Seen<T> drawn_array(Random& random, Ints& shape) {
  shape.clear();
  const auto rank = static_cast<std::size_t>(random.between(1, 4));
  const bool has_long = random.between(0, 5) == 0;
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(random.between(1, 9));
  if (has_long) {
    shape[static_cast<std::size_t>(random.between(0, std::int64_t(rank) - 1))] =
        random.between(300, test::kind_is_slow() ? 9000 : 40'000);
    for (auto& extent : shape) extent = extent < 10 ? std::min<std::int64_t>(extent, 3) : extent;
  }
  Host<T> host(shape);
  for (std::size_t i = 0; i < host.count(); ++i) host[i] = drawn<T>(random);
  Seen<T> seen{to_device(host), test::whole(shape)};
  if (random.coin()) seen = random.shuffle(seen);
  if (random.coin()) seen = random.slice(seen);
  shape = seen.model.shape;
  return seen;
}

template <class T>
class Rows : public testing::Test {
 protected:
  using Out = typename decltype(softmax(std::declval<DeviceNDArray<T>>()))::value_type;

  /// Compares `results` along an axis of drawn arrays with those of plain loops.
  template <class Results, class Plain, class Bounds>
  void check(unsigned seed, Results results, Plain plain, Bounds bounds) {
    Random random(seed);
    for (int round = 0; round < (test::kind_is_slow() ? 25 : 80); ++round) {
      Ints shape;
      const auto seen = drawn_array<T>(random, shape);
      const auto host = values(seen.array);
      const auto rank = static_cast<std::int64_t>(shape.size());
      const auto axis = random.between(0, rank - 1);
      const auto got = results(seen.array, random.coin() ? axis : axis - rank);
      static_assert(std::is_same_v<typename std::remove_cvref_t<decltype(got)>::value_type, Out>);
      ASSERT_EQ(got.layout(), seen.array.template astype<Out>().layout());
      if (seen.array.empty()) continue;
      const auto list = values(got);
      const Split split(shape, static_cast<std::size_t>(axis));
      for (std::int64_t r = 0; r < split.outer * split.inner; ++r) {
        Row row;
        for (std::int64_t i = 0; i < split.extent; ++i) {
          row.push_back(static_cast<double>(host[split.place(r, i)]));
        }
        const Row want = plain(row);
        const Bound bound = bounds(row);
        for (std::int64_t i = 0; i < split.extent; ++i) {
          const double w = want[static_cast<std::size_t>(i)];
          const auto g = static_cast<double>(list[split.place(r, i)]);
          const double most =
              epsilon_of<Out>() * (bound.fixed + bound.relative * std::abs(w)) + tiny<Out>();
          ASSERT_TRUE(is_near(g, w, most))
              << "round " << round << ", shape " << seen.array.shape() << ", strides "
              << seen.array.strides() << ", axis " << axis << ", row " << r << ", element " << i
              << ": " << g << ", not " << w;
        }
      }
    }
  }
};
using Types = testing::Types<bool, std::int8_t, std::uint16_t, std::int64_t, Half, float, double>;
TYPED_TEST_SUITE(Rows, Types);

TYPED_TEST(Rows, Softmax) {
  this->check(
      1, [](const auto& a, auto axis) { return softmax(a, axis); }, plain_softmax, softmax_bound);
}
TYPED_TEST(Rows, LogSoftmax) {
  this->check(
      2, [](const auto& a, auto axis) { return log_softmax(a, axis); }, plain_log_softmax,
      log_softmax_bound);
}
TYPED_TEST(Rows, Standardise) {
  for (const double ddof : {0., 1.}) {
    // equal elements have a deviation of rounding errors
    const auto is_flat = [](const Row& row) {
      return row.size() > 1 && std::equal(row.begin() + 1, row.end(), row.begin());
    };
    const auto plain = [=](const Row& row) { return plain_standardise(row, ddof); };
    const auto bound = [=](const Row& row) {
      const double apart = magnitude(row) / double(moments(row, ddof).second);
      return Bound{16 * (apart + 1), 16 * (apart + 1)};
    };
    this->check(
        4, [=](const auto& a, auto axis) { return standardise(a, axis, {.ddof = ddof}); },
        [=](const Row& row) { return is_flat(row) ? Row(row.size(), no_claim) : plain(row); },
        bound);
  }
}
TEST(RowsOf, ExpressionsAreNotStored) {
  const auto a = to_device(test::counted<float>({40, 300}));
  const DeviceNDArray<float> b = eval(a(all, range(_, _, -1)) / 200.f), sum = eval(a / 50.f + b);
  for (const int axis : {0, 1}) {
    fake::reset_statistics();
    const auto fused = softmax(a / 50.f + b, axis);
    if (test::kind() == test::Kind::fake) {
      EXPECT_EQ(fake::statistics().launches, 1);
    }
    EXPECT_EQ(values(fused), values(softmax(sum, axis)));
    EXPECT_EQ(values(standardise(a / 50.f + b, axis)), values(standardise(sum, axis)));
    EXPECT_EQ(values(logsumexp(a / 50.f + b, axis)), values(logsumexp(sum, axis)));
  }
}

TEST(RowsOf, TypesOfTheResults) {
  const auto is = []<class T>(std::type_identity<T>, const auto& array) {
    return std::is_same_v<typename std::remove_cvref_t<decltype(array)>::value_type, T>;
  };
  EXPECT_TRUE(is(std::type_identity<double>(), softmax(zeros<int>({3}))));
  EXPECT_TRUE(is(std::type_identity<double>(), logsumexp(zeros<bool>({3}))));
  EXPECT_TRUE(is(std::type_identity<float>(), log_softmax(zeros<float>({3}))));
  EXPECT_TRUE(is(std::type_identity<Half>(), standardise(zeros<Half>({3}))));
  EXPECT_TRUE(is(std::type_identity<C64>(), standardise(zeros<C64>({3}))));
}

TEST(RowsOf, SpecialValues) {
  const Row rows[] = {{1, infinity},        {-infinity, -infinity}, {-infinity, 2, 3}, {nan, 1, 2},
                      {infinity, infinity}, {-infinity, infinity},  {1e308, -1e308},   {7}};
  for (const Row& row : rows) {
    const auto x = to_device(row);
    SCOPED_TRACE(to_string(x));
    const auto soft = values(softmax(x)), logs = values(log_softmax(x));
    const Row want = plain_softmax(row);
    const double all = plain_logsumexp(row), sum = logsumexp(x).item();
    EXPECT_TRUE(is_near(sum, all, 1e-12 * std::abs(all))) << sum << ", not " << all;
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_TRUE(is_near(soft[i], want[i], 1e-14)) << soft[i] << ", not " << want[i];
      EXPECT_TRUE(is_near(logs[i], row[i] - all, 1e-14 * std::abs(row[i]))) << logs[i];
    }
  }
}

TEST(RowsOf, WithoutElements) {
  for (const Ints& shape : {Ints{0}, Ints{3, 0}, Ints{0, 3}}) {
    const auto x = zeros<float>(Shape(shape));
    EXPECT_EQ(softmax(x).shape(), x.shape());
    EXPECT_EQ(log_softmax(x, 0).shape(), x.shape());
    EXPECT_EQ(standardise(x).shape(), x.shape());
  }
  EXPECT_EQ(logsumexp(zeros<float>({0})).item(), -infinity);
  EXPECT_EQ(values(logsumexp(zeros<float>({2, 0}), 1)), std::vector<float>(2, -INFINITY));
  EXPECT_EQ(logsumexp(zeros<float>({2, 0}), 0).shape(), (Shape{0}));
}

TEST(RowsOf, AxesThatThereAreNotAreRefused) {
  const auto x = zeros<float>({2, 3});
  EXPECT_THROW(softmax(x, 2), ShapeError);
  EXPECT_THROW(log_softmax(x, -3), ShapeError);
  EXPECT_THROW(standardise(x + 1.f, 5), ShapeError);
  EXPECT_THROW(logsumexp(x, {0, 0}), ShapeError);
  EXPECT_EQ(softmax(full<float>({}, 3)).item(), 1);
}

TEST(RowsOf, BroadcastAndMisalignedElements) {
  const auto row = to_device(Row{1, 2, 4});
  EXPECT_EQ(values(softmax(row.broadcast_to({2, 3}), 0)), Row(6, 0.5));
  const auto one = full<double>({1}, 5).broadcast_to({1000});
  EXPECT_EQ(values(softmax(one)), Row(1000, 1e-3));
  const auto bytes = zeros<std::uint8_t>({4 * 8 + 1});
  const DeviceNDArray<float> a({{8}, {4}}, bytes.device_pointer() + 1, bytes.buffer());
  a.fill(2);
  EXPECT_EQ(values(softmax(a)), std::vector<float>(8, 0.125f));
}

TEST(RowsOf, ComplexElementsHaveARealDeviation) {
  const auto x = to_device(std::vector<C64>{{1, 1}, {3, 5}, {-1, 3}, {1, -1}});
  const auto got = values(standardise(x));
  const auto want = values(eval((x - mean(x)) / std(x)));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LT(std::abs(got[i] - want[i]), 1e-6f);
}

TEST(RowsOf, AreQueuedInTheStreamOfTheirElements) {
  const Stream stream;
  const auto a = full<float>({10, 100}, 1, {.stream = stream});
  const auto s = softmax(a), l = logsumexp(a, 1);
  EXPECT_TRUE(s.stream() == stream && l.stream() == stream);
  EXPECT_EQ(values(s), std::vector<float>(1000, 0.01f));
  const auto on_cpu = full<float>({10}, 1, {.device = Device::cpu()});
  EXPECT_EQ(softmax(on_cpu).device(), Device::cpu());
}

TEST(LogSumExp, OfDrawnAxes) {
  Random random(6);
  for (int round = 0; round < (test::kind_is_slow() ? 25 : 200); ++round) {
    Ints shape;
    const auto seen = drawn_array<float>(random, shape);
    if (seen.array.empty()) continue;
    const auto host = values(seen.array);
    const auto axis = random.between(0, std::int64_t(shape.size()) - 1);
    const Split split(shape, static_cast<std::size_t>(axis));
    const auto got = values(logsumexp(seen.array, axis));
    Row whole(host.begin(), host.end());
    EXPECT_NEAR(logsumexp(seen.array).item(), plain_logsumexp(whole), 1e-5);
    for (std::int64_t r = 0; r < split.outer * split.inner; ++r) {
      Row row;
      for (std::int64_t i = 0; i < split.extent; ++i) row.push_back(host[split.place(r, i)]);
      ASSERT_NEAR(got[static_cast<std::size_t>(r)], plain_logsumexp(row), 1e-5) << round;
    }
  }
}

}  // namespace
}  // namespace quarry
