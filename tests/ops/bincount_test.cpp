// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <Eigen/Core>

#include <quarry/memory/graph.hpp>

namespace quarry {
namespace {

using test::Host;
using test::Ints;
using test::Random;
using test::Seen;
using test::values;

/// The counts of `values`, at least `minlength` of them.
Ints counted(const std::vector<std::int64_t>& list, std::int64_t minlength) {
  Ints counts(static_cast<std::size_t>(minlength), 0);
  for (const std::int64_t value : list) {
    const auto bin = static_cast<std::size_t>(value);
    if (bin >= counts.size()) counts.resize(bin + 1, 0);
    ++counts[bin];
  }
  return counts;
}

/// Numbers of bins: one, few, as many as a block of a GPU has counters, more.
constexpr std::int64_t bins[] = {1, 2, 7, 100, 1000, 12287, 12288, 12289, 70'000};

template <class T>
struct Drawn {
  Seen<T> seen;
  std::vector<std::int64_t> list;
};

/// Elements less than `below`, which T bounds too, in any layout; the larger ones seldom.
template <class T>
Drawn<T> draw(Random& random, std::int64_t size, std::int64_t below) {
  constexpr T highest = std::numeric_limits<T>::max();
  const std::int64_t last =
      std::cmp_less(highest + 0u, below) ? static_cast<std::int64_t>(highest) : below - 1;
  const bool is_skewed = random.coin();
  Host<T> host(Ints{size});
  for (std::size_t i = 0; i < host.count(); ++i) {
    const std::int64_t most = is_skewed && random.between(0, 9) > 0 ? last / 50 : last;
    host[i] = static_cast<T>(random.between(0, most));
  }
  Drawn<T> result{{to_device(host), test::whole({size})}, {}};
  if (random.coin()) result.seen = random.cut(result.seen, 0, random.range(size));
  for (const std::int64_t at : result.seen.model.at) {
    result.list.push_back(static_cast<std::int64_t>(host[static_cast<std::size_t>(at)]));
  }
  return result;
}

template <class T>
class Bincount : public testing::Test {};
using Integers = testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Bincount, Integers);

TYPED_TEST(Bincount, CountsWhatPlainLoopsCount) {
  Random random(60 + sizeof(TypeParam));
  for (int round = 0; round < (test::kind_is_slow() ? 40 : 200); ++round) {
    const std::int64_t size = random.between(0, random.coin() ? 200 : 100'000);
    const auto below = bins[random.between(0, std::size(bins) - 1)];
    const auto drawn = draw<TypeParam>(random, size, below);
    const std::int64_t minlength = random.coin() ? 0 : random.between(0, 2 * below);
    const auto counts = bincount(drawn.seen.array, minlength);
    static_assert(std::same_as<decltype(counts), const DeviceNDArray<std::int64_t>>);
    ASSERT_EQ(values(counts), counted(drawn.list, minlength))
        << "round " << round << ": " << size << " elements below " << below << ", strides "
        << drawn.seen.array.strides();
  }
}

TYPED_TEST(Bincount, ElementsOutsideOfFixedBinsAreInNone) {
  using Limits = std::numeric_limits<TypeParam>;
  Random random(70 + sizeof(TypeParam));
  for (int round = 0; round < (test::kind_is_slow() ? 20 : 60); ++round) {
    const auto drawn = draw<TypeParam>(random, random.between(0, 5000), 300);
    Host<TypeParam> host(Ints{static_cast<std::int64_t>(drawn.list.size()) + 2});
    for (std::size_t i = 0; i < drawn.list.size(); ++i) {
      host[i] = static_cast<TypeParam>(random.coin() ? drawn.list[i] : -drawn.list[i]);
    }
    host[drawn.list.size()] = Limits::lowest();
    host[drawn.list.size() + 1] = Limits::max();
    const std::int64_t fixed = random.coin() ? random.between(0, 400) : 20'000;
    Ints want(static_cast<std::size_t>(fixed), 0);
    std::vector<double> sums(want.size(), 0), weights(host.count());
    for (std::size_t i = 0; i < host.count(); ++i) {
      weights[i] = static_cast<double>(random.between(-9, 9));
      if (std::cmp_less(host[i] + 0, 0) || std::cmp_greater_equal(host[i] + 0, fixed)) continue;
      ++want[static_cast<std::size_t>(host[i])];
      sums[static_cast<std::size_t>(host[i])] += weights[i];
    }
    const auto x = to_device(host);
    const auto w = to_device(weights);
    ASSERT_EQ(values(bincount(x, {.bins = fixed})), want);
    ASSERT_EQ(values(bincount(x, w, {.bins = fixed})), sums);
  }
}

TEST(BincountOf, FixedBinsCanBeCaptured) {
  const auto x = zeros<int>({1000}), counts = zeros<int>({5});
  const Graph graph = capture([&] { counts(all) = bincount(x % 7, {.bins = 5}).astype<int>(); });
  for (const int first : {0, 3, 1000}) {
    x(all) = arange<int>(first, first + 1000);
    graph();
    std::vector<int> want(5, 0);
    for (int i = first; i < first + 1000; ++i) {
      if (i % 7 < 5) ++want[static_cast<std::size_t>(i % 7)];
    }
    EXPECT_EQ(values(counts), want);
  }
  const auto weights = full<double>({1000}, 0.5), sums = zeros<double>({5});
  const Graph weighted = capture([&] { sums(all) = bincount(x % 7, weights, {.bins = 5}); });
  weighted();
  EXPECT_EQ(values(sums * 2.0), values(counts.astype<double>()));
  EXPECT_EQ(values(bincount(full<int>({1}, 2), {4})), Ints({0, 0, 1, 0})) << "minlength";
  EXPECT_THROW(bincount(x, {.bins = -1}), ShapeError);
  EXPECT_THROW(bincount(x, counts, {.bins = 5}), ShapeError);
}

TYPED_TEST(Bincount, WithoutElementsIsMinlengthZeros) {
  const auto none = zeros<TypeParam>({0});
  EXPECT_EQ(values(bincount(none)), Ints{});
  EXPECT_EQ(values(bincount(none, 3)), Ints({0, 0, 0}));
}

TYPED_TEST(Bincount, RefusesANegativeElementAndNamesIt) {
  if constexpr (std::signed_integral<TypeParam>) {
    const auto lowest = std::numeric_limits<TypeParam>::min();
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{lowest}}) {
      auto a = full<TypeParam>({5000}, 3);
      a(4321).fill(static_cast<TypeParam>(value));
      try {
        bincount(a);
        ADD_FAILURE() << value << " was counted";
      } catch (const IndexError& e) {
        EXPECT_NE(std::string(e.what()).find(' ' + std::to_string(value)), std::string::npos)
            << e.what();
      }
      EXPECT_EQ(values(bincount(a(range(0, 4321)))), Ints({0, 0, 0, 4321}));
    }
  }
}

TEST(BincountOf, ExpressionsWithoutStoringThem) {
  Random random(61);
  for (int round = 0; round < (test::kind_is_slow() ? 20 : 100); ++round) {
    const std::int64_t size = random.between(1, 20'000);
    const auto a = draw<std::int16_t>(random, size, 300);
    const auto n = static_cast<std::int64_t>(a.list.size());
    if (n == 0) continue;
    Host<std::uint8_t> host(Ints{n});
    for (std::size_t i = 0; i < host.count(); ++i) {
      host[i] = static_cast<std::uint8_t>(random.between(0, 255));
    }
    const auto b = to_device(host), last = b(range(n - 1, _));
    std::vector<std::int64_t> list;
    for (std::size_t i = 0; i < host.count(); ++i) {
      list.push_back(a.list[i] % 100 + host[i] + host[host.count() - 1]);
    }
    ASSERT_EQ(values(bincount(a.seen.array % 100 + b + last)), counted(list, 0)) << round;
    std::int64_t large = 0;
    for (const std::int64_t value : a.list) large += value > 150;
    const Ints of_truth = {n - large, large};
    ASSERT_EQ(values(bincount(a.seen.array > 150, 2)), of_truth) << round;
  }
}

TEST(BincountOf, ElementsAtComputedPositions) {
  Random random(62);
  for (const std::int64_t size : {1, 50, 5000, 50'000}) {
    const auto labels = draw<std::int32_t>(random, 300, 400);
    const auto n = static_cast<std::int64_t>(labels.list.size());
    if (n == 0) continue;
    Host<std::int16_t> host(Ints{size});
    std::vector<std::int64_t> list;
    for (std::size_t i = 0; i < host.count(); ++i) {
      host[i] = static_cast<std::int16_t>(random.between(0, n - 1));
      list.push_back(labels.list[static_cast<std::size_t>(host[i])] + 1);
    }
    const auto positions = to_device(host);
    const auto taken = take<IndexMode::wrap>(labels.seen.array, positions);
    ASSERT_EQ(values(bincount(taken + 1)), counted(list, 0)) << size;
  }
}

TEST(BincountOf, OneElementSeenOften) {
  const auto a = full<std::int32_t>({1}, 5).broadcast_to({100'000});
  EXPECT_EQ(values(bincount(a)), Ints({0, 0, 0, 0, 0, 100'000}));
}

TEST(BincountOf, MisalignedElements) {
  const auto bytes = zeros<std::uint8_t>({4 * 1000 + 1});
  const DeviceNDArray<std::int32_t> a({{1000}, {4}}, bytes.device_pointer() + 1, bytes.buffer());
  a.fill(2);
  EXPECT_EQ(values(bincount(a)), Ints({0, 0, 1000}));
}

TEST(BincountWithWeights, AddsThoseOfEveryElement) {
  const auto x = array({3, 1, 1, 0, 3, 1});
  const auto weights = array({0.5f, 1.f, 2.f, -4.f, 0.25f, 8.f});
  const DeviceNDArray<double> sums = bincount(x, weights);
  EXPECT_EQ(values(sums), (std::vector{-4., 11., 0., 0.75}));
  EXPECT_EQ(values(bincount(x, weights * 2, 6)), (std::vector{-8., 22., 0., 1.5, 0., 0.}));
  EXPECT_EQ(values(bincount(x % 2 == 1, array({1, 2, 3, 4, 5, 6}))), (std::vector{4., 17.}));
  EXPECT_EQ(values(bincount(x(range(_, _, -2)), weights(range(_, 3)))),
            (std::vector{1., 0.5 + 2.}));
}

TEST(BincountWithWeights, IsExactBeforeItIsRounded) {
  const auto x = zeros<std::uint8_t>({4});
  EXPECT_EQ(values(bincount(x, array({1e16, 1., 1., -1e16}))), (std::vector{2.}));
}

TEST(BincountWithWeights, WithoutElementsIsMinlengthZeros) {
  EXPECT_EQ(values(bincount(zeros<int>({0}), zeros<float>({0}), 2)), (std::vector{0., 0.}));
  EXPECT_TRUE(values(bincount(zeros<int>({0}), zeros<float>({0}))).empty());
}

TEST(BincountWithWeights, WantsAWeightForEachAndNoNegativeElement) {
  EXPECT_THROW(bincount(array({0, 1}), array({1.})), ShapeError);
  EXPECT_THROW(bincount(array({{0, 1}}), array({{1., 2.}})), ShapeError);
  EXPECT_THROW(bincount(array({0, -1}), array({1., 2.})), IndexError);
  EXPECT_THROW(bincount(array({0}), array({1.}), -1), ShapeError);
}

TEST(BincountOf, WantsOneAxis) {
  const auto text_of = [](const auto& call) {
    try {
      call();
    } catch (const ShapeError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto a = zeros<int>({2, 3});
  EXPECT_NE(text_of([&] { bincount(a); }).find("(2, 3)"), std::string::npos);
  EXPECT_NE(text_of([&] { bincount(a + 1); }).find("(2, 3)"), std::string::npos);
  EXPECT_NE(text_of([&] { bincount(a(0, 0)); }).find("()"), std::string::npos);
  EXPECT_NE(text_of([&] { bincount(a(0), -4); }).find("-4"), std::string::npos);
}

/// The destination of nothing: the library goes on as before.
TEST(BincountOf, TooManyBinsAreATypedError) {
  const auto text_of = []<class E, class T>(std::type_identity<E>, T value) {
    try {
      bincount(full<T>({3}, value));
    } catch (const E& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  constexpr std::type_identity<SizeOverflow> overflow;
  EXPECT_NE(text_of(overflow, std::uint64_t{1} << 63).find("9223372036854775808"),
            std::string::npos);
  EXPECT_NE(text_of(overflow, ~std::uint64_t{0}).find("18446744073709551615"), std::string::npos);
  EXPECT_NE(text_of(overflow, std::numeric_limits<std::int64_t>::max()).find("9223372036854775807"),
            std::string::npos);
  EXPECT_NE(text_of(overflow, std::int64_t{1} << 61), "");
  EXPECT_NE(text_of(std::type_identity<MemoryError>(), std::int64_t{1} << 58), "");
  EXPECT_THROW(bincount(zeros<int>({3}), std::int64_t{1} << 58), MemoryError);
  EXPECT_EQ(values(bincount(full<std::int64_t>({3}, 1))), Ints({0, 3}));
}

TEST(BincountOf, IsQueuedInTheStreamOfItsElements) {
  const Stream stream;
  const auto a = full<int>({1000}, 1, {.stream = stream});
  const auto counts = bincount(a * 2), none = bincount(a(range(0, 0)), 2);
  EXPECT_TRUE(counts.stream() == stream && none.stream() == stream);
  EXPECT_EQ(values(counts), Ints({0, 0, 1000}));
}

TEST(BincountOf, IsOnTheDeviceOfItsElements) {
  const auto a = full<int>({1000}, 1, {.device = Device::cpu()});
  EXPECT_EQ(bincount(a).device(), Device::cpu());
  EXPECT_EQ(bincount(a(range(0, 0))).device(), Device::cpu());
  EXPECT_EQ(values(bincount(a)), Ints({0, 1000}));
}

}  // namespace
}  // namespace quarry
