// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/quarry.hpp>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "ops/on_cpu.hpp"

/// The loops of the CPU device give the same bits with vectors of every length that the processor
/// has, over dense, strided, reversed and repeated operands of drawn lengths; and what plain loops
/// give where the order of operations does not matter.
namespace quarry {
namespace {

using backend::cpu_backend::limit_vectors;
using backend::cpu_backend::Vectors;
using test::lengths;
using test::OnCpu;

std::int64_t drawn_length(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return static_cast<std::int64_t>(random() % 70 + 1);
    case 1:
      return static_cast<std::int64_t>(random() % 300 + 1);
    case 2:
      return static_cast<std::int64_t>(random() % 5000 + 1);
    default:
      return static_cast<std::int64_t>(random() % 40000 + 1);
  }
}

/// Moderate values, and now and then an end of the type, a NaN, an infinity or a zero of each sign.
template <class T>
T drawn(std::mt19937& random) {
  using Limits = std::numeric_limits<T>;
  const bool special = random() % 40 == 0;
  if constexpr (std::is_same_v<T, bool>) {
    return random() % 64 == 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (special) return random() % 2 ? Limits::max() : Limits::min();
    return static_cast<T>(random() % 200);
  } else if constexpr (Limits::is_specialized) {
    const T specials[] = {Limits::infinity(), T(-Limits::infinity()), T(0.f), T(-0.f),
                          Limits::denorm_min()};
    if (special) return specials[random() % 5];
    return T(static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 8.f);
  } else {
    using Real = typename T::value_type;
    return T(drawn<Real>(random), drawn<Real>(random));
  }
}

/// A dense array or a view of a larger one, whose first element is not aligned to a vector.
template <class T>
DeviceNDArray<T> drawn_array(std::int64_t n, std::mt19937& random) {
  const std::int64_t step = random() % 3 == 0 ? 2 : 1;
  const auto lead = static_cast<std::int64_t>(random() % 5);
  DeviceNDArray<T> all(Shape{lead + n * step});
  auto* const data = static_cast<T*>(static_cast<void*>(all.device_pointer()));
  for (std::int64_t i = 0; i < all.size(); ++i) data[i] = drawn<T>(random);
  if (std::is_floating_point_v<T> && random() % 3 == 0) {
    data[random() % static_cast<std::uint64_t>(all.size())] = std::numeric_limits<T>::quiet_NaN();
  }
  DeviceNDArray<T> view = all(range(lead, _, step));
  return random() % 8 == 0 ? DeviceNDArray<T>(view(range(_, _, -1))) : view;
}

template <class T>
std::vector<T> elements(const DeviceNDArray<T>& x) {
  const DeviceNDArray<T> dense = x.copy().ravel();
  synchronize();
  const auto* const data = static_cast<const T*>(static_cast<const void*>(dense.device_pointer()));
  return std::vector<T>(data, data + dense.size());
}

/// The bytes of the elements; one pattern stands for all NaNs.
template <class T>
std::vector<std::string> bits(const DeviceNDArray<T>& x) {
  std::vector<std::string> all;
  const DeviceNDArray<T> dense = x.copy().ravel();
  synchronize();
  const auto* const data =
      static_cast<const char*>(static_cast<const void*>(dense.device_pointer()));
  const auto add = [&](const char* at, std::size_t size, bool is_nan) {
    all.push_back(is_nan ? "NaN" : std::string(at, size));
  };
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    const char* const at = data + static_cast<std::size_t>(i) * sizeof(T);
    if constexpr (requires {
                    typename T::value_type;
                    T().imag();
                  }) {
      typename T::value_type part[2];
      std::memcpy(part, at, sizeof(T));
      for (const auto& p : part) add(reinterpret_cast<const char*>(&p), sizeof(p), p != p);
    } else {
      T value;
      std::memcpy(&value, at, sizeof(T));
      add(at, sizeof(T), value != value);
    }
  }
  return all;
}

