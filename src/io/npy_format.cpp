// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_format.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>

namespace quarry::npy {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;
// numpy.save leaves room for the growing axis to reach this many digits.
constexpr std::size_t growth_digits = 21;

[[noreturn]] void refuse(const std::string& why) { throw FormatError("npy: " + why); }

/// Untrusted text for a message: short, and printable ASCII only.
std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown;
  for (const char c : text.substr(0, longest)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "'" + shown + (text.size() > longest ? "...'" : "'");
}

/// The part of Python's literals that numpy.save writes: a dictionary of strings, bools and a tuple
/// of non-negative integers. Nothing in it nests, so neither does the parser.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool accept(char c) {
    skip_space();
    if (rest().empty() || rest().front() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' expected", c));
  }

  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t size = rest().find(quote);
    if (size == std::string_view::npos) fail("a string without an end");
    const std::string_view value = rest().substr(0, size);
    if (value.find('\\') != std::string_view::npos) fail("an escape in a string");
    at_ += size + 1;
    return value;
  }

  bool boolean() {
    for (const std::string_view word : {"True", "False"}) {
      skip_space();
      if (!rest().starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    fail("True or False expected");
  }

  Shape shape() {
    expect('(');
    Shape extents;
    while (!accept(')')) {
      if (extents.size() == max_rank) fail(fmt::format("more than {} dimensions", max_rank));
      extents.push_back(extent());
      const bool more = accept(',');
      if (!more && extents.size() == 1) fail("a tuple of one without its comma");
      if (more) continue;
      expect(')');
      break;
    }
    return extents;
  }

  void expect_end() {
    skip_space();
    if (!rest().empty()) fail("text after the dictionary");
  }

  [[noreturn]] void fail(const std::string& why) const {
    refuse(fmt::format("{} at character {} of the header: {}", why, at_, quoted(rest())));
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  void skip_space() {
    while (!rest().empty() && rest().front() == ' ') ++at_;
  }

  std::int64_t extent() {
    skip_space();
    const std::string_view digits =
        rest().substr(0, std::min(rest().find_first_not_of("0123456789"), rest().size()));
    if (digits.empty()) fail("an extent in decimal digits expected");
    if (digits.size() > 1 && digits.front() == '0') fail("an extent with leading zeros");
    std::int64_t value = 0;
    for (const char c : digits)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, c - '0', &value))
        fail("an extent of more than 63 bits");
    at_ += digits.size();
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct Entries {
  std::optional<std::string_view> descr;
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
    if (in.accept('[')) in.fail("a structured element type, which is not supported,");
    entries.descr = in.string();
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

std::optional<DType> with_code(std::string_view code) {
  for (std::size_t i = 0; i < type_count; ++i) {
    const DType type = TypeId(i);
    if (type.npy_code() == code) return type;
  }
  return std::nullopt;
}

/// In files bfloat16 is two raw bytes, except for ml_dtypes: loading it would be a guess.
void require_own_code(DType type) {
  require<DTypeError>(type.id() != TypeId::bfloat16 && !type.is_record(), [&] {
    return "npy: the format has no code for " + to_string(type) +
           (type.is_record() ? "" : " (ml_dtypes writes it as the raw bytes 'V2')");
  });
}

DType read_descr(std::string_view descr) {
  const std::string_view orders = "<>=|";
  if (descr.size() < 2 || orders.find(descr[0]) == std::string_view::npos)
    refuse("the element type " + quoted(descr) + " is not understood");
  if (descr[1] == 'O') refuse("the element type 'O', Python objects, is never loaded");
  const std::optional<DType> type = with_code(descr.substr(1));
  if (!type) refuse("the element type " + quoted(descr) + " is not supported");
  require_own_code(*type);
  if (descr[0] == '|' && type->itemsize() > 1)
    refuse("the element type " + quoted(descr) + " has no byte order");
  return *type;
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
  std::string_view value;  ///< without its newline
  std::size_t end;         ///< where the data begins
};

Text header_text(std::span<const std::byte> start, std::uint64_t file_size) {
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
  return {text.substr(0, length - 1), text_at + length};
}

/// The bytes of the elements; throws FormatError if they do not fit in 63 bits.
std::size_t declared_size(const Shape& shape, DType type) {
  try {
    return std::size_t(byte_count(shape, type.itemsize()));
  } catch (const SizeOverflow&) {
    refuse("the bytes of shape " + to_string(shape) + " do not fit in 63 bits");
  }
}

template <std::size_t Size>
void reverse_each(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i + Size <= bytes.size(); i += Size)
    std::reverse(bytes.data() + i, bytes.data() + i + Size);
}

}  // namespace

Header parse_header(std::span<const std::byte> start, std::uint64_t file_size) {
  const Text text = header_text(start, file_size);
  const Entries entries = read_entries(text.value);
  const DType type = read_descr(*entries.descr);
  const std::size_t size = declared_size(*entries.shape, type);
  const std::uint64_t rest = file_size - text.end;
  require<FormatError>(size <= rest, [&] {
    return fmt::format("npy: truncated: shape {} of {} needs {} bytes of data and the file has {}",
                       to_string(*entries.shape), type.name(), size, rest);
  });
  const bool swap = entries.descr->front() == '>' && type.itemsize() > 1;
  return {type, *entries.fortran_order, swap, *entries.shape, text.end, size};
}

std::string make_header(DType type, Order order, const Shape& shape) {
  require_own_code(type);
  const bool fortran = order == Order::f;
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': {}, }}",
                                 type.itemsize() == 1 ? '|' : '<', type.npy_code(),
                                 fortran ? "True" : "False", to_string(shape));
  if (!shape.empty()) {
    const std::int64_t growing = shape[fortran ? shape.size() - 1 : 0];
    text.append(growth_digits - std::to_string(growing).size(), ' ');
  }
  constexpr std::size_t text_at = 10;
  text.append(alignment - (text_at + text.size() + 1) % alignment, ' ');
  text += '\n';
  const std::string length = {char(text.size() & 0xff), char(text.size() >> 8)};
  return std::string(magic) + std::string("\x01\x00", 2) + length + text;
}

void normalise(const Header& header, std::span<std::byte> elements) {
  if (header.dtype.id() == TypeId::bool_)
    for (std::byte& b : elements) b = std::byte(b != std::byte{0});
  if (!header.swap_bytes) return;
  switch (header.dtype.alignment()) {  // of a complex number: one of its parts
    case 2:
      return reverse_each<2>(elements);
    case 4:
      return reverse_each<4>(elements);
    default:
      return reverse_each<8>(elements);
  }
}

}  // namespace quarry::npy
