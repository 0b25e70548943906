// SPDX-License-Identifier: BSD-3-Clause
#define CONFORMANCE_SUITE UnaryComplex
#define CONFORMANCE_TYPES std::complex<float>, std::complex<double>
#include "conformance/unary.hpp"
