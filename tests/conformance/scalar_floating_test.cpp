// SPDX-License-Identifier: BSD-3-Clause
#define CONFORMANCE_SUITE PlainNumbersBesideFloating
#define CONFORMANCE_TYPES Eigen::half, Eigen::bfloat16, float, double
#include "conformance/scalar.hpp"
