// SPDX-License-Identifier: BSD-3-Clause
#define CONFORMANCE_SUITE PlainNumbersBesideUnsignedIntegers
#define CONFORMANCE_TYPES std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t
#include "conformance/scalar.hpp"
