// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/quarry.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "backend/cpu/vectors.hpp"
#include "kernels/vector_math.hpp"

/// Square roots and conversions of the CPU device, which are computed in other ways than by the
/// processor's instruction for one number, against those instructions: with vectors of every length
/// and at every place in an array.
namespace quarry {
namespace {

using backend::cpu_backend::limit_vectors;
using backend::cpu_backend::Vectors;

template <class T>
DeviceNDArray<T> array_of(const std::vector<T>& values) {
  DeviceNDArray<T> x(Shape{static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), static_cast<T*>(static_cast<void*>(x.device_pointer())));
  return x;
}

template <class T>
using Limits = std::numeric_limits<T>;
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// f(values) has the elements g(value), whatever the length of vectors; NaNs are equal.
template <class T, class F, class G>
void expect_elements(const std::vector<T>& values, const F& f, const G& g) {
  const DeviceGuard guard(Device::cpu());
  const auto x = array_of(values);
  for (const Vectors length : {Vectors::bytes_16, Vectors::bytes_32, Vectors::bytes_64}) {
    limit_vectors(length);
    const auto found = eval(f(x));
    synchronize();
    const auto* const data =
        static_cast<const decltype(g(T{}))*>(static_cast<const void*>(found.device_pointer()));
    std::size_t wrong = 0, last = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto expected = g(values[i]);
      const bool are_nan = expected != expected && data[i] != data[i];
      if (are_nan || std::bit_cast<std::array<char, sizeof(expected)>>(expected) ==
                         std::bit_cast<std::array<char, sizeof(expected)>>(data[i]))
        continue;
      ++wrong;
      last = i;
    }
    limit_vectors(Vectors::bytes_64);
    ASSERT_EQ(wrong, 0u) << "length " << static_cast<int>(length) << ": the last one is "
                         << +data[last] << " of " << values[last] << " at " << last
                         << " instead of " << +g(values[last]);
  }
}

template <class T>
void expect_roots(const std::vector<T>& values) {
  expect_elements(
      values, [](const auto& x) { return sqrt(x); }, [](T x) { return std::sqrt(x); });
}

/// Of 16 numbers side by side the first 8 are computed in another way than the others.
TEST(CpuRoots, OfEveryFractionOfFloatAreRoundedCorrectly) {
  std::vector<float> values(std::size_t{1} << 20);
  for (const std::uint32_t first : {0x3f800000u, 0x3f800000u - 8}) {
    for (std::uint32_t bits = first; bits < 0x40800000;) {
      for (float& x : values) x = std::bit_cast<float>(bits++);
      expect_roots(values);
    }
  }
}

/// Processors differ in their approximations. The roots are those that are next to ties, and
/// others.
TEST(CpuRoots, FromEveryApproximationOfTheReciprocalAreRoundedCorrectly) {
  using Roots = kernels::vector_math::sqrt_of<float>;
  for (std::uint32_t bits = 0x3f800000; bits < 0x40800000; ++bits) {
    const float x = std::bit_cast<float>(bits);
    const double exact = std::sqrt(static_cast<double>(x)), units = exact * 0x1p23;
    const bool is_hard = std::abs(units - std::floor(units) - 0.5) < 0x1p-19;
    if (!is_hard && bits % 299993 != 0) continue;
    const auto least = static_cast<float>((1 - 0x1p-11) / exact),
               most = static_cast<float>((1 + 0x1p-11) / exact);
    for (float y = least; y <= most; y = std::nextafterf(y, 2.f))
      ASSERT_EQ(Roots::from_short_reciprocal(x, y), std::sqrt(x)) << x << ' ' << y;
  }
}

template <class T>
class CpuFunctionsOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuFunctionsOf, Reals);

/// All exponents, subnormal ones too.
TYPED_TEST(CpuFunctionsOf, DrawnNumbersAreRoundedCorrectly) {
  using T = TypeParam;
  std::mt19937_64 random(11);
  std::vector<T> values(1 << 18);
  for (T& x : values) {
    const auto sign = Bits<T>{1} << (sizeof(T) * 8 - 1);
    x = std::bit_cast<T>(static_cast<Bits<T>>(static_cast<Bits<T>>(random()) & ~sign));
  }
  expect_roots(values);
}

/// Odd M with M^2 = c modulo 2^k, for c = 1 modulo 8.
std::vector<std::uint64_t> odd_roots(std::uint64_t c, int k) {
  std::vector<std::uint64_t> roots{1, 3, 5, 7};
  for (int bits = 3; bits < k; ++bits) {
    std::vector<std::uint64_t> next;
    const std::uint64_t bit = std::uint64_t{1} << bits, mask = 2 * bit - 1;
    for (const std::uint64_t root : roots) {
      for (const std::uint64_t r : {root, root + bit}) {
        if (((r * r - c) & mask) == 0) next.push_back(r);
      }
    }
    roots = next;
  }
  return roots;
}

