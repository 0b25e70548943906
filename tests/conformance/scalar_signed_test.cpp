// SPDX-License-Identifier: BSD-3-Clause
#define CONFORMANCE_SUITE PlainNumbersBesideSignedIntegers
#define CONFORMANCE_TYPES bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t
#include "conformance/scalar.hpp"
