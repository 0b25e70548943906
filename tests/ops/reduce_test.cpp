// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <string_view>

#include <Eigen/Core>

namespace quarry {
namespace {

using test::counted;
using test::Ints;
using test::Random;
using test::Seen;
using test::values;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

/// Axes of `shape` that the bits of `mask` choose.
ReduceAxes chosen(std::size_t rank, unsigned mask) {
  ReduceAxes axes;
  std::vector<std::int64_t> list;
  for (std::size_t d = 0; d < rank; ++d) {
    if (mask >> d & 1) list.push_back(static_cast<std::int64_t>(d));
  }
  switch (list.size()) {
    case 1:
      return {Extent(list[0])};
    case 2:
      return {Extent(list[0]), Extent(list[1])};
    case 3:
      return {Extent(list[0]), Extent(list[1]), Extent(list[2])};
    default:
      return {Extent(list[0]), Extent(list[1]), Extent(list[2]), Extent(list[3])};
  }
}

/// The positions, in a model, that go into each output.
std::vector<Ints> groups(const test::Model& m, unsigned mask) {
  std::size_t outputs = 1;
  for (std::size_t d = 0; d < m.shape.size(); ++d) {
    if (!(mask >> d & 1)) outputs *= static_cast<std::size_t>(m.shape[d]);
  }
  std::vector<Ints> all(outputs);
  Ints index(m.shape.size(), 0);
  for (std::size_t k = 0; k < m.at.size(); ++k) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < m.shape.size(); ++d) {
      if (!(mask >> d & 1)) to = to * m.shape[d] + index[d];
    }
    all[static_cast<std::size_t>(to)].push_back(m.at[k]);
    for (std::size_t d = m.shape.size(); d-- > 0 && ++index[d] == m.shape[d];) index[d] = 0;
  }
  return all;
}

class RandomReduce : public testing::Test {
 protected:
  /// Compares a reduction of random views over random axes with `fold` of each group.
  template <class Reduce, class Fold>
  void check(unsigned seed, std::int64_t smallest, Reduce reduce, Fold fold) {
    Random random(seed);
    for (int round = 0; round < (test::kind_is_slow() ? 60 : 1500); ++round) {
      const auto rank = static_cast<std::size_t>(random.between(1, 4));
      Ints shape;
      for (std::size_t d = 0; d < rank; ++d) shape.push_back(random.between(smallest, 7));
      auto host = counted<int>(shape);
      std::shuffle(host.data(), host.data() + host.count(), random.engine());
      Seen<int> seen{to_device(host), test::whole(shape)};
      seen = random.shuffle(seen);
      if (smallest == 0 || random.coin()) seen = random.slice(seen);
      if (smallest > 0 && seen.array.empty()) continue;
      const auto mask = static_cast<unsigned>(random.between(1, (1 << rank) - 1));
      const auto got = reduce(seen.array, chosen(rank, mask), ReduceOptions{});
      const auto kept = reduce(seen.array, chosen(rank, mask), ReduceOptions{.keepdims = true});
      std::vector<std::int64_t> want;
      Shape kept_shape, all_kept;
      for (std::size_t d = 0; d < rank; ++d) {
        const bool gone = mask >> d & 1;
        if (!gone) kept_shape.push_back(seen.model.shape[d]);
        all_kept.push_back(gone ? 1 : seen.model.shape[d]);
      }
      for (const Ints& group : groups(seen.model, mask)) {
        std::vector<std::int64_t> list;
        for (const auto at : group) list.push_back(host[static_cast<std::size_t>(at)]);
        want.push_back(fold(list));
      }
      ASSERT_EQ(got.shape(), kept_shape) << "round " << round;
      ASSERT_EQ(kept.shape(), all_kept);
      const auto list = values(got), same = values(kept);
      ASSERT_TRUE(std::equal(list.begin(), list.end(), want.begin(), want.end()))
          << "round " << round << " shape " << seen.array.shape() << " mask " << mask;
      ASSERT_EQ(list, same);
    }
  }
};

