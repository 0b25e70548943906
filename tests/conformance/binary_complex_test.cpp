// SPDX-License-Identifier: BSD-3-Clause
#define CONFORMANCE_SUITE BinaryComplex
#define CONFORMANCE_TYPES std::complex<float>, std::complex<double>
#include "conformance/binary.hpp"
