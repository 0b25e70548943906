// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_format.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "io/python_literal.hpp"

namespace quarry::npy {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::size_t alignment = 64;
// numpy.save leaves room for the growing axis to reach this many digits.
constexpr std::size_t growth_digits = 21;

struct Entries {
  std::optional<Descr> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;

  bool complete() const { return descr && fortran_order && shape; }
};

void read_entry(Literal& in, Entries& entries) {
  const std::string_view key = in.string();
  in.expect(':');
  const bool twice = (key == "descr" && entries.descr) ||
                     (key == "fortran_order" && entries.fortran_order) ||
                     (key == "shape" && entries.shape);
  if (twice) in.fail(fmt::format("the key {} a second time", quoted(key)));
  if (key == "descr") {
    entries.descr = read_descr(in);
  } else if (key == "fortran_order") {
    entries.fortran_order = in.boolean();
  } else if (key == "shape") {
    entries.shape = in.shape();
  } else {
    in.fail(fmt::format("the unknown key {}", quoted(key)));
  }
}

Entries read_entries(std::string_view text) {
  Literal in(text);
  Entries entries;
  in.expect('{');
  while (!in.accept('}')) {
    read_entry(in, entries);
    if (in.accept(',')) continue;
    in.expect('}');
    break;
  }
  in.expect_end();
  if (!entries.complete()) in.fail("one of the keys descr, fortran_order and shape missing");
  return entries;
}

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::uint32_t(bytes[i]);
  return value;
}

void require_bytes(std::uint64_t has, std::uint64_t needed, std::string_view what) {
  require<FormatError>(has >= needed, [&] {
    return fmt::format("npy: truncated: {} needs {} bytes and the file has {}", what, needed, has);
  });
}

struct Text {
  std::string value;  ///< without its newline, in UTF-8
  std::size_t end;    ///< where the data begins
};

/// Headers before version 3.0 are in Latin-1.
std::string utf8_of(std::string_view latin1) {
  std::string text;
  for (const char c : latin1) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += char(0xc0 | byte >> 6);
      text += char(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

Text text_of(std::span<const std::byte> start, std::uint64_t file_size) {
  const std::uint64_t available = std::min<std::uint64_t>(start.size(), file_size);
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), available);
  if (!bytes.starts_with(magic.substr(0, std::min(bytes.size(), magic.size()))))
    refuse("the file does not begin with \\x93NUMPY");
  require_bytes(available, magic.size() + 2, "the magic string");
  const int major = int(start[magic.size()]);
  const int minor = int(start[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    refuse(fmt::format("version {}.{} is not one of 1.0, 2.0 and 3.0", major, minor));

  const std::size_t length_at = magic.size() + 2;
  const std::size_t text_at = length_at + (major == 1 ? 2 : 4);
  require_bytes(available, text_at, "the length of the header");
  const std::size_t length = little_endian(start.subspan(length_at, text_at - length_at));
  if (length > max_header_text)
    refuse(fmt::format("a header of {} bytes; {} at most", length, max_header_text));
  require_bytes(available, text_at + length, "the header");
  const std::string_view text = bytes.substr(text_at, length);
  if (text.empty() || text.back() != '\n') refuse("the header does not end in a newline");
  const std::string_view line = text.substr(0, length - 1);
  return {major < 3 ? utf8_of(line) : std::string(line), text_at + length};
}

/// The bytes of the elements; throws FormatError if they do not fit in 63 bits.
std::size_t declared_size(const Shape& shape, DType type) {
  try {
    return std::size_t(byte_count(shape, type.itemsize()));
  } catch (const SizeOverflow&) {
    refuse("the bytes of shape " + to_string(shape) + " do not fit in 63 bits");
  }
}

}  // namespace

Header parse_header(std::span<const std::byte> start, std::uint64_t file_size) {
  const Text text = text_of(start, file_size);
  const Entries entries = read_entries(text.value);
  const DType type = entries.descr->dtype;
  const std::size_t size = declared_size(*entries.shape, type);
  const std::uint64_t rest = file_size - text.end;
  require<FormatError>(size <= rest, [&] {
    return fmt::format("npy: truncated: shape {} of {} needs {} bytes of data and the file has {}",
                       to_string(*entries.shape), type.name(), size, rest);
  });
  return {*entries.descr, *entries.fortran_order, *entries.shape, text.end, size};
}

namespace {

std::string header_text(DType type, Order order, const Shape& shape) {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr(type),
                     order == Order::f ? "True" : "False", to_string(shape));
}

/// Bytes before the text, which is in UTF-8 if it is not ASCII, as in version 3.0.
std::size_t text_offset(std::string_view text) {
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  return std::ranges::all_of(text, ascii) ? 10 : 12;
}

/// The header of `text`, padded to `size` bytes.
std::string padded(std::string text, std::size_t size) {
  const std::size_t text_at = text_offset(text), text_size = size - text_at;
  text.append(text_size - text.size() - 1, ' ');
  const std::string length = {char(text_size & 0xff), char(text_size >> 8)};
  const bool is_ascii = text_at == 10;
  return std::string(magic) + std::string(is_ascii ? "\x01" : "\x03") + '\0' + length +
         std::string(is_ascii ? 0 : 2, '\0') + text + '\n';
}

}  // namespace

std::string make_header(DType type, Order order, const Shape& shape) {
  std::string text = header_text(type, order, shape);
  if (!shape.empty()) {
    const std::int64_t growing = shape[order == Order::f ? shape.size() - 1 : 0];
    text.append(growth_digits - std::to_string(growing).size(), ' ');
  }
  const std::size_t text_at = text_offset(text);
  const std::size_t size = (text_at + text.size() + 1) / alignment * alignment + alignment;
  require<DTypeError>(size - text_at <= max_header_text, [&] {
    return fmt::format("npy: a header of {} bytes for {}; {} at most", size - text_at,
                       to_string(type), max_header_text);
  });
  return padded(std::move(text), size);
}

std::string make_header(DType type, Order order, const Shape& shape, std::size_t size) {
  std::string text = header_text(type, order, shape);
  const std::size_t needed = text_offset(text) + text.size() + 1;
  require<FormatError>(needed <= size, [&] {
    return fmt::format("npy: the header of shape {} needs {} bytes and has room for {}",
                       to_string(shape), needed, size);
  });
  return padded(std::move(text), size);
}

}  // namespace quarry::npy
