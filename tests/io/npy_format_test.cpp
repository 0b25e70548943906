// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_format.hpp"

#include <quarry/base/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::npy {
namespace {

struct Golden {
  std::string_view file;  ///< in hex, made by NumPy
  TypeId type;
  int version;
  bool fortran_order;
  bool swapped;
  std::size_t rank;
  std::int64_t extents[4];
  std::string_view elements;  ///< in hex, in the order of the file, little-endian

  Shape shape() const { return Shape(std::span(extents, rank)); }
};

constexpr Golden goldens[] = {
#include "npy_cases.inc"
};

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += char(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

Header parse(std::string_view file) {
  const auto bytes = std::as_bytes(std::span(file));
  return parse_header(bytes.first(std::min(bytes.size(), max_header_size)), bytes.size());
}

/// A version 1.0 file around this text, with 64 bytes of data.
std::string with_text(const std::string& text) {
  const std::string length = {char(text.size() & 0xff), char(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + text + std::string(64, '\0');
}

std::string with_values(const std::string& descr, const std::string& fortran,
                        const std::string& shape) {
  return with_text("{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape +
                   ", }\n");
}

std::string with_descr(const std::string& descr) { return with_values(descr, "False", "(1,)"); }
std::string with_shape(const std::string& shape) { return with_values("'<f4'", "False", shape); }

std::string message_of(std::string_view file) {
  try {
    parse(file);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(NpyFormat, ReadsWhatNumPyWrites) {
  for (const Golden& g : goldens) {
    const std::string file = from_hex(g.file);
    const Header header = parse(file);
    EXPECT_EQ(header.descr.dtype, DType(g.type));
    EXPECT_EQ(header.fortran_order, g.fortran_order);
    EXPECT_EQ(header.descr.swap_bytes, g.swapped);
    EXPECT_EQ(header.shape, g.shape());
    EXPECT_EQ(header.data_offset + header.data_size, file.size());
    EXPECT_EQ(header.data_offset % 64, 0u);
    std::string elements = file.substr(header.data_offset, header.data_size);
    normalise(header.descr, std::as_writable_bytes(std::span(elements)));
    EXPECT_EQ(elements, from_hex(g.elements)) << header.descr.dtype << ' ' << header.shape;
  }
}

TEST(NpyFormat, HeaderIsNumPysByteForByte) {
  std::size_t compared = 0;
  for (const Golden& g : goldens) {
    if (g.version != 1 || g.swapped) continue;
    const std::string file = from_hex(g.file);
    const std::string header =
        make_header(g.type, g.fortran_order ? Order::f : Order::c, g.shape());
    EXPECT_EQ(header, file.substr(0, parse(file).data_offset));
    ++compared;
  }
  EXPECT_GE(compared, 20u);
}

TEST(NpyFormat, OwnHeadersComeBack) {
  const Shape longest = Dims::filled(32, 1);
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7, 3}, longest, Shape{INT64_MAX, 0}})
    for (std::size_t i = 0; i < type_count; ++i) {
      if (TypeId(i) == TypeId::bfloat16) continue;
      const std::string text = make_header(TypeId(i), Order::f, shape);
      const std::string file = text + std::string(1000, '\0');
      const Header header = parse(file);
      EXPECT_EQ(header.descr.dtype, DType(TypeId(i)));
      EXPECT_EQ(header.shape, shape);
      EXPECT_TRUE(header.fortran_order);
      EXPECT_EQ(header.data_offset, text.size());
      EXPECT_EQ(text.size() % 64, 0u);
    }
}

TEST(NpyFormat, KeysComeInAnyOrderAndEitherQuote) {
  const Header header =
      parse(with_text("{\"shape\":(2,3),'fortran_order' : True,\"descr\":\"=i2\"}   \n"));
  EXPECT_EQ(header.shape, Shape({2, 3}));
  EXPECT_EQ(header.descr.dtype, DType(TypeId::int16));
  EXPECT_FALSE(header.descr.swap_bytes);
}

TEST(NpyFormat, BytesAfterTheDataAreAllowed) {
  EXPECT_EQ(parse(with_shape("(2, 3,)")).data_size, 24u);
}

TEST(NpyFormat, EveryTruncationIsRefused) {
  for (const Golden& g : goldens) {
    const std::string file = from_hex(g.file);
    for (std::size_t size = 0; size < file.size(); ++size)
      EXPECT_THROW(parse(std::string_view(file).substr(0, size)), FormatError) << size;
  }
}

TEST(NpyFormat, TruncationIsReportedWithBothNumbers) {
  const std::string file = with_shape("(17,)");
  EXPECT_EQ(message_of(file),
            "npy: truncated: shape (17,) of float32 needs 68 bytes of data and the file has 64");
}

class NpyHostile : public testing::TestWithParam<std::string> {};

TEST_P(NpyHostile, IsRefused) {
  EXPECT_THROW(parse(GetParam()), FormatError);
  EXPECT_TRUE(message_of(GetParam()).starts_with("npy: "));
  EXPECT_LT(message_of(GetParam()).size(), 300u);
}

const std::string version_two_of_4_gib("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);

INSTANTIATE_TEST_SUITE_P(
    Files, NpyHostile,
    testing::Values("", "\x93NUMP", "PK\x03\x04 not an array at all", version_two_of_4_gib,
                    std::string("\x93NUMPY\x00\x00\x76\x00", 10) + std::string(200, ' '),
                    std::string("\x93NUMPY\x04\x00\x76\x00", 10) + std::string(200, ' '),
                    std::string("\x93NUMPY\xff\x00\x76\x00", 10) + std::string(200, ' '),
                    std::string("\x93NUMPY\x01\x01\x76\x00", 10) + std::string(200, ' ')));

INSTANTIATE_TEST_SUITE_P(
    Texts, NpyHostile,
    testing::Values(
        with_text(""), with_text("\n"), with_text("{}\n"), with_text("{\n"), with_text("}\n"),
        with_text("{'descr': , 'fortran_order': , 'shape': , }\n"),
        with_text(std::string(64, '\0')),
        with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"),
        with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x\n"),
        with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)\n"),
        with_text("{'descr': '<f4', 'fortran_order': False, }\n"),
        with_text("{'descr': '<f4', 'descr': '<f4', 'shape': (1,), 'fortran_order': False}\n"),
        with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1, }\n"),
        with_text("{'descr': '<f4' 'fortran_order': False, 'shape': (1,), }\n"),
        with_text("{'d\\x65scr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"),
        with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), \xe9: 1}\n"),
        with_text("{'descr': '<f4, 'fortran_order': False, 'shape': (1,), }\n"),
        with_text(std::string(9000, '(') + "\n"), with_text(std::string(10000, ' ') + "\n"),
        with_text(std::string(9000, '{') + "\n")));

