// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/quarry.hpp>

#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "ops/on_cpu.hpp"

/// Sums and means of integers of less than 64 bits and of bools on the CPU device, whose loops add
/// them up in lanes that are widened before they overflow: exact for elements that are all at one
/// end of their type, with vectors of every length.
namespace quarry {
namespace {

using backend::cpu_backend::limit_vectors;
using test::lengths;
using test::OnCpu;

enum class Fill { lowest, highest, drawn };

template <class T>
using Total = std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>, std::uint64_t,
                                 std::int64_t>;

/// A matrix and a copy of its elements. A bool is a byte that is not 0, whatever it is.
template <class T>
struct Matrix {
  std::int64_t rows, columns;
  DeviceNDArray<T> device;
  std::vector<Total<T>> host;

  Matrix(std::int64_t m, std::int64_t n, Fill fill, std::mt19937& random)
      : rows(m), columns(n), device(Shape{m, n}) {
    using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    using Limits = std::numeric_limits<Stored>;
    auto* const bytes = static_cast<char*>(static_cast<void*>(device.device_pointer()));
    for (std::int64_t k = 0; k < m * n; ++k) {
      Stored value = fill == Fill::lowest ? Limits::min() : Limits::max();
      if (fill == Fill::drawn) value = static_cast<Stored>(random() % 3 ? random() : 0);
      std::memcpy(bytes + k * std::int64_t{sizeof(T)}, &value, sizeof(T));
      host.push_back(std::is_same_v<T, bool> ? Total<T>(value != 0) : Total<T>(value));
    }
  }
  Total<T> sum_of_row(std::int64_t i, std::int64_t first, std::int64_t last,
                      std::int64_t step = 1) const {
    Total<T> sum = 0;
    for (std::int64_t j = first; j < last; j += step) sum += host[std::size_t(i * columns + j)];
    return sum;
  }
  Total<T> sum_of_column(std::int64_t j) const {
    Total<T> sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += host[std::size_t(i * columns + j)];
    return sum;
  }
};

template <class T>
class NarrowSums : public testing::Test {};
using Narrow = testing::Types<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                              std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(NarrowSums, Narrow);

TYPED_TEST(NarrowSums, OfRowsAndColumnsAreExact) {
  const OnCpu device;
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return std::int64_t(random() % n); };
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Fill fill = Fill(repeat % 3);
    const std::int64_t m = 1 + below(repeat % 2 ? 20 : 700), n = 1 + below(repeat % 2 ? 3000 : 150);
    const Matrix<TypeParam> x(m, n, fill, random);
    const std::int64_t first = below(std::uint32_t(n)), step = 1 + below(3);
    limit_vectors(lengths[repeat / 3 % 3]);
    SCOPED_TRACE(testing::PrintToString(std::tuple(m, n, int(fill), first, step)));
    const auto part = x.device(all, range(first, _));
    const auto rows = sum(part, 1), some = sum(x.device(all, range(first, _, step)), 1);
    const auto columns = sum(x.device, 0);
    static_assert(std::is_same_v<typename decltype(rows)::value_type, Total<TypeParam>>);
    const auto means = mean(part, 1), column_means = mean(x.device, 0);
    const auto copied = sum(where(part == part, part, part), 1);  // computed, not read in place
    Total<TypeParam> whole = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      const auto want = x.sum_of_row(i, first, n);
      ASSERT_EQ(rows(i).item(), want) << i;
      ASSERT_EQ(copied(i).item(), want) << i;
      ASSERT_EQ(means(i).item(), double(want) / double(n - first)) << i;
      ASSERT_EQ(some(i).item(), x.sum_of_row(i, first, n, step)) << i;
      whole += x.sum_of_row(i, 0, n);
    }
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(columns(j).item(), x.sum_of_column(j)) << j;
      ASSERT_EQ(column_means(j).item(), double(x.sum_of_column(j)) / double(m)) << j;
    }
    ASSERT_EQ(sum(x.device).item(), whole);
    ASSERT_EQ(sum(x.device.template astype<Total<TypeParam>>()).item(), whole);
  }
}

/// Longer than any lane may be before it is widened.
TYPED_TEST(NarrowSums, OfMillionsAreExact) {
  const OnCpu device;
  std::mt19937 random(2);
  for (const Fill fill : {Fill::lowest, Fill::highest, Fill::drawn}) {
    const std::int64_t n = 3000001;
    const Matrix<TypeParam> x(1, n, fill, random);
    const auto tall = x.device.reshape({n, 1});
    const auto want = x.sum_of_row(0, 0, n);
    for (const auto length : lengths) {
      limit_vectors(length);
      EXPECT_EQ(sum(x.device).item(), want);
      EXPECT_EQ(sum(tall, 0).item(), want);
      EXPECT_EQ(mean(x.device, 1).item(), double(want) / double(n));
    }
  }
}

TEST(NarrowSums, OfComparisonsCount) {
  const OnCpu device;
  std::mt19937 random(3);
  const Matrix<std::int8_t> x(300, 500, Fill::drawn, random);
  for (const auto length : lengths) {
    limit_vectors(length);
    const auto rows = sum(x.device > 10, 1), columns = sum(x.device > 10, 0);
    const auto counts = count_nonzero(x.device, 1);
    for (std::int64_t i = 0; i < 300; ++i) {
      std::int64_t above = 0, nonzero = 0;
      for (std::int64_t j = 0; j < 500; ++j) {
        above += x.host[std::size_t(i * 500 + j)] > 10;
        nonzero += x.host[std::size_t(i * 500 + j)] != 0;
      }
      ASSERT_EQ(rows(i).item(), above) << i;
      ASSERT_EQ(counts(i).item(), nonzero) << i;
    }
    for (std::int64_t j = 0; j < 500; ++j) {
      std::int64_t above = 0;
      for (std::int64_t i = 0; i < 300; ++i) above += x.host[std::size_t(i * 500 + j)] > 10;
      ASSERT_EQ(columns(j).item(), above) << j;
    }
  }
}

TEST(NarrowSums, TruthsOfShortRowsOfBools) {
  const OnCpu device;
  std::mt19937 random(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::int64_t m = 20, n = 1 + std::int64_t(random() % 300);
    DeviceNDArray<bool> x(Shape{m, n});
    auto* const bytes = static_cast<std::uint8_t*>(static_cast<void*>(x.device_pointer()));
    const bool few = repeat % 2 == 0;  // trues, else falses
    for (std::int64_t k = 0; k < m * n; ++k) {
      const bool is_rare = std::int64_t(random()) % n == 0;
      bytes[k] = is_rare == few ? std::uint8_t(1 + random() % 255) : 0;
    }
    limit_vectors(lengths[repeat % 3]);
    const auto any_of = any(x, 1), all_true = all_of(x, 1);
    for (std::int64_t i = 0; i < m; ++i) {
      bool has_one = false, has_all = true;
      for (std::int64_t j = 0; j < n; ++j) {
        has_one |= bytes[i * n + j] != 0;
        has_all &= bytes[i * n + j] != 0;
      }
      ASSERT_EQ(any_of(i).item(), has_one) << n;
      ASSERT_EQ(all_true(i).item(), has_all) << n;
    }
  }
}

}  // namespace
}  // namespace quarry
