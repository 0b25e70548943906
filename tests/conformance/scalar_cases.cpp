// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/scalar_cases.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <complex>
#include <iomanip>
#include <optional>

#include <Eigen/Core>

namespace quarry::conformance {
namespace {

constexpr std::uint8_t open = 253, out_of_range = 254, refused_type = 255;
constexpr std::size_t elements = 3;

struct Number {
  TypeId type;
  alignas(16) std::byte bytes[16];
};

const std::vector<Number>& numbers() {
  static const std::vector<Number> all = [] {
    constexpr TypeId types[] = {TypeId::bool_, TypeId::int64, TypeId::uint64, TypeId::float64,
                                TypeId::complex128};
    std::vector<Number> list;
    for (Reader r = find("scalars"); !r.at_end();) {
      Number number{types[r.value<std::uint8_t>()], {}};
      for (std::byte& b : number.bytes) b = r.value<std::byte>();
      list.push_back(number);
    }
    return list;
  }();
  return all;
}

std::string text(const Number& number) {
  std::string result;
  visit(number.type, [&]<class T>() {
    T value;
    std::memcpy(static_cast<void*>(&value), number.bytes, sizeof value);
    std::ostringstream out;
    out << std::setprecision(17) << value;
    result = out.str();
  });
  return result;
}

/// What NumPy makes of one number.
struct Wanted {
  std::uint8_t kind;  ///< the result's type, or one of the constants above
  int ulps = 0;
  std::vector<std::byte> values;
};

Wanted read_wanted(Reader& r) {
  Wanted wanted{r.value<std::uint8_t>(), 0, {}};
  if (wanted.kind >= open) return wanted;
  wanted.ulps = r.value<std::uint16_t>();
  wanted.values.resize(elements * DType(static_cast<TypeId>(wanted.kind)).itemsize());
  for (std::byte& b : wanted.values) b = r.value<std::byte>();
  return wanted;
}

/// The results; nothing if the number is refused.
std::optional<std::vector<std::byte>> computed(DType array, TypeId result, const Number& number,
                                               ComputeBesideNumber compute) {
  Reader in = find("in/scalar/" + std::string(array.name()));
  std::vector<std::byte> out(elements * DType(result).itemsize());
  for (std::size_t i = 0; i < elements; ++i) {
    alignas(16) std::byte element[16];
    for (std::size_t b = 0; b < array.itemsize(); ++b) element[b] = in.value<std::byte>();
    try {
      compute(element, number.bytes, out.data() + i * DType(result).itemsize());
    } catch (const DTypeError&) {
      return std::nullopt;
    }
  }
  return out;
}

void check_number(const std::string& key, DType array, const Number& number, TypeId result,
                  ComputeBesideNumber compute, const Wanted& wanted) {
  const auto got = computed(array, result, number, compute);
  ASSERT_EQ(got.has_value(), wanted.kind != out_of_range) << key << ": which numbers are refused";
  if (!got) return;
  ASSERT_EQ(to_string(result), to_string(static_cast<TypeId>(wanted.kind))) << key;
  Tolerance tolerance{wanted.ulps, false, nullptr};
  expect_close(result, got->data(), wanted.values.data(), elements, tolerance, key);
}

}  // namespace

void check_numbers(const char* name, DType array, DType number, bool is_left, TypeId result,
                   ComputeBesideNumber compute) {
  const std::string key = fmt::format("{}/{}/{}", name, array.name(), is_left ? 'l' : 'r');
  Reader r = find(key);
  for (const Number& n : numbers()) {
    const Wanted wanted = read_wanted(r);
    const std::string at = key + '/' + text(n);
    if (DType(n.type) != number || wanted.kind == open) continue;
    if (!compute) {
      EXPECT_EQ(wanted.kind, refused_type) << at << ": NumPy computes it";
    } else {
      check_number(at, array, n, result, compute, wanted);
    }
  }
  EXPECT_TRUE(r.at_end());
}

}  // namespace quarry::conformance
