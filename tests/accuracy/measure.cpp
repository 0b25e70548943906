// SPDX-License-Identifier: BSD-3-Clause
#include "accuracy/measure.hpp"

#include <cstdio>

namespace quarry::accuracy {
namespace {

std::string text(const Comparison& how, const Number* x, const Number& got, const Number& want) {
  const auto value = [](const Number& n) {
    char digits[80];
    if (n.im == 0 && !is_negative(n.im)) {
      std::snprintf(digits, sizeof digits, "%.17g", double(n.re));
    } else {
      std::snprintf(digits, sizeof digits, "(%.17g, %.17g)", double(n.re), double(n.im));
    }
    return std::string(digits);
  };
  std::string operands = value(x[0]);
  for (std::size_t k = 1; k < how.operands; ++k) operands += ", " + value(x[k]);
  return operands + " gives " + value(got) + " for " + value(want);
}

/// An infinity counts as the power of two past the largest number.
Quad placed(Quad x, const Comparison& how) {
  const Quad past = spacing(0, 1, how.most + 1);
  return absolute(x) > past ? (is_negative(x) ? -past : past) : x;
}

struct Part {
  double ulps = 0;
  bool right = true;
};

/// A NaN is a NaN, an infinity an infinity of the same sign, a zero a zero of the same sign.
Part part(Quad got, Quad want, const Comparison& how, bool sign_counts) {
  if (is_nan(got) || is_nan(want)) return {0, is_nan(got) && is_nan(want)};
  const bool same_sign = is_negative(got) == is_negative(want);
  if (is_infinite(want)) return {0, is_infinite(got) && (same_sign || !sign_counts)};
  if (got == 0 && sign_counts && !same_sign) return {0, false};
  if (got == 0 && want == 0) return {};
  if (want == 0 && how.operands == 1) return {0, false};
  const Quad a = placed(got, how), b = placed(want, how);
  return {double(absolute(a - b) / spacing(b, how.digits, how.least)), true};
}

/// Annex G leaves signs open beside a NaN, and where both parts of the operand are special.
bool sign_counts(const Comparison& how, const Number* x, const Number& want) {
  bool open = is_nan(want.re) || is_nan(want.im);
  for (std::size_t k = 0; k < how.operands; ++k) {
    const auto special = [](Quad part) { return is_nan(part) || is_infinite(part); };
    open |= (special(x[k].re) && special(x[k].im)) || is_nan(x[k].re) || is_nan(x[k].im);
  }
  return !open;
}

/// Where a formula of sums of products overflows on the way is left open, and infinities too.
bool is_open(const Comparison& how, const Number* x, const Number& want) {
  const Quad size = magnitude(want), zero = 0;
  bool open = !(size < spacing(zero, 1, how.most - 2));
  if (how.metric == Metric::power) open |= !(power_growth(x) < spacing(zero, 1, how.most - 1));
  for (std::size_t k = 0; k < how.operands; ++k) {
    open |= !(magnitude(x[k]) < spacing(zero, 1, how.most - 1));
  }
  return open;
}

Part distance(const Comparison& how, const Number* x, const Number& got, const Number& want) {
  if (is_open(how, x, want)) return {};
  if (is_nan(got.re) || is_nan(got.im)) return {0, false};
  const Quad error = magnitude({placed(got.re, how) - want.re, placed(got.im, how) - want.im});
  const Quad ulps = error / spacing(magnitude(want), how.digits, how.least);
  return {double(how.metric == Metric::power ? ulps / power_growth(x) : ulps), true};
}

}  // namespace

void compare(const Comparison& how, const Number* x, const Number& got, const Number& want,
             Result& result) {
  Part re, im;
  if (how.metric == Metric::each_part) {
    const bool sign = sign_counts(how, x, want);
    re = part(got.re, want.re, how, sign);
    im = part(got.im, want.im, how, sign);
  } else {
    re = distance(how, x, got, want);
  }
  if (!re.right || !im.right) {
    if (result.wrong++ == 0) result.wrong_where = text(how, x, got, want);
  }
  const double ulps = std::max(re.ulps, im.ulps);
  if (ulps > result.worst) {
    result.worst = ulps;
    result.where = text(how, x, got, want);
  }
}

void merge(Result& into, const Result& from) {
  if (from.worst > into.worst) {
    into.worst = from.worst;
    into.where = from.where;
  }
  if (into.wrong == 0) into.wrong_where = from.wrong_where;
  into.wrong += from.wrong;
}

}  // namespace quarry::accuracy