INSTANTIATE_TEST_SUITE_P(
    Shapes, NpyHostile,
    testing::Values(with_shape("(-1,)"), with_shape("(4294967296, 4294967296)"),
                    with_shape("(4611686018427387905, 4)"), with_shape("(9223372036854775808,)"),
                    with_shape("(" + std::string(400, '9') + ",)"), with_shape("(abc,)"),
                    with_shape("(1e3,)"), with_shape("(0x10,)"), with_shape("(1_000,)"),
                    with_shape("(+5,)"), with_shape("(5L,)"), with_shape("(5.0,)"),
                    with_shape("(\xd9\xa3,)"), with_shape("(007,)"), with_shape("(1)"),
                    with_shape("1"), with_shape("[1]"), with_shape("(,)"), with_shape("(1,,)"),
                    with_shape("(1, 2"), with_shape("((1,),)"), with_shape("(True,)"),
                    with_shape("None"),
                    with_shape("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
                               "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
                               "1, 1, 1)")));

INSTANTIATE_TEST_SUITE_P(
    Types, NpyHostile,
    testing::Values(with_descr("''"), with_descr("'<'"), with_descr("'|O'"), with_descr("'<f3'"),
                    with_descr("'<f999999'"), with_descr("'<f16'"), with_descr("'<U5'"),
                    with_descr("'|S3'"), with_descr("'<M8[ns]'"), with_descr("'|f4'"),
                    with_descr("'f4'"), with_descr("'float32'"), with_descr("'|V8'"),
                    with_descr("'|V0'"), with_descr("'<U0'"), with_descr("'|S0'"),
                    with_descr("('<f4', (2,))"), with_descr("None"),
                    with_descr(std::string("'<f4\0'", 6)), with_descr("'<f4 '"),
                    with_values("'<f4'", "0", "(1,)"), with_values("'<f4'", "'True'", "(1,)"),
                    with_values("'<f4'", "Trueish", "(1,)"), with_values("'<f4'", "None", "(1,)")));