TEST_F(RandomReduce, Sums) {
  check(
      41, 0, [](const auto& a, const auto&... rest) { return sum(a, rest...); },
      [](const auto& list) { return std::accumulate(list.begin(), list.end(), std::int64_t{0}); });
}
TEST_F(RandomReduce, SumsOfExpressions) {
  check(
      42, 0, [](const auto& a, const auto&... rest) { return sum(a * 2 + a, rest...); },
      [](const auto& list) {
        return 3 * std::accumulate(list.begin(), list.end(), std::int64_t{0});
      });
}
TEST_F(RandomReduce, Minima) {
  check(
      43, 1, [](const auto& a, const auto&... rest) { return min(a, rest...); },
      [](const auto& list) { return *std::min_element(list.begin(), list.end()); });
}
TEST_F(RandomReduce, PositionsOfMaxima) {
  check(
      44, 1, [](const auto& a, const auto&... rest) { return argmax(a / 4, rest...); },
      [](const auto& list) { return std::max_element(list.begin(), list.end()) - list.begin(); });
}
TEST_F(RandomReduce, PositionsOfTheFirstOfEqualMinima) {
  check(
      45, 1, [](const auto& a, const auto&... rest) { return argmin(floor_divide(a, 5), rest...); },
      [](auto list) {
        for (auto& v : list) v /= 5;
        return std::min_element(list.begin(), list.end()) - list.begin();
      });
}
TEST_F(RandomReduce, Truth) {
  check(
      46, 0,
      [](const auto& a, const auto&... rest) {
        return eval(any(a % 3 == 0, rest...) + all_of(a % 3 == 0, rest...) * 2 + 0);
      },
      [](const auto& list) {
        const auto third = [](auto v) { return v % 3 == 0; };
        return std::int64_t{std::any_of(list.begin(), list.end(), third)} +
               2 * std::int64_t{std::all_of(list.begin(), list.end(), third)};
      });
}

TEST(Reduce, TypesOfResultsAreNumPys) {
  using std::is_same_v;
  static_assert(is_same_v<decltype(sum(zeros<bool>({1})))::value_type, std::int64_t>);
  static_assert(is_same_v<decltype(sum(zeros<std::uint8_t>({1})))::value_type, std::uint64_t>);
  static_assert(is_same_v<decltype(sum(zeros<float>({1})))::value_type, float>);
  static_assert(is_same_v<decltype(mean(zeros<int>({1})))::value_type, double>);
  static_assert(is_same_v<decltype(mean(zeros<Eigen::half>({1})))::value_type, Eigen::half>);
  static_assert(is_same_v<decltype(max(zeros<std::int8_t>({1})))::value_type, std::int8_t>);
  static_assert(is_same_v<decltype(argmax(zeros<float>({1})))::value_type, std::int64_t>);
  static_assert(is_same_v<decltype(any(zeros<float>({1})))::value_type, bool>);
  SUCCEED();
}

// Positions and counts beyond those of an int, without the memory of so many elements.
TEST(Reduce, MoreElementsThanAnIntCounts) {
  const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
  if (kind && std::string_view(kind) == "fake") GTEST_SKIP() << "minutes of its kernels";
  const std::int64_t n = (std::int64_t{1} << 31) + 3;
  const auto many = ones<std::int8_t>({1}).broadcast_to({n});
  EXPECT_EQ(sum(many).item(), n);
  EXPECT_EQ(argmax(many).item(), 0);
}

TEST(Reduce, SmallIntegersAddUpWide) {
  EXPECT_EQ(sum(full<std::int8_t>({1000}, 127)).item(), 127000);
  EXPECT_EQ(sum(full<bool>({300}, true)).item(), 300);
  EXPECT_EQ(prod(full<std::int8_t>({5}, 100)).item(), 10000000000);
  EXPECT_EQ(mean(full<std::uint8_t>({1000}, 255)).item(), 255.0);
}

