// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_descr.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "io/python_literal.hpp"

namespace quarry::npy {

namespace {

constexpr int max_depth = 32;               // of records in records
constexpr std::int64_t max_size = INT_MAX;  // of a record, as NumPy's

std::optional<DType> with_code(std::string_view code) {
  for (std::size_t i = 0; i < type_count; ++i) {
    const DType type = TypeId(i);
    if (type.npy_code() == code) return type;
  }
  return std::nullopt;
}

Descr number(std::string_view descr) {
  const std::string_view orders = "<>=|";
  if (descr.size() < 2 || orders.find(descr[0]) == std::string_view::npos)
    refuse("the element type " + quoted(descr) + " is not understood");
  if (descr[1] == 'O') refuse("the element type 'O', Python objects, is never loaded");
  const std::optional<DType> type = with_code(descr.substr(1));
  if (!type) refuse("the element type " + quoted(descr) + " is not supported");
  require<DTypeError>(type->id() != TypeId::bfloat16, [&] {
    return "npy: the format has no code for bfloat16 (ml_dtypes writes it as the raw bytes 'V2')";
  });
  if (descr[0] == '|' && type->itemsize() > 1)
    refuse("the element type " + quoted(descr) + " has no byte order");
  return {*type, descr[0] == '>' && type->itemsize() > 1, {}};
}

/// The size of '|V8'; nothing for other types.
std::optional<std::int64_t> raw_bytes(std::string_view descr) {
  if (!descr.starts_with("|V")) return std::nullopt;
  std::int64_t size = 0;
  const char* const end = descr.data() + descr.size();
  const auto [at, error] = std::from_chars(descr.data() + 2, end, size);
  if (error != std::errc() || at != end || size < 1) return std::nullopt;
  return size;
}

/// Reads the list of a record.
class Record {
 public:
  Record(Literal& in, int depth) : in_(in), depth_(depth) {
    if (depth > max_depth) in.fail(fmt::format("more than {} records in each other", max_depth));
  }

  /// Behind its opening bracket.
  Descr read() {
    while (!in_.accept(']')) {
      in_.expect('(');
      read_field();
      in_.expect(')');
      if (in_.accept(',')) continue;
      in_.expect(']');
      break;
    }
    if (fields_.empty()) in_.fail("a record without fields");
    return {DType::record(std::size_t(size_), 1), false, std::move(fields_)};
  }

 private:
  void read_field() {
    const std::string name = read_name();
    in_.expect(',');
    if (name.empty()) return read_padding();
    Descr descr = in_.accept('[') ? Record(in_, depth_ + 1).read() : number(in_.string());
    Shape shape;
    if (in_.accept(',')) shape = in_.shape();
    fields_.push_back({name, std::size_t(size_), std::move(shape), std::move(descr)});
    grow(fields_.back().shape, fields_.back().descr.dtype.itemsize());
  }

  /// The name, which may have a title before it: ('title', 'name'). A title is read over.
  std::string read_name() {
    const bool has_title = in_.accept('(');
    if (has_title) {
      take_name(std::string(in_.string()));
      in_.expect(',');
    }
    std::string name(in_.string());
    if (has_title) {
      if (name.empty()) in_.fail("a title without a name");
      in_.expect(')');
    }
    if (!name.empty()) take_name(name);
    return name;
  }
  /// NumPy finds a field by its title, too, so that these differ from all names.
  void take_name(const std::string& name) {
    if (!names_.insert(name).second)
      in_.fail(fmt::format("the field {} a second time", quoted(name)));
  }

  void read_padding() {
    const std::optional<std::int64_t> size = raw_bytes(in_.string());
    if (!size) in_.fail("a field without a name that is not raw bytes");
    grow({*size}, 1);
  }

  void grow(const Shape& shape, std::size_t itemsize) {
    std::int64_t bytes = 0;
    try {
      bytes = byte_count(shape, itemsize);
    } catch (const SizeOverflow&) {
      bytes = max_size;
    }
    if (bytes == 0) in_.fail("a field of 0 bytes");
    if (bytes >= max_size - size_) in_.fail(fmt::format("a record of {} bytes or more", max_size));
    size_ += bytes;
  }

