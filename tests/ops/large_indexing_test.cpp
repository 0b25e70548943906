// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

/// Indexing and shape functions where sizes and offsets do not fit in 31 or 32 bits, on devices
/// that have the memory.
namespace quarry {
namespace {

using Bytes = DeviceNDArray<std::int8_t>;
using Places = std::vector<std::int64_t>;

class LargeIndexing : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    constexpr std::size_t gibibyte = std::size_t{1} << 30;
    const std::size_t wanted = (Device().is_cpu() ? 160 : 40) * gibibyte;
    if (Device().memory_info().free < wanted) GTEST_SKIP() << "wants " << wanted << " bytes";
  }
  void TearDown() override { trim_pool(Device()); }
};
INSTANTIATE_TEST_SUITE_P(Elements, LargeIndexing,
                         testing::Values((std::int64_t{1} << 31) + 1, (std::int64_t{1} << 32) + 1));

template <class A>
Places listed(const A& array) {
  return eval(array).ravel().template astype<std::int64_t>().template copy_to_host<Places>();
}

TEST_P(LargeIndexing, MasksReadAndWrite) {
  const std::int64_t n = GetParam();
  const Places places{0, 1, n / 2, n - 2, n - 1};
  const Bytes a = zeros<std::int8_t>({n});
  const auto mask = zeros<bool>({n});
  for (const std::int64_t place : places) mask(place) = true;
  EXPECT_EQ(listed(flatnonzero(mask)), places);
  EXPECT_EQ(listed(argwhere(mask)), places);
  a(mask) = 3;
  EXPECT_EQ(sum(a).item(), 15);
  a(mask) = to_device(std::vector<std::int8_t>{1, 2, 3, 4, 5});
  EXPECT_EQ(listed(a(mask)), Places({1, 2, 3, 4, 5}));
  EXPECT_EQ(listed(compress(mask, a)), Places({1, 2, 3, 4, 5}));
  a(mask) += std::int8_t{1};
  EXPECT_EQ(listed(a(places)), Places({2, 3, 4, 5, 6}));
  EXPECT_EQ(a(a == 0).size(), n - 5);
  const Bytes others = a(!mask);
  EXPECT_EQ(others.size(), n - 5);
  EXPECT_EQ(sum(others).item(), 0);
  putmask(a, mask, to_device(std::vector<std::int8_t>{9}));
  copyto(a, std::int8_t{7}, a == 9);
  EXPECT_EQ(sum(a).item(), 35);
}

TEST_P(LargeIndexing, PositionsReadAndWrite) {
  const std::int64_t n = GetParam();
  const Places places{n - 1, 0, -2, n / 2};
  const Bytes a = zeros<std::int8_t>({n});
  a(places) = to_device(std::vector<std::int8_t>{1, 2, 3, 4});
  EXPECT_EQ(listed(a(range(n - 2, _))), Places({3, 1}));
  EXPECT_EQ(listed(take(a, to_device(places))), Places({1, 2, 3, 4}));
  add_at(a(places), std::int8_t{1});
  EXPECT_EQ(listed(a(places)), Places({2, 3, 4, 5}));
  EXPECT_THROW(a(Places{n}), IndexError);
  const Bytes rows = a(range(0, n / 3 * 3)).reshape({-1, 3});
  const std::int64_t last = n / 3 - 1;
  rows(Places{last, 0}) = to_device(std::vector<std::int8_t>{6, 7, 8});
  EXPECT_EQ(listed(rows(Places{-1})), Places({6, 7, 8}));
  EXPECT_EQ(listed(rows(Places{0, last}, Places{2, 1})), Places({8, 7}));
}

/// Many positions on a short axis, of which the last one counts.
TEST_P(LargeIndexing, MorePositionsThan32BitsCount) {
  const std::int64_t n = GetParam();
  const Bytes at = ones<std::int8_t>({n});
  at(n - 1) = 2;
  at(0) = 0;
  const Bytes few = to_device(std::vector<std::int8_t>{5, 6, 7});
  const Bytes read = few(at);
  EXPECT_EQ(sum(read).item(), 6 * (n - 2) + 12);
  EXPECT_EQ(listed(read(Places{0, 1, n - 2, n - 1})), Places({5, 6, 6, 7}));
  const Bytes values = zeros<std::int8_t>({n});
  values(Places{0, n - 2, n - 1}) = to_device(std::vector<std::int8_t>{8, 9, 10});
  few(at) = values;
  EXPECT_EQ(listed(few), Places({8, 9, 10}));
  const auto counts = zeros<std::int64_t>({3});
  add_at(counts(at), 1);
  EXPECT_EQ(listed(counts), Places({1, n - 2, 1}));
}

TEST_P(LargeIndexing, JoinsAndTheirLike) {
  const std::int64_t n = GetParam();
  const Bytes a = zeros<std::int8_t>({n});
  a(n - 1) = 1;
  const Bytes twice = concatenate({a, a});
  EXPECT_EQ(listed(flatnonzero(twice)), Places({n - 1, 2 * n - 1}));
  EXPECT_EQ(listed(flatnonzero(stack({a, a}, -1))), Places({2 * n - 2, 2 * n - 1}));
  EXPECT_EQ(listed(flatnonzero(tile(a, {2}))), Places({n - 1, 2 * n - 1}));
  EXPECT_EQ(listed(flatnonzero(repeat(a, 2))), Places({2 * n - 2, 2 * n - 1}));
  EXPECT_EQ(listed(flatnonzero(roll(a, 5))), Places({4}));
  EXPECT_EQ(listed(flatnonzero(flip(a))), Places({0}));
  EXPECT_EQ(listed(flatnonzero(pad(a, 3))), Places({n + 2}));
  EXPECT_EQ(listed(flatnonzero(append(a, Bytes(ones<std::int8_t>({1}))))), Places({n - 1, n}));
  EXPECT_EQ(listed(flatnonzero(delete_(a, range(0, 4)))), Places({n - 5}));
  EXPECT_EQ(listed(flatnonzero(insert(a, {0, n}, 1))), Places({0, n, n + 1}));
  EXPECT_EQ(array_split(a, 2)[1].size(), n / 2);
  EXPECT_EQ(sum(sliding_window_view(a, Shape{4})(n - 4)).item(), 1);
  EXPECT_EQ(trim_zeros(a).size(), 1);
}

TEST_P(LargeIndexing, Matrices) {
  const std::int64_t n = GetParam() / 65535;
  const auto m = eye<std::int8_t>(65537, n);
  EXPECT_EQ(sum(m).item(), n);
  EXPECT_EQ(sum(triu(m, 1)).item(), 0);
  EXPECT_EQ(sum(tril(ones<std::int8_t>({65537, n}))).item(),
            n * (n + 1) / 2 + std::max<std::int64_t>(65537 - n, 0) * n);
  EXPECT_EQ(sum(diagonal(m)).item(), n);
  const auto turned = eval(rot90(m));
  EXPECT_EQ(turned(n - 1, 0).item(), 1);
  EXPECT_EQ(listed(nonzero(turned)[1]), listed(arange<std::int64_t>(n - 1, -1, -1)));
}

}  // namespace
}  // namespace quarry