TEST(Reduce, IntegerOverflowWraps) {
  const auto high = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sum(full<std::int64_t>({2}, high)).item(), -2);
  EXPECT_EQ(prod(full<std::int64_t>({2}, high)).item(), 1);
}

TEST(Reduce, HalfPrecisionAddsUpInSingle) {
  const auto ones16 = full<Eigen::half>({4096}, Eigen::half(1.f));
  EXPECT_EQ(float(sum(ones16).item()), 4096.f);
  EXPECT_EQ(float(mean(full<Eigen::half>({70000}, Eigen::half(2.f))).item()), 2.f);
  EXPECT_EQ(float(sum(full<Eigen::bfloat16>({1000}, Eigen::bfloat16(1.f))).item()), 1000.f);
}

TEST(Reduce, ALongSumStaysWithinItsErrorBound) {
  const std::int64_t n = 1 << 20;
  const auto a = full<float>({n}, 0.1f);
  EXPECT_NEAR(sum(a).item(), 0.1f * float(n), 0.1f * float(n) * 1e-5f);
  const auto x = arange(0.0, double(n));
  EXPECT_EQ(sum(x).item(), double(n) * double(n - 1) / 2);
  EXPECT_EQ(sum(x.reshape({1024, 1024}), 0)(1).item(), 1024.0 + 1024.0 * 1024.0 * 1023.0 / 2);
  EXPECT_EQ(sum(x.reshape({1024, 1024}), 1)(0).item(), 1023.0 * 1024.0 / 2);
}

TEST(Reduce, RepeatedSumsAreTheSameBits) {
  const auto x = eval(sin(arange(0.0, 100000.0)));
  const double first = sum(x).item();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sum(x).item(), first);
}

TEST(Reduce, NanPropagatesWhereverItStands) {
  for (const std::int64_t n : {1, 2, 33, 1000, 20000}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      const auto a = arange(double(n));
      a(at) = nan;
      EXPECT_TRUE(std::isnan(min(a).item()) && std::isnan(max(a).item())) << n << ' ' << at;
      EXPECT_TRUE(std::isnan(sum(a).item()));
      EXPECT_EQ(argmin(a).item(), at);
      EXPECT_EQ(argmax(a).item(), at);
      EXPECT_TRUE(std::isnan(max(a.reshape({1, n}), 1).item()));
      EXPECT_EQ(argmax(a.reshape({n, 1}), 0).item(), at);
    }
  }
}

TEST(Reduce, TheFirstOfSeveralNansIsTheAnswer) {
  const auto a = arange(10000.0);
  a(range(5000, 5003)) = nan;
  a(9000) = nan;
  EXPECT_EQ(argmin(a).item(), 5000);
  EXPECT_EQ(argmax(a).item(), 5000);
  const auto rows = a.reshape({100, 100});
  EXPECT_EQ(argmax(rows, 0)(1).item(), 50);
  EXPECT_EQ(argmax(rows, 1)(90).item(), 0);
  EXPECT_EQ(argmax(rows, 1)(91).item(), 99);
}

/// The position of the first largest value, or of the first NaN.
std::int64_t first_largest(const std::vector<float>& v) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(v[best])) break;
    if (std::isnan(v[i]) || v[i] > v[best]) best = i;
  }
  return static_cast<std::int64_t>(best);
}

