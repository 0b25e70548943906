// SPDX-License-Identifier: BSD-3-Clause
// The oracle is NumPy itself: promotion_table.inc.
#include <quarry/base/error.hpp>
#include <quarry/base/promote.hpp>

#include <gtest/gtest.h>

#include <complex>

namespace quarry {
namespace {

struct Pair {
  TypeId a, b, result;
};
constexpr Pair pairs[] = {
#define PAIR(a, b, result) {TypeId::a, TypeId::b, TypeId::result},
#define SCALAR(a, kind, result)
#include "promotion_table.inc"
#undef PAIR
#undef SCALAR
};

struct WithScalar {
  TypeId array;
  Kind scalar;
  TypeId result;
};
constexpr WithScalar with_scalars[] = {
#define PAIR(a, b, result)
#define SCALAR(a, kind, result) {TypeId::a, Kind::kind, TypeId::result},
#include "promotion_table.inc"
#undef PAIR
#undef SCALAR
};

TEST(promote, agrees_with_numpy) {
  EXPECT_EQ(std::size(pairs), type_count * type_count);
  for (const auto& [a, b, result] : pairs) EXPECT_EQ(promote(a, b), result) << a << " and " << b;
}

TEST(promote, is_commutative_and_idempotent) {
  for (const auto& [a, b, result] : pairs) {
    EXPECT_EQ(promote(a, b), promote(b, a)) << a << " and " << b;
    EXPECT_EQ(promote(a, result), result) << a << " and " << b;
  }
}

TEST(promote, records_have_no_common_type) {
  EXPECT_THROW(promote(TypeId::record, TypeId::int8), DTypeError);
  EXPECT_THROW(promote(TypeId::record, TypeId::record), DTypeError);
  EXPECT_THROW(promote_weak(TypeId::record, Kind::boolean), DTypeError);
  EXPECT_THROW(promote_weak(TypeId::int8, Kind::record), DTypeError);
}

/// NumPy does not know bfloat16 as a floating type, so that its Python floats are not weak against
/// it. Quarry applies NEP 50 to it as to float16.
TEST(promote, weak_scalars_agree_with_numpy) {
  EXPECT_EQ(std::size(with_scalars), type_count * 4);
  for (const auto& [array, scalar, result] : with_scalars) {
    const bool differs = array == TypeId::bfloat16 && scalar == Kind::floating;
    const TypeId expected = differs ? TypeId::bfloat16 : result;
    EXPECT_EQ(promote_weak(array, scalar), expected) << array << ", kind " << int(scalar);
    if (scalar == Kind::signed_integer) {
      EXPECT_EQ(promote_weak(array, Kind::unsigned_integer), expected);
    }
  }
}

template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;

static_assert(same<result_type_t<std::int32_t, float>, double>);
static_assert(same<result_type_t<std::int16_t, float>, float>);
static_assert(same<result_type_t<std::int64_t, std::uint64_t>, double>);
static_assert(same<result_type_t<long long, char>, std::int64_t>);
static_assert(same<result_type_t<Eigen::half, Eigen::bfloat16>, float>);
static_assert(same<result_type_t<double, std::complex<float>>, std::complex<double>>);

static_assert(same<weak_result_t<float, double>, float>);
static_assert(same<weak_result_t<std::int8_t, long>, std::int8_t>);
static_assert(same<weak_result_t<std::int32_t, float>, double>);
static_assert(same<weak_result_t<bool, int>, std::int64_t>);
static_assert(same<weak_result_t<float, std::complex<double>>, std::complex<float>>);
static_assert(same<weak_result_t<Eigen::bfloat16, double>, Eigen::bfloat16>);
static_assert(same<weak_result_t<std::uint8_t, bool>, std::uint8_t>);
static_assert(same<weak_result_t<std::int32_t, Eigen::half>, double>);
static_assert(!WeakScalar<Eigen::half> && !WeakScalar<Eigen::bfloat16> && WeakScalar<bool>);

}  // namespace
}  // namespace quarry
