// SPDX-License-Identifier: BSD-3-Clause
#include "array/format.hpp"

#include <quarry/base/error.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/decimal.hpp"

namespace quarry {
namespace {

struct Case {
  TypeId type;
  std::string_view hex;  ///< the elements, repeated over the shape
  std::size_t rank;
  std::int64_t extents[4];
  PrintOptions options;
  std::string_view text;

  Shape shape() const { return Shape(std::span(extents, rank)); }
  Layout layout() const { return {shape(), c_strides(shape(), DType(type).itemsize())}; }
};

constexpr Case cases[] = {
#include "print_cases.inc"
};

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(std::byte(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::vector<std::byte> elements_of(const Case& c) {
  const std::vector<std::byte> pattern = from_hex(c.hex);
  std::vector<std::byte> elements(std::size_t(byte_count(c.shape(), DType(c.type).itemsize())));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = pattern[i % pattern.size()];
  return elements;
}

template <class T>
std::string text_of(const std::vector<T>& values, PrintOptions options = {}) {
  const Layout layout{{values.size()}, {sizeof(T)}};
  return format_array(dtype_of<T>, std::as_bytes(std::span(values)).data(), layout, options);
}

TEST(Format, IsWhatNumPyPrints) {
  static_assert(std::size(cases) >= 300);
  for (const Case& c : cases) {
    const std::vector<std::byte> elements = elements_of(c);
    EXPECT_EQ(format_array(c.type, elements.data(), c.layout(), c.options), c.text)
        << DType(c.type) << ' ' << c.shape() << ' ' << c.hex.substr(0, 64);
  }
}

/// The corners of `elements` of shape `full`, by a recursion that shares nothing with format.cpp.
void append_corners(const std::byte* from, std::size_t axis, const Layout& full, DType type,
                    const std::vector<Corner>& parts, std::vector<std::byte>& out) {
  if (axis == full.rank()) {
    out.insert(out.end(), from, from + type.itemsize());
    return;
  }
  const std::int64_t extent = full.shape[axis];
  for (std::int64_t i = 0; i < extent; ++i)
    if (i < parts[axis].leading || i >= extent - parts[axis].trailing)
      append_corners(from + i * full.strides[axis], axis + 1, full, type, parts, out);
}

TEST(Format, CornersPrintAsTheWholeArray) {
  for (const Case& c : cases) {
    const std::vector<std::byte> elements = elements_of(c);
    const std::vector<Corner> parts = corners(c.shape(), c.options);
    std::vector<std::byte> kept;
    append_corners(elements.data(), 0, c.layout(), c.type, parts, kept);
    const Shape shape = shape_of(parts);
    const Layout layout{shape, c_strides(shape, DType(c.type).itemsize())};
    EXPECT_EQ(format_corners(c.type, kept.data(), layout, c.shape(), c.options), c.text);
  }
}

TEST(Format, CornersAreFewAndOnlyOfLongAxes) {
  const std::vector<Corner> expected = {{2, 0}, {6, 0}, {3, 3}};
  EXPECT_EQ(corners({2, 6, 1000}, {}), expected);
  EXPECT_EQ(shape_of(corners({2, 6, 1000}, {})), Shape({2, 6, 6}));
  EXPECT_EQ(shape_of(corners({1000}, {})), Shape({1000}));
  EXPECT_EQ(shape_of(corners({1001}, {})), Shape({6}));
  EXPECT_EQ(shape_of(corners({1001}, {.edgeitems = 0})), Shape({2}));
}

TEST(Format, CornersOfAnotherShapeAreRefused) {
  const std::vector<std::byte> elements(5);
  EXPECT_THROW(format_corners(TypeId::int8, elements.data(), {{5}, {1}}, {1001}), ShapeError);
}

TEST(Format, FollowsStridesOfEitherSign) {
  const std::vector<std::int16_t> values = {1, 2, 3, 4, 5, 6};
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  const auto* last = reinterpret_cast<const std::byte*>(values.data() + 5);
  EXPECT_EQ(format_array(TypeId::int16, first, {{3, 2}, {2, 6}}), "[[1 4]\n [2 5]\n [3 6]]");
  EXPECT_EQ(format_array(TypeId::int16, last, {{3}, {-4}}), "[6 4 2]");
  EXPECT_EQ(format_array(TypeId::int16, first, {{2, 2}, {0, 2}}), "[[1 2]\n [1 2]]");
}

TEST(Format, ReadsNoMoreThanTheCorners) {
  const std::int32_t value = 7;  // all that there is, along a stride of 0
  const auto* element = reinterpret_cast<const std::byte*>(&value);
  EXPECT_EQ(format_array(TypeId::int32, element, {{INT64_MAX / 4, 1}, {0, 4}}),
            "[[7]\n [7]\n [7]\n ...\n [7]\n [7]\n [7]]");
}

TEST(Format, BoolOfAnyNonZeroByteIsTrue) {
  const std::vector<std::byte> bytes = {std::byte{0}, std::byte{2}, std::byte{255}};
  EXPECT_EQ(format_array(TypeId::bool_, bytes.data(), {{3}, {1}}), "[False  True  True]");
}

TEST(Format, RecordsPrintAsBytes) {
  const std::vector<std::byte> bytes = {std::byte{0x61}, std::byte{0xff}};
  const DType pair = DType::record(2, 1);
  EXPECT_EQ(format_array(pair, bytes.data(), {{1}, {2}}), "[b'\\x61\\xFF']");
  EXPECT_EQ(format_array(pair, bytes.data(), {}), "b'\\x61\\xFF'");
}

TEST(Format, Bfloat16PrintsItsShortestDigits) {
  const std::vector<std::uint16_t> bits = {0x3f80, 0x3dcd, 0xc2f7, 0x7fc0};  // 1 0.1 -123.5 NaN
  const auto* first = reinterpret_cast<const std::byte*>(bits.data());
  EXPECT_EQ(format_array(TypeId::bfloat16, first, {{2}, {2}}), "[1.  0.1]");
  EXPECT_EQ(format_array(TypeId::bfloat16, first, {{4}, {2}}),
            "[ 1.000e+00  1.001e-01 -1.235e+02        nan]");
  EXPECT_EQ(format_array(TypeId::bfloat16, first + 2, {}), "0.1");
}

double float_of_bfloat16(unsigned bits) { return double(std::bit_cast<float>(bits << 16)); }

TEST(Decimal, ShortestDigitsOfEveryBfloat16AreItsOwnAndNoFewerWouldDo) {
  for (unsigned bits = 1; bits < 0x7f80; ++bits) {
    const double value = float_of_bfloat16(bits);
    const Decimal d = scientific(value, TypeId::bfloat16, 17);
    const double read = std::atof((d.whole + "." + d.fraction + "e" + d.exponent).c_str());
    const double below = (value + float_of_bfloat16(bits - 1)) / 2;
    const double above = bits == 0x7f7f ? 2 * value - below  // beyond the largest there is infinity
                                        : (value + float_of_bfloat16(bits + 1)) / 2;
    ASSERT_TRUE(read >= below && read <= above) << value << " printed as " << read;
    if (d.fraction.empty()) continue;
    const double unit = std::pow(10.0, std::atoi(d.exponent.c_str()) + 1 - int(d.fraction.size()));
    const double shorter = std::round(value / unit) * unit;
    ASSERT_TRUE(shorter <= below * (1 + 1e-12) || shorter >= above * (1 - 1e-12)) << value;
  }
}

TEST(Format, OptionsThatMakeNoSenseStillPrint) {
  const std::vector<double> values = {1.5, -2.25};
  EXPECT_EQ(text_of(values, {.precision = -1}), text_of(values, {.precision = 0}));
  EXPECT_EQ(text_of(values, {.linewidth = -5}), "[ 1.5\n -2.25]");
  EXPECT_EQ(text_of(values, {.threshold = -1, .edgeitems = -1}), "[ 1.5  -2.25]");
}

}  // namespace
}  // namespace quarry