/// `f()` gives the bits of an array, the same ones for every length of vectors.
void expect_same_bits(const char* what, const std::function<std::vector<std::string>()>& f) {
  limit_vectors(lengths[0]);
  const auto expected = f();
  for (const Vectors length : lengths) {
    limit_vectors(length);
    EXPECT_TRUE(f() == expected) << what << ", length " << static_cast<int>(length);
  }
}
#define EXPECT_SAME_BITS(...) \
  expect_same_bits(#__VA_ARGS__, [&] { return bits(eval(__VA_ARGS__)); })

template <class T>
class VectorsOf : public testing::Test {};
using Types = testing::Types<bool, std::int8_t, std::int32_t, std::uint64_t, Eigen::half, float,
                             double, std::complex<float>>;
TYPED_TEST_SUITE(VectorsOf, Types);

TYPED_TEST(VectorsOf, ReductionsGiveTheSameBits) {
  using T = TypeParam;
  const OnCpu device;
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::int64_t n = drawn_length(random);
    const auto x = drawn_array<T>(n, random), y = drawn_array<T>(n, random);
    SCOPED_TRACE(n);
    EXPECT_SAME_BITS(sum(x));
    EXPECT_SAME_BITS(prod(x));
    EXPECT_SAME_BITS(mean(x));
    EXPECT_SAME_BITS(quarry::min(x));
    EXPECT_SAME_BITS(quarry::max(x));
    EXPECT_SAME_BITS(argmin(x));
    EXPECT_SAME_BITS(argmax(x));
    EXPECT_SAME_BITS(any(x));
    EXPECT_SAME_BITS(all_of(x));
    EXPECT_SAME_BITS(var(x));
    EXPECT_SAME_BITS(standardise(x));
    if constexpr (dtype_of<T>.kind() != Kind::complex) {
      EXPECT_SAME_BITS(logsumexp(x));
      EXPECT_SAME_BITS(softmax(x));
      EXPECT_SAME_BITS(log_softmax(x * y));
    }
    EXPECT_SAME_BITS(sum(x * y));
    EXPECT_SAME_BITS(quarry::max(x + y));
  }
}

TYPED_TEST(VectorsOf, ReductionsOfRowsAndColumnsGiveTheSameBits) {
  using T = TypeParam;
  const OnCpu device;
  std::mt19937 random(2);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const auto columns = static_cast<std::int64_t>(random() % 90 + 1),
               rows = static_cast<std::int64_t>(random() % 90 + 1);
    const auto x = drawn_array<T>(rows * columns, random).copy().reshape({rows, columns});
    SCOPED_TRACE(testing::PrintToString(std::pair(rows, columns)));
    for (const int axis : {0, 1}) {
      EXPECT_SAME_BITS(sum(x, {axis}));
      EXPECT_SAME_BITS(prod(x, {axis}));
      EXPECT_SAME_BITS(quarry::min(x, {axis}));
      EXPECT_SAME_BITS(argmax(x, {axis}));
      EXPECT_SAME_BITS(any(x, {axis}));
      EXPECT_SAME_BITS(var(x, {axis}));
      EXPECT_SAME_BITS(standardise(x, axis));
      if constexpr (dtype_of<T>.kind() != Kind::complex) {
        EXPECT_SAME_BITS(logsumexp(x, {axis}));
        EXPECT_SAME_BITS(softmax(x, axis));
      }
    }
    const auto first_row = x(range(0, 1), all), first_column = x(all, range(0, 1));
    EXPECT_SAME_BITS(x + first_row);
    EXPECT_SAME_BITS(x + first_column);
    EXPECT_SAME_BITS(x == first_column);
    EXPECT_SAME_BITS(x.T() * x(0, 0));
  }
}