TEST(Reduce, PositionsAreThoseOfTheViewInAnyOrderOfItsAxes) {
  const DeviceNDArray<float> a = remainder(arange(7.f * 65 * 48) * 31.f, 97.f);
  for (const bool has_nans : {false, true}) {
    if (has_nans) a(range(20001, _, 501)) = std::nanf("");
    Ints order = {0, 1, 2};
    do {
      const auto view = a.reshape({7, 65, 48}).transpose(order);
      EXPECT_EQ(argmax(view).item(), first_largest(values(view)));
      EXPECT_EQ(argmin(-view).item(), first_largest(values(view)));
      const auto rows = view(1, ellipsis).copy();
      EXPECT_EQ(argmax(view, {1, 2})(1).item(), first_largest(values(rows)));
      EXPECT_EQ(argmax(view(ellipsis, range(_, _, 2))).item(),
                first_largest(values(view(ellipsis, range(_, _, 2)).copy())));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Reduce, ResultsMayBeInAnotherOrderThanElements) {
  constexpr std::int64_t rows = 713, columns = 803, layers = 3;  // enough for tiles of outputs
  const auto value = [](std::int64_t i) { return static_cast<std::int8_t>(i * i % 251 - 125); };
  std::vector<std::int8_t> host;
  for (std::int64_t i = 0; i < layers * rows * columns; ++i) host.push_back(value(i));
  const auto view = to_device(host).reshape({layers, rows, columns}).transpose({0, 2, 1});
  const auto sums = values(sum(view, 0)), places = values(argmax(view, 0));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    std::int64_t total = 0, best = 0;
    const auto at = [&](std::int64_t k) {
      return value((k * rows + i % rows) * columns + i / rows);
    };
    for (std::int64_t k = 0; k < layers; ++k) {
      total += at(k);
      if (at(k) > at(best)) best = k;
    }
    ASSERT_EQ(sums[static_cast<std::size_t>(i)], total) << i;
    ASSERT_EQ(places[static_cast<std::size_t>(i)], best) << i;
  }
}

TEST(Reduce, AllInfinitiesHaveAPosition) {
  for (const std::int64_t n : {1, 100, 5000}) {
    EXPECT_EQ(argmax(full<double>({n}, -infinity)).item(), 0);
    EXPECT_EQ(argmin(full<double>({n}, infinity)).item(), 0);
    EXPECT_EQ(max(full<double>({n}, -infinity)).item(), -infinity);
    EXPECT_EQ(argmax(full<std::int8_t>({n}, -128)).item(), 0);
    EXPECT_EQ(argmin(full<std::uint64_t>({n}, ~std::uint64_t{0})).item(), 0);
  }
}

TEST(Reduce, WithoutElementsTheIdentityOrAnError) {
  const auto a = zeros<float>({0, 3});
  EXPECT_EQ(values(sum(a, 0)), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(values(prod(a, 0)), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(values(all_of(a, 0)), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(values(any(a, 0)), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(sum(a, 1).shape(), (Shape{0}));
  EXPECT_EQ(sum(a, {}, {.keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_TRUE(std::isnan(mean(a).item()));
  EXPECT_THROW(min(a), ShapeError);
  EXPECT_THROW(max(a, 0), ShapeError);
  EXPECT_THROW(argmin(a, 0), ShapeError);
  EXPECT_THROW(max(zeros<int>({0, 0}), 0), ShapeError);  // as NumPy, though nothing is to be found
  EXPECT_THROW(argmax(zeros<int>({0, 0}), 1), ShapeError);
  EXPECT_EQ(max(a, 1).shape(), (Shape{0}));  // nothing to compute
}

TEST(Reduce, AxesThatAreNotThereAreRefused) {
  const auto a = zeros<float>({2, 3});
  EXPECT_THROW(sum(a, 2), ShapeError);
  EXPECT_THROW(sum(a, -3), ShapeError);
  EXPECT_THROW(sum(a, {0, 0}), ShapeError);
  EXPECT_THROW(sum(a, {0, -2}), ShapeError);
  EXPECT_THROW(sum(a, {0, 1, 2}), ShapeError);
  EXPECT_THROW(max(a, std::numeric_limits<std::int64_t>::min()), ShapeError);
  EXPECT_THROW(sum(zeros<float>({}), 1), ShapeError);
  EXPECT_EQ(sum(a, -1).shape(), (Shape{2}));
}

TEST(Reduce, A0dArrayTakesTheAxes0AndMinus1) {
  const auto a = full<float>({}, 5.f);
  for (const int axis : {0, -1}) {
    EXPECT_EQ(sum(a, axis).item(), 5.f);
    EXPECT_EQ(prod(a, axis).item(), 5.f);
    EXPECT_EQ(min(a, axis).item(), 5.f);
    EXPECT_EQ(max(a + 1, axis).item(), 6.f);
    EXPECT_EQ(mean(a, axis).item(), 5.f);
    EXPECT_EQ(argmax(a, axis).item(), 0);
    EXPECT_EQ(argmin(a, axis).item(), 0);
    EXPECT_TRUE(any(a, axis).item() && all_of(a, axis).item());
    EXPECT_EQ(sum(a, axis, {.keepdims = true}).shape(), Shape{});
  }
  for (const int axis : {1, -2, 7}) EXPECT_THROW(sum(a, axis), ShapeError) << axis;
  EXPECT_THROW(sum(a, {0, 0}), ShapeError);
  EXPECT_THROW(sum(a, Axes{0}), ShapeError);  // as NumPy's axis=(0,)
}

TEST(Reduce, NoAxesReduceNothing) {  // NumPy's axis=()
  const auto a = arange(24).reshape({2, 3, 4});
  const std::vector<int> numbers = values(a);
  for (const auto& view : {a, a.transpose({2, 0, 1}), a(all, range(_, _, -1), range(_, _, 2))}) {
    const auto flat = values(view);
    const auto sums = sum(view, Axes{});
    EXPECT_EQ(sums.shape(), view.shape());
    EXPECT_EQ(values(sums), (std::vector<std::int64_t>(flat.begin(), flat.end())));
    EXPECT_EQ(values(max(view, Axes{})), flat);
    EXPECT_EQ(values(min(view + 1, Axes{})), values(view + 1));
    EXPECT_EQ(values(mean(view, Axes{})), (std::vector<double>(flat.begin(), flat.end())));
    EXPECT_EQ(values(argmax(view, Axes{})), std::vector<std::int64_t>(flat.size(), 0));
    EXPECT_EQ(values(any(view, Axes{})), values(view != 0));
  }
  EXPECT_EQ(sum(a, Axes{}, {.keepdims = true}).shape(), a.shape());
  EXPECT_EQ(max(zeros<int>({0, 3}), Axes{}).shape(), Shape({0, 3}));
  EXPECT_EQ(sum(full<float>({}, 5.f), Axes{}).item(), 5.f);
  EXPECT_EQ(sum(a, {}).item(), 276);  // no argument: all axes
  EXPECT_EQ(values(sum(a, Axes{0, -1})), values(sum(a, {0, 2})));
}

TEST(Reduce, ComplexSumsAndMeans) {
  using C = std::complex<float>;
  const auto a = to_device({C(1, 2), C(3, -4)});
  EXPECT_EQ(sum(a).item(), C(4, -2));
  EXPECT_EQ(mean(a).item(), C(2, -1));
  EXPECT_EQ(prod(a).item(), C(11, 2));
}

TEST(Reduce, BroadcastViewsCountEveryTime) {
  const auto row = to_device({1, 2, 3});
  EXPECT_EQ(sum(row.broadcast_to({1000, 3})).item(), 6000);
  EXPECT_EQ(values(sum(row.broadcast_to({1000, 3}), 0)),
            (std::vector<std::int64_t>{1000, 2000, 3000}));
  EXPECT_EQ(values(sum(row.reshape({3, 1}) * row, 1)), (std::vector<std::int64_t>{6, 12, 18}));
}

TEST(Reduce, AnExpressionOfScalarsOnlyShapesNothing) {
  const auto a = full<double>({}, 3.0);
  EXPECT_EQ(sum(a * 2.0).item(), 6.0);
  EXPECT_EQ(argmax(a * 2.0).item(), 0);
}

}  // namespace
}  // namespace quarry
