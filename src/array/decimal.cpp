// SPDX-License-Identifier: BSD-3-Clause
#include "array/decimal.hpp"

#include <fmt/format.h>

#include <quarry/kernels/types.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace quarry {

namespace {

constexpr int no_limit = 1000;  // digits; more than any double has

/// d.ddd times 10^exponent, without trailing zeros but for the first digit.
struct Digits {
  std::string digits;
  int exponent;

  int fraction_size() const { return std::max(0, int(digits.size()) - 1 - exponent); }
};

void drop_trailing_zeros(std::string& digits) {
  const std::size_t last = digits.find_last_not_of('0');
  digits.resize(last == std::string::npos ? 0 : last + 1);
}

template <class... Format>
std::string to_text(Format... format) {
  std::array<char, 2048> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), format...);
  return {text.data(), result.ptr};
}

/// From "d.ddde-05" or "de+05".
Digits parse(std::string_view text) {
  const std::size_t e = text.find('e');
  Digits d{std::string(text.substr(0, 1)), std::atoi(std::string(text.substr(e + 1)).c_str())};
  if (e > 2) d.digits += text.substr(2, e - 2);
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  return d;
}

/// The neighbours of `value` with `size` digits: rounded, and one more in the last place.
std::array<Digits, 2> candidates(double value, int size) {
  const Digits nearest = parse(to_text(value, std::chars_format::scientific, size - 1));
  const double unit = std::pow(10.0, nearest.exponent - size + 1);
  return {nearest, parse(to_text(value + unit, std::chars_format::scientific, size - 1))};
}

double value_of(const Digits& d) {
  const int last = d.exponent - int(d.digits.size()) + 1;
  return std::strtod((d.digits + "e" + std::to_string(last)).c_str(), nullptr);
}

/// For the two-byte types, whose few digits can be tried one after another. The number above is
/// tried too, because at a power of two the interval of a number reaches further up than down.
template <class Half>
Digits shortest_half(double value) {
  constexpr int always_enough = 5;
  for (int size = 1; size < always_enough; ++size)
    for (const Digits& d : candidates(value, size))
      if (double(float(Half(float(value_of(d))))) == value) return d;
  return parse(to_text(value, std::chars_format::scientific, always_enough - 1));
}

Digits shortest(double value, TypeId type) {
  if (value == 0) return {"0", 0};
  switch (type) {
    case TypeId::float16:
      return shortest_half<kernels::float16>(value);
    case TypeId::bfloat16:
      return shortest_half<kernels::bfloat16>(value);
    case TypeId::float32:
      return parse(to_text(float(value), std::chars_format::scientific));
    default:
      return parse(to_text(value, std::chars_format::scientific));
  }
}

std::string sign_of(double value, Sign sign) {
  return std::signbit(value) ? "-" : sign == Sign::always ? "+" : "";
}

std::string exponent_text(int exponent) {
  return fmt::format("{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
}

Decimal from_digits(const Digits& d) {
  const int point = d.exponent + 1;  // digits before it
  const int size = int(d.digits.size());
  if (point <= 0) return {"0", std::string(std::size_t(-point), '0') + d.digits, ""};
  if (point >= size) return {d.digits + std::string(std::size_t(point - size), '0'), "", ""};
  return {d.digits.substr(0, std::size_t(point)), d.digits.substr(std::size_t(point)), ""};
}

Decimal rounded_positional(double magnitude, int precision) {
  const std::string text = to_text(magnitude, std::chars_format::fixed, precision);
  const std::size_t point = std::min(text.find('.'), text.size());
  return {text.substr(0, point), text.substr(std::min(point + 1, text.size())), ""};
}

Decimal scientific_text(const Digits& d, const std::string& sign) {
  return {sign + d.digits[0], d.digits.substr(1), exponent_text(d.exponent)};
}

}  // namespace

Decimal positional(double value, TypeId type, int precision, Sign sign) {
  const double magnitude = std::abs(value);
  const Digits d = shortest(magnitude, type);
  Decimal text = d.digits == "0"                 ? Decimal{"0", "", ""}
                 : d.fraction_size() > precision ? rounded_positional(magnitude, precision)
                                                 : from_digits(d);
  drop_trailing_zeros(text.fraction);
  text.whole.insert(0, sign_of(value, sign));
  return text;
}

Decimal scientific(double value, TypeId type, int precision, Sign sign) {
  const double magnitude = std::abs(value);
  Digits d = shortest(magnitude, type);
  if (int(d.digits.size()) - 1 > precision)
    d = parse(to_text(magnitude, std::chars_format::scientific, precision));
  return scientific_text(d, sign_of(value, sign));
}

Decimal scientific_fixed(double value, TypeId type, int digits, Sign sign) {
  Decimal text = scientific(value, type, no_limit, sign);
  const auto size = std::size_t(digits);
  if (text.fraction.size() == size) return text;
  const double magnitude = std::abs(value);
  text = scientific_text(parse(to_text(magnitude, std::chars_format::scientific, digits)),
                         sign_of(value, sign));
  text.fraction.resize(size, '0');
  return text;
}

}  // namespace quarry
