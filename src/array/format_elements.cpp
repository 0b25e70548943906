// SPDX-License-Identifier: BSD-3-Clause
#include "array/format_elements.hpp"

#include <quarry/kernels/types.hpp>

#include "array/decimal.hpp"
#include "array/format.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

namespace quarry {

namespace {

using Words = std::vector<std::string>;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string pad_left(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// --- floating point ---

/// Rounds to the element's type, in which NumPy computes, so that both decide alike.
double rounded_to(double value, TypeId type) {
  switch (type) {
    case TypeId::float16:
      return double(float(kernels::float16(float(value))));
    case TypeId::bfloat16:
      return double(float(kernels::bfloat16(float(value))));
    case TypeId::float32:
      return double(float(value));
    default:
      return value;
  }
}

/// 10 to the number of decimal digits that the type always keeps, 1e8 at most. bfloat16, unknown to
/// NumPy, is treated as float16.
double exponent_from(TypeId type) {
  return type == TypeId::float64 ? 1e8 : type == TypeId::float32 ? 1e6 : 1e3;
}

std::string non_finite(double value, Sign sign) {
  if (std::isnan(value)) return sign == Sign::always ? "+nan" : "nan";
  return value < 0 ? "-inf" : sign == Sign::always ? "+inf" : "inf";
}

/// A column of real numbers, or of the real or imaginary parts of complex ones.
class FloatColumn {
 public:
  FloatColumn(std::vector<double> values, TypeId type, const PrintOptions& options, Sign sign)
      : values_(std::move(values)), type_(type), sign_(sign) {
    scientific_ = needs_exponents(options.suppress);
    const int precision = std::max(options.precision, 0);
    for (const double value : values_) parts_.push_back(part(value, precision));
    if (scientific_) equalise_fractions();
    measure();
  }

  std::string word(std::size_t i) const {
    if (!std::isfinite(values_[i]))
      return pad_left(non_finite(values_[i], sign_), whole_ + tail_ + 1);
    std::string text = pad_left(parts_[i].whole, whole_) + "." + parts_[i].fraction;
    if (scientific_) return text + "e" + exponent(parts_[i].exponent);
    text.resize(whole_ + 1 + fraction_, ' ');
    return text;
  }

 private:
  bool needs_exponents(bool suppress) const {
    double largest = 0;
    double smallest = INFINITY;
    for (const double value : values_) {
      if (!std::isfinite(value) || value == 0) continue;
      largest = std::max(largest, std::abs(value));
      smallest = std::min(smallest, std::abs(value));
    }
    if (largest == 0) return false;
    if (largest >= exponent_from(type_)) return true;
    const bool wide = rounded_to(largest / smallest, type_) > 1000.;
    return !suppress && (smallest < rounded_to(1e-4, type_) || wide);
  }

  Decimal part(double value, int precision) const {
    if (!std::isfinite(value)) return {};
    return scientific_ ? scientific(value, type_, precision, sign_)
                       : positional(value, type_, precision, sign_);
  }

  void equalise_fractions() {
    const int digits = int(longest(&Decimal::fraction));
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (std::isfinite(values_[i])) parts_[i] = scientific_fixed(values_[i], type_, digits, sign_);
  }

  std::size_t longest(std::string Decimal::*part) const {
    std::size_t size = 0;
    for (const Decimal& d : parts_) size = std::max(size, (d.*part).size());
    return size;
  }

  /// The widths; a non-finite element may need more room before the point than the numbers do.
  void measure() {
    whole_ = longest(&Decimal::whole);
    fraction_ = longest(&Decimal::fraction);
    exponent_ = scientific_ ? longest(&Decimal::exponent) - 1 : 0;
    tail_ = scientific_ ? fraction_ + 2 + exponent_ : fraction_;
    std::size_t needed = 0;
    for (const double value : values_) {
      if (std::isfinite(value)) continue;
      const bool with_sign = sign_ == Sign::always || value < 0;
      needed = std::max(needed, std::size_t{3} + with_sign);
    }
    if (needed > tail_ + 1) whole_ = std::max(whole_, needed - tail_ - 1);
  }

  std::string exponent(const std::string& text) const {
    return text[0] + std::string(exponent_ + 1 - text.size(), '0') + text.substr(1);
  }

  std::vector<double> values_;
  TypeId type_;
  Sign sign_;
  bool scientific_ = false;
  std::vector<Decimal> parts_;  ///< empty for what is not finite
  std::size_t whole_ = 0;
  std::size_t fraction_ = 0;
  std::size_t exponent_ = 0;  ///< digits
  std::size_t tail_ = 0;      ///< characters after the point
};

std::string with_j(std::string text) {
  text.insert(text.find_last_not_of(' ') + 1, 1, 'j');
  return text;
}

std::string scalar_text(double value, TypeId type, std::string_view integral_tail, Sign sign) {
  if (!std::isfinite(value)) return non_finite(value, sign);
  constexpr int all_digits = 2000;
  const double magnitude = std::abs(value);
  const double largest = type == TypeId::float64 ? 1e16 : exponent_from(type);
  if (value == 0 || (magnitude >= 1e-4 && magnitude < largest)) {
    const Decimal d = positional(value, type, all_digits, sign);
    return d.whole + (d.fraction.empty() ? std::string(integral_tail) : "." + d.fraction);
  }
  const Decimal d = scientific(value, type, all_digits, sign);
  return d.whole + (d.fraction.empty() ? "" : ".") + d.fraction + "e" + d.exponent;
}

std::string complex_scalar(double re, double im, TypeId part) {
  if (re == 0 && !std::signbit(re)) return scalar_text(im, part, "", Sign::if_negative) + "j";
  std::string text = "(";
  text += scalar_text(re, part, "", Sign::if_negative);
  text += scalar_text(im, part, "", Sign::always);
  return text += "j)";
}

// --- by kind of element ---

/// Properties of a kernel type for the functions below.
template <class T>
struct Part {
  using type = T;
  static constexpr TypeId id = detail::row_of<T>;
};
template <>
struct Part<kernels::float16> {
  using type = kernels::float16;
  static constexpr TypeId id = TypeId::float16;
};
template <>
struct Part<kernels::bfloat16> {
  using type = kernels::bfloat16;
  static constexpr TypeId id = TypeId::bfloat16;
};
template <class T>
struct Part<kernels::complex<T>> : Part<T> {};

/// Every part of the elements from `first` on, `step` parts apart.
template <class P>
std::vector<double> values(std::span<const std::byte> bytes, std::size_t first, std::size_t step) {
  std::vector<double> result;
  for (std::size_t at = first * sizeof(P); at < bytes.size(); at += step * sizeof(P))
    result.push_back(double(load<P>(bytes.data() + at)));
  return result;
}

template <class T>
Words words_of(std::span<const std::byte> bytes, const PrintOptions& options) {
  const std::size_t count = bytes.size() / sizeof(T);
  using P = typename Part<T>::type;
  constexpr TypeId id = Part<T>::id;
  Words words(count);
  if constexpr (kernels::is_bool<T>) {
    for (std::size_t i = 0; i < count; ++i) words[i] = bytes[i] != std::byte{0} ? " True" : "False";
  } else if constexpr (kernels::is_floating<T>) {
    const FloatColumn column(values<P>(bytes, 0, 1), id, options, Sign::if_negative);
    for (std::size_t i = 0; i < count; ++i) words[i] = column.word(i);
  } else if constexpr (kernels::is_complex<T>) {
    const FloatColumn re(values<P>(bytes, 0, 2), id, options, Sign::if_negative);
    const FloatColumn im(values<P>(bytes, 1, 2), id, options, Sign::always);
    for (std::size_t i = 0; i < count; ++i) words[i] = re.word(i) + with_j(im.word(i));
  } else {
    for (std::size_t i = 0; i < count; ++i)
      words[i] = std::to_string(load<T>(bytes.data() + i * sizeof(T)));
    std::size_t width = 0;
    for (const std::string& word : words) width = std::max(width, word.size());
    for (std::string& word : words) word = pad_left(std::move(word), width);
  }
  return words;
}

template <class T>
std::string scalar_of(const std::byte* element) {
  using P = typename Part<T>::type;
  constexpr TypeId id = Part<T>::id;
  if constexpr (kernels::is_bool<T>) {
    return *element != std::byte{0} ? "True" : "False";
  } else if constexpr (kernels::is_floating<T>) {
    return scalar_text(double(load<T>(element)), id, ".0", Sign::if_negative);
  } else if constexpr (kernels::is_complex<T>) {
    return complex_scalar(double(load<P>(element)), double(load<P>(element + sizeof(P))), id);
  } else {
    return std::to_string(load<T>(element));
  }
}

std::string raw_bytes(std::span<const std::byte> bytes) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string text = "b'";
  for (const std::byte b : bytes)
    (text += "\\x").append({hex[std::size_t(b) >> 4], hex[std::size_t(b) & 15]});
  return text + "'";
}

/// Of which the elements are a part.
struct Whole {
  bool is_scalar =
      false;  ///< a record that is no element of an array: numbers as str() writes them
  bool is_element = false;  ///< and they are one element, without axes: bools are not aligned
};

Words words_of(DType type, std::span<const std::byte> bytes, const PrintOptions& options,
               Whole whole);

/// The field of all records, which lie one after another in `bytes`.
std::vector<std::byte> gather_field(const Field& field, std::size_t record_size,
                                    std::span<const std::byte> bytes) {
  std::vector<std::byte> gathered;
  gathered.reserve(bytes.size() / record_size * field.bytes());
  for (std::size_t at = 0; at < bytes.size(); at += record_size) {
    const auto part = bytes.subspan(at + field.offset, field.bytes());
    gathered.insert(gathered.end(), part.begin(), part.end());
  }
  return gathered;
}

/// A fixed array as NumPy's SubArrayFormat writes it. `next` is its first word, and then the one
/// behind it.
std::string nested_list(std::span<const std::int64_t> shape, std::int64_t edge,
                        Words::const_iterator& next) {
  if (shape.empty()) return *next++;
  const std::span rest = shape.subspan(1);
  std::int64_t skipped = 1;  // words of an item
  for (const std::int64_t extent : rest) skipped *= extent;
  std::string text = "[";
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) text += ", ";
    if (i == edge && shape[0] > 2 * edge) {
      text += "..., ";
      next += (shape[0] - 2 * edge) * skipped;
      i = shape[0] - edge;
    }
    text += nested_list(rest, edge, next);
  }
  return text + "]";
}