/// Numbers X 2^e whose roots are next to (M + 1/2) ulp, where a root may be rounded to the wrong
/// side: X 2^k = M^2 + d with a small d.
TYPED_TEST(CpuFunctionsOf, NumbersNextToTiesAreRoundedCorrectly) {
  using T = TypeParam;
  constexpr int digits = std::numeric_limits<T>::digits;
  std::vector<T> values;
  for (const int odd : {0, 1}) {
    for (const int d : {-1, 7, -9, 15, -17, 23, -25}) {
      for (const std::uint64_t m : odd_roots(static_cast<std::uint64_t>(-d), digits + 1 + odd)) {
        const unsigned __int128 square = static_cast<unsigned __int128>(m) * m;
        const auto x = static_cast<std::uint64_t>((square + static_cast<unsigned __int128>(d)) >>
                                                  (digits + 1 + odd));
        if (x >> (digits - 1) != 1) continue;
        for (int e = -30; e <= 30; ++e)
          values.push_back(std::ldexp(T(x), odd - digits + 1 + 2 * e));
      }
    }
  }
  ASSERT_GT(values.size(), 400u);
  expect_roots(values);
}

/// One special value among others, at every place of a vector.
TYPED_TEST(CpuFunctionsOf, SpecialValues) {
  using T = TypeParam;
  for (const T special :
       {T(0), T(-0.), Limits<T>::infinity(), -Limits<T>::infinity(), Limits<T>::quiet_NaN(), T(-4),
        Limits<T>::min(), Limits<T>::denorm_min(), Limits<T>::max()}) {
    for (std::size_t at = 0; at < 64; ++at) {
      std::vector<T> values(64, T(3));
      values[at] = special;
      expect_roots(values);
    }
    expect_roots(std::vector<T>(200, special));
  }
}

template <class T>
bool are_near(T found, T expected) {
  if (expected != expected || std::isinf(expected)) {
    return found == expected || (found != found && expected != expected);
  }
  const T ulp = std::nextafter(std::abs(expected), Limits<T>::infinity()) - std::abs(expected);
  return std::signbit(found) == std::signbit(expected) && std::abs(found - expected) <= 4 * ulp;
}

/// A value among usual ones, at every place of a vector: the same bits as alone, and as exact.
template <class T, class F, class G>
void expect_at_every_place(const std::vector<T>& values, const F& f, const G& libm) {
  const DeviceGuard guard(Device::cpu());
  for (const T value : values) {
    const T alone = eval(f(array_of(std::vector<T>{value})))(0).item();
    EXPECT_TRUE(are_near(alone, libm(value))) << alone << " of " << value;
    std::vector<T> usual(64, T(1));
    const T of_usual = eval(f(array_of(std::vector<T>{T(1)})))(0).item();
    for (std::size_t at = 0; at < usual.size(); ++at) {
      usual[at] = value;
      std::size_t i = 0;
      expect_elements(usual, f, [&](T) { return i++ % 64 == at ? alone : of_usual; });
      usual[at] = T(1);
    }
  }
}

/// Special values, and both ends of the ranges in which functions are computed by polynomials.
template <class T>
std::vector<T> ends() {
  std::vector<T> all{T(0),
                     Limits<T>::denorm_min(),
                     Limits<T>::min() / 2,
                     T(0x1p-20),
                     T(22),
                     T(87),
                     T(88.8),
                     T(103.9),
                     T(104),
                     T(708),
                     T(709.9),
                     T(745.2),
                     T(746),
                     T(500000),
                     Limits<T>::min(),
                     Limits<T>::max(),
                     Limits<T>::infinity(),
                     Limits<T>::quiet_NaN()};
  for (const T end : {T(87), T(708), T(500000), Limits<T>::min(), T(22)}) {
    all.push_back(std::nextafter(end, T(0)));
    all.push_back(std::nextafter(end, Limits<T>::max()));
  }
  for (std::size_t i = all.size(); i-- > 0;) all.push_back(-all[i]);
  return all;
}

TYPED_TEST(CpuFunctionsOf, FunctionsAtTheEndsOfTheirRanges) {
  using T = TypeParam;
  const auto check = [](const auto& f, T (*libm)(T)) { expect_at_every_place(ends<T>(), f, libm); };
  check([](const auto& x) { return exp(x); }, std::exp);
  check([](const auto& x) { return log(x); }, std::log);
  check([](const auto& x) { return sin(x); }, std::sin);
  check([](const auto& x) { return cos(x); }, std::cos);
  check([](const auto& x) { return tanh(x); }, std::tanh);
}

/// The bits of the elements; one pattern stands for all NaNs.
template <class T>
std::vector<Bits<T>> bits_of(const DeviceNDArray<T>& x) {
  synchronize();
  const auto* const data = static_cast<const T*>(static_cast<const void*>(x.device_pointer()));
  std::vector<Bits<T>> all;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    all.push_back(std::bit_cast<Bits<T>>(data[i] == data[i] ? data[i] : Limits<T>::quiet_NaN()));
  }
  return all;
}

