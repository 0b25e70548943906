// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <quarry/base/dtype.hpp>

#include <string>

namespace quarry {

/// A decimal number as text in three parts: "-12", "5" and, if it is scientific, "+03".
struct Decimal {
  std::string whole;
  std::string fraction;
  std::string exponent;
};

enum class Sign : char { if_negative, always };

/// The fewest digits that tell the finite `value` from every other number of the floating type
/// `type`, or, if those have more than `precision` digits after the point, the exact value rounded
/// (ties to even) to `precision` digits. Without trailing zeros in the fraction.
Decimal positional(double value, TypeId type, int precision, Sign sign = Sign::if_negative);
Decimal scientific(double value, TypeId type, int precision, Sign sign = Sign::if_negative);

/// As scientific, but with exactly `digits` after the point. Beyond the shortest digits come those
/// of the exact value, as in NumPy: float32 0.1 to 8 digits is 1.00000001e-01.
Decimal scientific_fixed(double value, TypeId type, int digits, Sign sign = Sign::if_negative);

}  // namespace quarry
