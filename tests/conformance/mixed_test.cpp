// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/cases.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include <Eigen/Core>

namespace quarry::conformance {
namespace {

using Half = Eigen::half;
using C64 = std::complex<float>;
using C128 = std::complex<double>;

template <class A, class B>
struct Types {
  using First = A;
  using Second = B;
};

template <class T>
class Mixed : public testing::Test {};
using Pairs =
    testing::Types<Types<bool, std::int8_t>, Types<bool, float>, Types<std::int8_t, std::uint8_t>,
                   Types<std::int8_t, std::uint64_t>, Types<std::uint8_t, std::int32_t>,
                   Types<std::int32_t, std::uint32_t>, Types<std::int64_t, std::uint64_t>,
                   Types<std::int32_t, Half>, Types<std::int64_t, float>, Types<std::uint8_t, Half>,
                   Types<std::uint64_t, float>, Types<Half, float>, Types<float, double>,
                   Types<std::int16_t, float>, Types<std::int32_t, C64>, Types<double, C64>,
                   Types<C64, C128>, Types<Half, C64>, Types<std::uint16_t, std::int16_t>,
                   Types<bool, C128>, Types<std::int8_t, Half>, Types<std::int16_t, Half>>;
TYPED_TEST_SUITE(Mixed, Pairs);

#define MIXED_OPERATION(operation)                                                                \
  TYPED_TEST(Mixed, operation) {                                                                  \
    check_binary<kernels::operation##_op, typename TypeParam::First, typename TypeParam::Second>( \
        [](const auto& a, const auto& b) { return quarry::operation(a, b); }, {4, 8});            \
  }
MIXED_OPERATION(add)
MIXED_OPERATION(multiply)
MIXED_OPERATION(divide)
MIXED_OPERATION(less)
MIXED_OPERATION(equal)
MIXED_OPERATION(maximum)
#undef MIXED_OPERATION

template <class T>
class Weak : public testing::Test {};
using WeakTypes = testing::Types<bool, std::int8_t, std::uint8_t, std::int64_t, Half, float, C64>;
TYPED_TEST_SUITE(Weak, WeakTypes);

TYPED_TEST(Weak, ScalarsTakeTheWidthOfTheArray) {
  const std::string type = name_of<TypeParam>();
  const test::Ints shape{4, 6};
  const auto a = laid_out(find("in/weak/" + type).template array<TypeParam>(shape), 3);
  const auto check = [&](const char* kind, auto scalar) {
    const std::string end = '/' + type + "/weak/" + kind;
    expect_case("add" + end, a + scalar, shape);
    expect_case("add" + end, scalar + a, shape);
    expect_case("multiply" + end, scalar * a, shape);
  };
  check("int", 3);
  check("float", 0.5);
  check("bool", true);
  check("complex", C128(1, 2));
}

template <class T>
class Selection : public testing::Test {};
using SelectionTypes = testing::Types<bool, std::int8_t, std::uint64_t, Half, float, double, C64>;
TYPED_TEST_SUITE(Selection, SelectionTypes);

TYPED_TEST(Selection, WhereAndClip) {
  using T = TypeParam;
  const test::Ints shape{6, 8};
  Reader in = find("in3/" + name_of<T>());
  const auto c = in.array<bool>(shape);
  const auto x = in.array<T>(shape), y = in.array<T>(shape), z = in.array<T>(shape);
  for (const int layout : layouts()) {
    const auto first = laid_out(x, layout);
    expect_case("where/" + name_of<T>(), where(laid_out(c, 2), first, to_device(y)), shape);
    if constexpr (!std::is_same_v<T, bool>) {
      expect_case("clip/" + name_of<T>(), clip(first, to_device(y), laid_out(z, 1)), shape);
    }
  }
}

}  // namespace
}  // namespace quarry::conformance