TYPED_TEST(VectorsOf, MapsGiveTheSameBits) {
  using T = TypeParam;
  const OnCpu device;
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::int64_t n = drawn_length(random);
    const auto x = drawn_array<T>(n, random), y = drawn_array<T>(n, random);
    SCOPED_TRACE(n);
    EXPECT_SAME_BITS(x + y);
    EXPECT_SAME_BITS(x * y + x);
    EXPECT_SAME_BITS(x / y);
    EXPECT_SAME_BITS(maximum(x, y));
    EXPECT_SAME_BITS(x < y);
    EXPECT_SAME_BITS(isnan(x));
    EXPECT_SAME_BITS(where(x == y, x, y));
    EXPECT_SAME_BITS(abs(x));
    EXPECT_SAME_BITS(sqrt(x));
    EXPECT_SAME_BITS(x.template astype<float>());
    EXPECT_SAME_BITS(x.template astype<std::int8_t>());
    EXPECT_SAME_BITS(x.template astype<std::int64_t>());
    EXPECT_SAME_BITS(x.template astype<bool>());
    EXPECT_SAME_BITS(x.template astype<std::complex<float>>());
  }
}

template <class T>
class VectorsOfFloating : public testing::Test {};
using Floating = testing::Types<Eigen::half, float, double>;
TYPED_TEST_SUITE(VectorsOfFloating, Floating);

TYPED_TEST(VectorsOfFloating, FunctionsGiveTheSameBits) {
  using T = TypeParam;
  const OnCpu device;
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::int64_t n = drawn_length(random);
    const auto x = drawn_array<T>(n, random), wide = eval(x * 10000.f);
    SCOPED_TRACE(n);
    EXPECT_SAME_BITS(exp(x));
    EXPECT_SAME_BITS(exp(x * 3.5f));  // beyond both ends of the results
    EXPECT_SAME_BITS(log(x));
    EXPECT_SAME_BITS(log(x * std::numeric_limits<T>::min()));
    EXPECT_SAME_BITS(sin(wide));
    EXPECT_SAME_BITS(cos(wide));
    EXPECT_SAME_BITS(tanh(x));
    EXPECT_SAME_BITS(floor(x));
    EXPECT_SAME_BITS(ceil(x));
    EXPECT_SAME_BITS(trunc(x));
    EXPECT_SAME_BITS(rint(x));
    limit_vectors(lengths[random() % 3]);
    const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    EXPECT_TRUE(bits(eval(sin(x))(at)) == bits(eval(sin(x(at)))));
    EXPECT_TRUE(bits(eval(exp(x))(at)) == bits(eval(exp(x(at)))));
  }
}

template <class T>
class VectorsOfReals : public testing::Test {};
using Reals = testing::Types<bool, std::int8_t, std::uint16_t, std::int32_t, std::uint64_t,
                             Eigen::bfloat16, float, double>;
TYPED_TEST_SUITE(VectorsOfReals, Reals);

/// The first largest value, or the first NaN.
template <class T>
std::int64_t first_best(const std::vector<T>& x, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size() && x[best] == x[best]; ++i) {
    if (x[i] != x[i] || (largest ? x[i] > x[best] : x[i] < x[best])) best = i;
  }
  return static_cast<std::int64_t>(best);
}

TYPED_TEST(VectorsOfReals, ExtremesAreThoseOfPlainLoops) {
  using T = TypeParam;
  const OnCpu device;
  std::mt19937 random(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::int64_t n = drawn_length(random);
    const auto x = drawn_array<T>(n, random);
    const std::vector<T> host = elements(x);
    limit_vectors(lengths[random() % 3]);
    const std::int64_t low = first_best(host, false), high = first_best(host, true);
    SCOPED_TRACE(n);
    EXPECT_EQ(argmin(x).item(), low);
    EXPECT_EQ(argmax(x).item(), high);
    const T least = min(x).item(), most = max(x).item();
    const T expected_least = host[static_cast<std::size_t>(low)],
            expected_most = host[static_cast<std::size_t>(high)];
    EXPECT_TRUE(least == expected_least || (least != least && expected_least != expected_least));
    EXPECT_TRUE(most == expected_most || (most != most && expected_most != expected_most));
    bool has_any = false, has_all = true;
    for (const T& value : host) {
      has_any = has_any || value != T(0);
      has_all = has_all && value != T(0);
    }
    EXPECT_EQ(any(x).item(), has_any);
    EXPECT_EQ(all_of(x).item(), has_all);
  }
}

