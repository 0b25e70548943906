// SPDX-License-Identifier: BSD-3-Clause
#define CONFORMANCE_SUITE BinaryIntegers
#define CONFORMANCE_TYPES bool, std::int8_t, std::uint8_t, std::int32_t, std::int64_t, std::uint64_t
#include "conformance/binary.hpp"