INSTANTIATE_TEST_SUITE_P(
    Records, NpyHostile,
    testing::Values(
        with_descr("[]"), with_descr("["), with_descr("[('x', '<f4')"), with_descr("[('x', '<f4'"),
        with_descr("[('x', )]"), with_descr("[('x')]"), with_descr("[('x', '|O')]"),
        with_descr("[('x', [('y', '|O')])]"), with_descr("[('x', '<f4'), ('x', '<f4')]"),
        with_descr("[('x', '<f4') ('y', '<f4')]"), with_descr("[(('t', 'x', 'y'), '<f4')]"),
        with_descr("[(('x', 'x'), '<f4')]"), with_descr("[(('t', ''), '|V4'), ('y', '<f4')]"),
        with_descr("[(('t', 'x'), '<f4'), ('t', '<f4')]"), with_descr("[(('t',), '<f4')]"),
        with_descr("[(('t', 'x'), '<f4'), (('t', 'y'), '<f4')]"), with_descr("[((1, 'x'), '<f4')]"),
        with_descr("[('', '<f4'), ('x', '<f4')]"), with_descr("[('x', '<f4'), ('', '|V0')]"),
        with_descr("[('x', '<f4'), ('', '|V-1')]"),
        with_descr("[('x', '<f4'), ('', '|V99999999999999999999')]"), with_descr("[('', '|V4')]"),
        with_descr("[('x', '<f4', (0,))]"), with_descr("[('x', '<f4', 3)]"),
        with_descr("[('x', '<f4', (2147483647,))]"),
        with_descr("[('x', '<f4', (4294967296, 4294967296, 4294967296))]"),
        with_descr("[('x', '<f4', (400000000,)), ('y', '<f4', (400000000,))]"),
        with_descr("[('x', '<f4', (1,), 'more')]"), with_descr("[['x', '<f4']]"),
        with_descr("[('x', None)]"), with_descr("[(None, '<f4')]")));

TEST(NpyFormat, FieldsHaveTheirNamesWhateverTheirTitles) {
  const Header header =
      parse(with_descr("[(('the title', 'x'), '<f4', (2,)), ('y', '<i4'), (('', 'z'), '|u1')]"));
  ASSERT_EQ(header.descr.fields.size(), 3u);
  EXPECT_EQ(header.descr.dtype.itemsize(), 13u);
  EXPECT_EQ(header.descr.fields[0].name, "x");
  EXPECT_EQ(header.descr.fields[0].shape, (Shape{2}));
  EXPECT_EQ(header.descr.fields[1].offset, 8u);
  EXPECT_EQ(header.descr.fields[2].name, "z");
}

TEST(NpyFormat, RecordsAreReadInEachOther) {
  const Header header =
      parse(with_descr("[('x', '>f4', (2, 3)), ('', '|V2'), ('in', [('a', '|b1'), "
                       "('b', '>i2')], (2,))]"));
  EXPECT_EQ(header.descr.dtype.itemsize(), 24u + 2 + 6);
  ASSERT_EQ(header.descr.fields.size(), 2u);
  EXPECT_EQ(header.descr.fields[0].shape, (Shape{2, 3}));
  EXPECT_TRUE(header.descr.fields[0].descr.swap_bytes);
  EXPECT_EQ(header.descr.fields[1].offset, 26u);
  EXPECT_EQ(header.descr.fields[1].descr.fields[1].name, "b");
  std::string elements(32, '\0');
  elements[3] = 1, elements[26] = 7, elements[27] = 9, elements[24] = 5;
  normalise(header.descr, std::as_writable_bytes(std::span(elements)));
  EXPECT_EQ(elements[0], 1);
  EXPECT_EQ(elements[26], 1);
  EXPECT_EQ(elements[27], 0);
  EXPECT_EQ(elements[28], 9);
  EXPECT_EQ(elements[24], 5);  // no field's
}