Words words_of_field(const Field& field, std::span<const std::byte> bytes,
                     const PrintOptions& options, Whole whole) {
  const bool is_element = whole.is_element && field.shape.empty();
  const Words words = words_of(field.dtype, bytes, options, {whole.is_scalar, is_element});
  const auto count = std::int64_t(field.bytes() / field.dtype.itemsize());
  const bool summarised = !field.shape.empty() && count > options.threshold;
  const std::int64_t edge = summarised ? std::max<std::int64_t>(options.edgeitems, 1) : count;
  Words lists;
  for (auto next = words.begin(); next != words.end();)
    lists.push_back(nested_list(field.shape, edge, next));
  return lists;
}

/// NumPy's StructuredVoidFormat; records without fields are raw bytes.
Words words_of_records(DType type, std::span<const std::byte> bytes, const PrintOptions& options,
                       Whole whole) {
  Words words(bytes.size() / type.itemsize());
  if (type.fields().empty()) {
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = raw_bytes(bytes.subspan(i * type.itemsize(), type.itemsize()));
    return words;
  }
  for (const Field& field : type.fields()) {
    const std::vector<std::byte> values = gather_field(field, type.itemsize(), bytes);
    const Words parts = words_of_field(field, values, options, whole);
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] += (words[i].empty() ? "(" : ", ") + parts[i];
  }
  for (std::string& word : words) word += type.fields().size() == 1 ? ",)" : ")";
  return words;
}

Words words_of(DType type, std::span<const std::byte> bytes, const PrintOptions& options,
               Whole whole) {
  if (type.is_record()) return words_of_records(type, bytes, options, whole);
  const bool is_bool = type.kind() == Kind::boolean, is_float = type.kind() == Kind::floating;
  if ((is_float && whole.is_scalar) || (is_bool && whole.is_element)) {
    Words words;
    for (std::size_t at = 0; at < bytes.size(); at += type.itemsize())
      words.push_back(format_scalar(type, bytes.data() + at, options));
    return words;
  }
  return visit(type, [&]<class T>() { return words_of<kernel_type_t<T>>(bytes, options); });
}

}  // namespace

Words format_elements(DType type, std::span<const std::byte> bytes, const PrintOptions& options) {
  return words_of(type, bytes, options, {});
}

std::string format_scalar(DType type, const std::byte* element, const PrintOptions& options) {
  if (type.is_record())
    return words_of_records(type, {element, type.itemsize()}, options, {true, true})[0];
  return visit(type, [&]<class T>() { return scalar_of<kernel_type_t<T>>(element); });
}

}  // namespace quarry
