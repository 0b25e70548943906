// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Numbers of 113 bits, and the functions of ops.def in them: libquadmath's, which share nothing
/// with the library's own.
namespace quarry::accuracy {

__extension__ typedef __float128 Quad;

/// A real or a complex number; the imaginary part of a real one is 0.
struct Number {
  Quad re, im;
};

/// Takes as many operands as the operation has.
using Oracle = Number (*)(const Number* x);

/// Throws std::out_of_range for a name that is not there.
Oracle real_oracle(const char* name);
Oracle complex_oracle(const char* name);

/// How large the exponent y log x of x to the y is, and y itself: what a rounding of log x is
/// multiplied by.
Quad power_growth(const Number* x);

Quad magnitude(const Number& x);
/// The spacing of numbers of `digits` binary digits at x, whose exponents begin with `least`.
Quad spacing(Quad x, int digits, int least);
bool is_nan(Quad x);
bool is_infinite(Quad x);
bool is_negative(Quad x);  ///< looks at the sign bit
Quad absolute(Quad x);

}  // namespace quarry::accuracy