  Literal& in_;
  int depth_;
  std::int64_t size_ = 0;
  std::vector<DescrField> fields_;
  std::set<std::string> names_;  // and titles
};

template <std::size_t Size>
void reverse_each(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i + Size <= bytes.size(); i += Size)
    std::reverse(bytes.data() + i, bytes.data() + i + Size);
}

void normalise_numbers(const Descr& descr, std::span<std::byte> elements) {
  if (descr.dtype.id() == TypeId::bool_)
    for (std::byte& b : elements) b = std::byte(b != std::byte{0});
  if (!descr.swap_bytes) return;
  switch (descr.dtype.alignment()) {  // of a complex number: one of its parts
    case 2:
      return reverse_each<2>(elements);
    case 4:
      return reverse_each<4>(elements);
    default:
      return reverse_each<8>(elements);
  }
}

bool is_usable(const Descr& descr) {
  if (descr.fields.empty()) return !descr.swap_bytes && descr.dtype.id() != TypeId::bool_;
  return std::ranges::all_of(descr.fields, is_usable, &DescrField::descr);
}

const DescrField* field_of(const Descr& descr, const Field& field) {
  const auto found = std::ranges::find(descr.fields, field.name, &DescrField::name);
  const bool fits = found != descr.fields.end() && found->shape == Shape(field.shape) &&
                    has_elements(found->descr, field.dtype);
  return fits ? &*found : nullptr;
}

}  // namespace

Descr read_descr(Literal& in) {
  return in.accept('[') ? Record(in, 1).read() : number(in.string());
}

std::string to_string(const Descr& descr) {
  if (descr.fields.empty()) return quarry::to_string(descr.dtype);
  constexpr std::size_t longest = 8;  // the names come from the file
  std::string text;
  for (const DescrField& field : descr.fields) {
    if (&field - descr.fields.data() == longest) return "a record of " + text + ", ...";
    text += (text.empty() ? "" : ", ") + quoted(field.name) + " " + to_string(field.descr);
    if (!field.shape.empty()) text += " " + quarry::to_string(field.shape);
  }
  return "a record of " + text;
}

void normalise(const Descr& descr, std::span<std::byte> elements) {
  if (descr.fields.empty()) return normalise_numbers(descr, elements);
  if (is_usable(descr)) return;
  for (std::size_t at = 0; at < elements.size(); at += descr.dtype.itemsize())
    for (const DescrField& field : descr.fields)
      normalise(field.descr, elements.subspan(at + field.offset, field.bytes()));
}

bool is_bytewise(const Descr& descr) {
  return is_usable(descr) || (descr.fields.empty() && !descr.swap_bytes);
}

bool swaps_bytes(const Descr& descr) {
  return descr.swap_bytes || std::ranges::any_of(descr.fields, swaps_bytes, &DescrField::descr);
}

bool has_elements(const Descr& descr, const DType& type) {
  if (!type.is_record()) return descr.fields.empty() && descr.dtype == type;
  return !descr.fields.empty() && descr.fields.size() == type.fields().size() &&
         std::ranges::all_of(type.fields(),
                             [&](const Field& field) { return field_of(descr, field) != nullptr; });
}

bool has_layout(const Descr& descr, const DType& type) {
  return descr.dtype.itemsize() == type.itemsize() &&
         std::ranges::all_of(type.fields(), [&](const Field& field) {
           const DescrField* const same = field_of(descr, field);
           return same && same->offset == field.offset && has_layout(same->descr, field.dtype);
         });
}

void repack(const Descr& descr, const DType& type, std::span<const std::byte> from, std::byte* to) {
  if (has_layout(descr, type)) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return;
  }
  for (std::size_t at = 0; at < from.size(); at += descr.dtype.itemsize(), to += type.itemsize())
    for (const Field& field : type.fields()) {
      const DescrField& same = *field_of(descr, field);
      repack(same.descr, field.dtype, from.subspan(at + same.offset, same.bytes()),
             to + field.offset);
    }
}

}  // namespace quarry::npy