TEST(NpyFormat, RecordsInEachOtherEnd) {
  std::string descr = "'<f4'";
  for (int i = 0; i < 200; ++i) descr = "[('x', " + descr + ")]";
  EXPECT_THROW(parse(with_descr(descr)), FormatError);
}

TEST(NpyFormat, MessagesNameTheValue) {
  EXPECT_NE(message_of(with_descr("'<f3'")).find("'<f3'"), std::string::npos);
  EXPECT_NE(message_of(with_descr("'|O'")).find("Python objects"), std::string::npos);
  EXPECT_NE(message_of(with_descr("[('x', '<f4'), ('x', '<i4')]")).find("'x' a second time"),
            std::string::npos);
  EXPECT_NE(message_of(with_shape("(-1,)")).find("'-1,)"), std::string::npos);
}

TEST(NpyFormat, Bfloat16HasNoCode) {
  EXPECT_THROW(parse(with_descr("'<V2'")), DTypeError);
  EXPECT_NE(message_of(with_descr("'<V2'")).find("bfloat16"), std::string::npos);
  EXPECT_THROW(make_header(TypeId::bfloat16, Order::c, {1}), DTypeError);
  EXPECT_THROW(make_header(DType::record(8, 4), Order::c, {1}), DTypeError);
}

TEST(NpyFormat, BoolsBecomeZeroOrOne) {
  const Header header = parse(with_descr("'|b1'"));
  std::string elements = {0, 1, 2, char(255)};
  normalise(header.descr, std::as_writable_bytes(std::span(elements)));
  EXPECT_EQ(elements, std::string({0, 1, 1, 1}));
}

/// Some bytes of a golden file changed, added, removed or repeated.
std::string mutated(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return std::size_t(random() % n); };
  std::string file = from_hex(goldens[below(std::size(goldens))].file);
  for (std::size_t changes = 1 + below(4); changes > 0 && !file.empty(); --changes) {
    const std::size_t at = below(file.size());
    const std::string_view interesting = "0123456789(),{}':<>=|-LTFbfiucVO \n\xff";
    switch (below(5)) {
      case 0:
        file[at] = char(random());
        break;
      case 1:
        file[at] = interesting[below(interesting.size())];
        break;
      case 2:
        file.erase(at, 1 + below(8));
        break;
      case 3:
        file.insert(at, file.substr(below(file.size()), below(20)));
        break;
      default:
        file.insert(at, 1, interesting[below(interesting.size())]);
    }
  }
  return file;
}

TEST(NpyFormat, MutatedFilesAreReadOrRefusedAndNeverAskForMoreThanTheyHave) {
  std::mt19937_64 random(2026);
  std::size_t read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string file = mutated(random);
    try {
      const Header header = parse(file);
      ASSERT_LE(header.data_offset, file.size());
      ASSERT_LE(header.data_size, file.size() - header.data_offset);
      ASSERT_EQ(std::size_t(byte_count(header.shape, header.descr.dtype.itemsize())),
                header.data_size);
      std::span<char> all(file);
      normalise(header.descr,
                std::as_writable_bytes(all.subspan(header.data_offset, header.data_size)));
      ++read;
    } catch (const FormatError&) {
    } catch (const DTypeError&) {
    }
  }
  EXPECT_GT(read, 500u);
}

TEST(NpyFormat, NamesOfFieldsAreLatin1BeforeVersion3) {
  const auto name_in = [](int version, const std::string& name) {
    std::string file = with_descr("[('" + name + "', '<f4')]");
    if (version > 1) {
      file[6] = char(version);
      file.insert(10, 2, '\0');
    }
    return parse(file).descr.fields.at(0).name;
  };
  EXPECT_EQ(name_in(1, "\xe9x"), "\xc3\xa9x");
  EXPECT_EQ(name_in(2, "\xe9x"), "\xc3\xa9x");
  EXPECT_EQ(name_in(3, "\xc3\xa9x"), "\xc3\xa9x");
}

}  // namespace
}  // namespace quarry::npy
