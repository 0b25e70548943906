// SPDX-License-Identifier: BSD-3-Clause
#define CONFORMANCE_SUITE PlainNumbersBesideComplex
#define CONFORMANCE_TYPES std::complex<float>, std::complex<double>
#include "conformance/scalar.hpp"
