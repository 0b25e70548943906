// SPDX-License-Identifier: BSD-3-Clause
// Included by a file that defines CONFORMANCE_SUITE and CONFORMANCE_TYPES: a test for every binary
// row of ops.def over two arrays of each of these types.
#include "conformance/cases.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include <Eigen/Core>

namespace quarry::conformance {
namespace {

template <class Op, class... T, class F>
void check_all(F f) {
  (check_binary<Op, T, T>(f), ...);
}

#define QUARRY_UNARY(operation, domain, ...)
#define QUARRY_BINARY(operation, domain, ...)                                  \
  TEST(CONFORMANCE_SUITE, operation) {                                         \
    check_all<kernels::operation##_op, CONFORMANCE_TYPES>(                     \
        [](const auto& a, const auto& b) { return quarry::operation(a, b); }); \
  }
#define QUARRY_TERNARY(operation, domain, ...)
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY

}  // namespace
}  // namespace quarry::conformance
