// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/cases.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include <Eigen/Core>

namespace quarry::conformance {
namespace {

template <class T>
class Rounding : public testing::Test {};
using Types = testing::Types<bool, std::int8_t, std::uint8_t, std::int64_t, Eigen::half, float,
                             double, std::complex<float>>;
TYPED_TEST_SUITE(Rounding, Types);

TYPED_TEST(Rounding, ToDecimalPlaces) {
  const test::Ints shape{4, 4, 3};
  const auto host = find("in/round/" + name_of<TypeParam>()).template array<TypeParam>(shape);
  for (const int decimals : {-2, -1, 0, 1, 3}) {
    const std::string key = "round/" + name_of<TypeParam>() + '/' + std::to_string(decimals);
    if (!has(key)) continue;  // NumPy refuses to round bools to any other place
    for (const int layout : layouts()) {
      expect_case(key, round(laid_out(host, layout), decimals), shape);
    }
  }
}

}  // namespace
}  // namespace quarry::conformance