TYPED_TEST(VectorsOfReals, SumsOfIntegersWrap) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    const OnCpu device;
    std::mt19937 random(5);
    for (int repeat = 0; repeat < 100; ++repeat) {
      const auto x = drawn_array<T>(drawn_length(random), random);
      std::uint64_t expected = 0, product = 1;
      for (const T value : elements(x)) {
        expected += static_cast<std::uint64_t>(value);
        product *= static_cast<std::uint64_t>(value);
      }
      limit_vectors(lengths[random() % 3]);
      EXPECT_EQ(static_cast<std::uint64_t>(sum(x).item()), expected);
      EXPECT_EQ(static_cast<std::uint64_t>(prod(x).item()), product);
    }
  }
}

/// Rows and columns of views, whose elements are read where they are, copied or computed, one row
/// by another or together.
TYPED_TEST(VectorsOfReals, RowsAndColumnsAreThoseOfPlainLoops) {
  using T = TypeParam;
  const OnCpu device;
  std::mt19937 random(8);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const auto rows = static_cast<std::int64_t>(random() % 70 + 1),
               columns = static_cast<std::int64_t>(random() % (repeat % 2 ? 40 : 300) + 1);
    const auto wide = drawn_array<T>(rows * (columns + 3), random).copy();
    const auto all_columns = wide.reshape({rows, columns + 3});
    const auto x = repeat % 3 == 0 ? all_columns : all_columns(all, range(1, 1 + columns));
    const std::int64_t n = x.shape()[1];
    limit_vectors(lengths[random() % 3]);
    const auto row_sums = eval(sum(x.template astype<std::int64_t>(), {1}));
    const auto doubled = eval(quarry::max(x * 2, {1}));
    const auto column = eval(quarry::max(x, {0}));
    const auto row_best = eval(argmax(x, {1})), column_best = eval(argmax(x, {0}));
    const auto row_any = eval(any(x, {1})), column_any = eval(any(x, {0}));
    SCOPED_TRACE(testing::PrintToString(std::pair(rows, n)));
    const auto check = [&](const auto& line, std::int64_t best, bool is_any, std::int64_t k,
                           bool is_row) {
      const std::vector<T> values = elements(line);
      const std::int64_t at = first_best(values, true);
      EXPECT_EQ(best, at) << k << is_row;
      bool expected = false;
      for (const T& value : values) expected = expected || value != T(0);
      EXPECT_EQ(is_any, expected) << k << is_row;
      const T most = values[static_cast<std::size_t>(at)];
      const auto expected_bits =
          is_row ? bits(eval(quarry::max(line * 2))) : bits(full<T>({}, most));
      EXPECT_TRUE((is_row ? bits(doubled(k)) : bits(column(k))) == expected_bits) << k << is_row;
    };
    for (std::int64_t i = 0; i < rows; ++i) {
      check(x(i, all), row_best(i).item(), row_any(i).item(), i, true);
      std::int64_t total = 0;
      for (const std::int64_t value : elements(x(i, all).template astype<std::int64_t>()))
        total = static_cast<std::int64_t>(static_cast<std::uint64_t>(total) +
                                          static_cast<std::uint64_t>(value));
      EXPECT_EQ(row_sums(i).item(), total) << i;
    }
    for (std::int64_t j = 0; j < n; ++j)
      check(x(all, j), column_best(j).item(), column_any(j).item(), j, false);
  }
}

/// Half an ulp for each level of a sum in pairs and each element of a chain.
TEST(Vectors, SumsOfFloatsLoseLittle) {
  const OnCpu device;
  std::mt19937 random(6);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const std::int64_t n = drawn_length(random) * 8;
    DeviceNDArray<float> x(Shape{n});
    auto* const data = static_cast<float*>(static_cast<void*>(x.device_pointer()));
    double exact = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      data[i] = static_cast<float>(random() % 1000003) / 7.f;
      exact += static_cast<double>(data[i]);
    }
    limit_vectors(lengths[random() % 3]);
    EXPECT_NEAR(static_cast<double>(sum(x).item()), exact, exact * 16 * 0x1p-24) << n;
  }
}

}  // namespace
}  // namespace quarry