/// Alone they are loops of the library, in an expression calls of it; an array may be the result.
TYPED_TEST(CpuFunctionsOf, FunctionsAloneAndInExpressionsGiveTheSameBits) {
  using T = TypeParam;
  const DeviceGuard guard(Device::cpu());
  std::mt19937 random(12);
  std::uniform_real_distribution<T> usual(-20, 20);
  const std::vector<T> special = ends<T>();
  for (int repeat = 0; repeat < 60; ++repeat) {
    std::vector<T> values(random() % 300 + 1);
    for (T& value : values) {
      value =
          random() % (repeat % 2 ? 200 : 3) ? usual(random) : special[random() % special.size()];
    }
    const auto x = array_of(values);
    const auto check = [&](const auto& f) {
      limit_vectors(Vectors::bytes_16);
      const auto expected = bits_of(eval(f(x)));
      for (const Vectors length : {Vectors::bytes_16, Vectors::bytes_32, Vectors::bytes_64}) {
        limit_vectors(length);
        auto y = x.copy();
        y.assign(f(y));
        EXPECT_EQ(bits_of(y), expected);
        EXPECT_EQ(bits_of(eval(f(x))), expected);
        EXPECT_EQ(bits_of(eval(-(-f(x)))), expected);
      }
    };
    check([](const auto& a) { return sqrt(a); });
    check([](const auto& a) { return exp(a); });
    check([](const auto& a) { return log(a); });
    check([](const auto& a) { return sin(a); });
    check([](const auto& a) { return cos(a); });
    check([](const auto& a) { return tanh(a); });
  }
}

/// Truncated, the nearest end of the type outside of it, and 0 of NaN.
template <class To>
To truncated(float value) {
  if (value != value) return 0;
  const double x = std::trunc(static_cast<double>(value));
  if (x <= static_cast<double>(Limits<To>::min())) return Limits<To>::min();
  return x >= static_cast<double>(Limits<To>::max()) ? Limits<To>::max() : static_cast<To>(x);
}

template <class T>
class CpuConversionsTo : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(CpuConversionsTo, Integers);

TYPED_TEST(CpuConversionsTo, FloatsAreTruncatedOrBecomeTheNearestEnd) {
  std::vector<float> values{0.f, -0.f};
  for (const float power : {0.5f, 1.f, 127.f, 0x1p7f, 255.f, 0x1p8f, 32767.f, 0x1p15f, 65535.f,
                            0x1p16f, 0x1p23f, 0x1p24f, 0x1p31f, 0x1p32f, 0x1p63f, 0x1p127f,
                            std::numeric_limits<float>::infinity(), 0x1p-126f, 0x1p-149f}) {
    for (const float x : {std::nextafterf(power, 0.f), power, std::nextafterf(power, INFINITY)}) {
      for (const float y : {x, x + 0.5f, x - 1.f}) {
        values.push_back(y);
        values.push_back(-y);
      }
    }
  }
  for (const std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
    values.push_back(std::bit_cast<float>(nan));
  std::mt19937 random(12);
  while (values.size() < 50000) values.push_back(std::bit_cast<float>(std::uint32_t(random())));
  expect_elements(
      values, [](const auto& x) { return x.template astype<TypeParam>(); }, truncated<TypeParam>);
  expect_elements(
      values, [](const auto& x) { return (x * 1.f).template astype<TypeParam>(); },
      truncated<TypeParam>);
}

/// Numbers that are truncated in another way than usual ones, and the first ones that are not.
TYPED_TEST(CpuConversionsTo, AnotherFloatAmongUsualOnes) {
  for (const float power : {0x1p7f, 0x1p8f, 0x1p15f, 0x1p16f, 0x1p31f, 0x1p32f, INFINITY, NAN}) {
    for (const float x : {std::nextafterf(power, 0.f), power, -std::nextafterf(power, INFINITY)}) {
      for (std::size_t at = 0; at < 128; ++at) {
        std::vector<float> values(128, 3.9f);
        values[at] = x;
        expect_elements(
            values, [](const auto& a) { return a.template astype<TypeParam>(); },
            truncated<TypeParam>);
      }
    }
  }
}

TYPED_TEST(CpuConversionsTo, FloatsOfEveryLengthAndStart) {
  const DeviceGuard guard(Device::cpu());
  std::vector<float> values(400);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) * 0.7f;
  values[150] = NAN;
  const auto x = array_of(values);
  for (const Vectors length : {Vectors::bytes_16, Vectors::bytes_32, Vectors::bytes_64}) {
    limit_vectors(length);
    for (int n = 0; n < 200; ++n) {
      const int start = n % 5, to = n % 3;
      DeviceNDArray<TypeParam> y(Shape{n + to + 1});
      y.fill(77);
      y(range(to, to + n)).assign(x(range(start, start + n)).template astype<TypeParam>());
      synchronize();
      const auto* data =
          static_cast<const TypeParam*>(static_cast<const void*>(y.device_pointer()));
      for (int i = 0; i < to; ++i) ASSERT_EQ(data[i], 77);
      for (int i = 0; i < n; ++i)
        ASSERT_EQ(data[to + i], truncated<TypeParam>(values[static_cast<std::size_t>(start + i)]));
      ASSERT_EQ(data[to + n], 77);
    }
  }
  limit_vectors(Vectors::bytes_64);
}

}  // namespace
}  // namespace quarry
